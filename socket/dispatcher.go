package socket

// This file has what turns readiness into the callbacks of a Protocol. The driver
// says what is ready, in the middle of its Poll; the dispatcher notes it and
// puts the Transport into a list, and a callback of the loop goes through that.

import (
	"context"
	"sync"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
)

// What one callback does before others have their turn: as much as a task may.
const (
	stepVisits = 16
	stepBytes  = 256 << 10
)

// readMax is what one read takes at most.
const readMax = 64 << 10

// buffers are lent to a dispatcher while it reads, so that a loop at rest has
// none.
var buffers = sync.Pool{New: func() any { return new([readMax]byte) }}

// A dispatcher has the connections of one Serve, or of all Attaches with one
// ctx. It belongs to its loop. A Transport is among its conns from add until its
// Lost has returned.
type dispatcher struct {
	protocol  *Protocol
	loop      kernel.Loop
	ctx       context.Context
	high, low int
	conns     []*Transport
	empty     rondo.WaitList // who attends, until conns is empty

	// The Transports that have something to be done, in order.
	first, last *Transport
	started     bool
	due         bool // step is going to be called
	again       func()
	buffer      *[readMax]byte // while step runs
	moved       int            // bytes that step has read and written
}

func newDispatcher(p *Protocol, loop kernel.Loop, ctx context.Context, high, low int) *dispatcher {
	b := &dispatcher{protocol: p, loop: loop, ctx: ctx, high: high, low: low}
	b.again = loop.Recall(b.step)
	return b
}

// start lets callbacks be called from here on.
func (b *dispatcher) start() {
	b.started = true
	b.schedule()
}

// add takes a connection.
func (b *dispatcher) add(s fd.Stream, peer peerAddr) *Transport {
	t := &Transport{dispatcher: b, stream: s, peer: peer, place: int32(len(b.conns)), is: sendable}
	if !peer.IsValid() || !fd.ShortIsAll {
		t.set(unsure)
	}
	b.conns = append(b.conns, t)
	b.loop.Hold(1)
	b.enqueue(t)
	return t
}

// attend waits until no connection is left. If ctx is cancelled it cuts them
// off; it returns the cause then.
func (b *dispatcher) wait(ctx context.Context) error {
	err := b.drain(ctx)
	if err != nil {
		b.abortAll(ctx, err)
	}
	return err
}

// cut ends all connections, and waits for that.
func (b *dispatcher) abortAll(ctx context.Context, cause error) {
	if len(b.conns) == 0 {
		return
	}
	for _, t := range b.conns {
		t.end(cause)
	}
	_ = rondo.Shield(ctx, b.drain)
}

func (b *dispatcher) drain(ctx context.Context) error {
	for len(b.conns) > 0 {
		if err := b.empty.Park(ctx, rondo.Reason{What: "connections"}); err != nil {
			return err
		}
	}
	return nil
}

// closeAll closes every Transport, as Close does.
func (b *dispatcher) closeAll() {
	for _, t := range b.conns {
		t.close()
	}
}

// enqueue sees to it that t is visited.
func (b *dispatcher) enqueue(t *Transport) {
	if t.has(queued) {
		return
	}
	t.set(queued)
	if b.last == nil {
		b.first = t
	} else {
		b.last.next = t
	}
	b.last = t
	b.schedule()
}

func (b *dispatcher) dequeue() *Transport {
	t := b.first
	b.first, t.next = t.next, nil
	if b.first == nil {
		b.last = nil
	}
	t.clear(queued)
	return t
}

func (b *dispatcher) schedule() {
	if b.started && !b.due && b.first != nil {
		b.due = true
		b.again()
	}
}

// step visits the Transports that are in the list.
func (b *dispatcher) step() {
	b.due = false
	b.moved = 0
	b.buffer = buffers.Get().(*[readMax]byte)
	var t *Transport
	// A callback may panic, which ends the loop, or call Goexit. The others, and
	// t itself, are to have their Lost all the same.
	defer func() {
		if t != nil && t.pending() {
			b.enqueue(t)
		}
		buffers.Put(b.buffer)
		b.buffer = nil
		b.schedule()
	}()
	for n := 0; n < stepVisits && b.moved < stepBytes && b.first != nil; n++ {
		t = b.dequeue()
		b.visit(t)
		if t.pending() {
			b.enqueue(t)
		}
	}
	t = nil
}

// visit does for t what can be done: one write and one read at most.
func (b *dispatcher) visit(t *Transport) {
	if !t.has(connected) {
		t.set(connected)
		if fn := b.protocol.Connected; fn != nil {
			fn(t)
		}
		if err := t.stream.Arm(b.loop, driver.Readable, (*sink)(t)); err != nil {
			t.end(t.fail("read", err))
		}
	}
	if err := t.stream.SendErr(); err != nil {
		t.end(t.fail("write", err))
	}
	t.flush()
	if t.reads() && t.has(readable) {
		t.read()
	}
	t.afterFlush()
	if t.has(ending) {
		b.finish(t)
	}
}

// lose is the end of t.
func (b *dispatcher) finish(t *Transport) {
	if t.has(lost) {
		return
	}
	if !t.stream.Stop(b.loop) {
		t.set(stopping)
		return
	}
	t.set(lost)
	t.backlog = nil
	defer b.remove(t)
	if fn := b.protocol.Lost; fn != nil {
		fn(t, t.err)
	}
}

func (b *dispatcher) remove(t *Transport) {
	t.stream.Close(b.loop)
	last := len(b.conns) - 1
	b.conns[t.place] = b.conns[last]
	b.conns[t.place].place = t.place
	b.conns[last] = nil
	b.conns = b.conns[:last]
	b.loop.Hold(-1)
	if last == 0 {
		b.conns = nil
		b.empty.WakeAll()
	}
}

// A sink is a Transport as the driver has it. It runs inside Poll.
type sink Transport

func (s *sink) Ready(ev driver.Events) {
	t := (*Transport)(s)
	if ev&driver.Readable != 0 {
		t.set(readable)
	}
	if ev&driver.Writable != 0 {
		t.set(sendable)
	}
	if ev&(driver.HangUp|driver.Urgent) != 0 {
		t.set(unsure)
	}
	t.dispatcher.enqueue(t)
}
