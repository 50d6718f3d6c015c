package socket

// A dispatcher turns readiness into the callbacks of a Protocol. The driver
// reports, in the middle of its Poll, what is ready. The dispatcher records it
// and puts the Transport into a list; a callback of the loop works the list
// off.

import (
	"context"
	"net"
	"sync"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
)

// The limits of one callback, those of a task's turn.
const (
	stepVisits = 16
	stepBytes  = 256 << 10
)

// readMax is the most that one read takes.
const readMax = 64 << 10

// A dispatcher has a buffer only while it reads, so an idle loop has none.
var buffers = sync.Pool{New: func() any { return new([readMax]byte) }}

// A dispatcher has the connections of one Serve, or of all Attaches with one
// ctx. It belongs to its loop. A Transport is in conns from add until its Lost
// has returned and its tasks have ended.
type dispatcher struct {
	protocol  *Protocol
	counts    *counts
	loop      kernel.Loop
	ctx       context.Context // of the task that waits for the connections
	high, low int
	local     net.Addr // this end of each connection, as the listener has it; nil if they differ
	conns     []*Transport
	guards    map[*Transport]*guard              // of those with a limit of time
	scopes    map[*Transport]kernel.ServingScope // of those whose Context was called
	empty     rondo.WaitList                     // who waits until conns is empty

	// The Transports that have something to do, in order.
	first, last *Transport
	started     bool
	due         bool // step will be called
	again       func()
	buffer      *[readMax]byte // while step runs
	moved       int            // bytes that step has read and written
}

func newDispatcher(p *Protocol, n *counts, loop kernel.Loop, ctx context.Context, high, low int) *dispatcher {
	b := &dispatcher{protocol: p, counts: n, loop: loop, ctx: ctx, high: high, low: low}
	b.again = loop.Callback(b.step)
	return b
}

// start allows callbacks to be called.
func (d *dispatcher) start() {
	d.started = true
	d.schedule()
}

// add takes a connection.
func (d *dispatcher) add(s fd.Stream, peer peerAddr) *Transport {
	t := &Transport{dispatcher: d, stream: s, peer: peer, place: int32(len(d.conns)), is: sendable}
	if !peer.IsValid() || !fd.ShortIsAll {
		t.set(unsure)
	}
	d.conns = append(d.conns, t)
	d.loop.AddWakers(1)
	d.loop.AddConns(1)
	d.counts.Open.Add(1)
	d.enqueue(t)
	return t
}

// guard begins to watch the times of t.
func (d *dispatcher) guard(t *Transport, l *Limits) {
	g := &guard{loop: d.loop, limits: l, activity: t.activity, expired: func(err limitError) bool {
		if !t.has(ending) { // its tasks may take their time to end
			d.counts.late(err)
			t.end(t.fail("read", err))
		}
		return true
	}}
	if g.begin() == nil {
		return
	}
	if d.guards == nil {
		d.guards = make(map[*Transport]*guard)
	}
	d.guards[t] = g
}

// wait waits until no connection is left. If ctx is cancelled it aborts them
// and returns the cause.
func (d *dispatcher) wait(ctx context.Context) error {
	err := d.drain(ctx)
	if err != nil {
		d.abortAll(ctx, err)
	}
	return err
}

// abortAll ends all connections, and waits until they have ended.
func (d *dispatcher) abortAll(ctx context.Context, cause error) {
	if len(d.conns) == 0 {
		return
	}
	for _, t := range d.conns {
		t.end(cause)
	}
	_ = rondo.Shield(ctx, d.drain)
}

func (d *dispatcher) drain(ctx context.Context) error {
	for len(d.conns) > 0 {
		if err := d.empty.Park(ctx, rondo.Reason{What: "connections"}); err != nil {
			return err
		}
	}
	return nil
}

// closeAll closes every Transport, as Close does.
func (d *dispatcher) closeAll() {
	for _, t := range d.conns {
		t.close()
	}
}

// enqueue makes sure that t is visited.
func (d *dispatcher) enqueue(t *Transport) {
	if t.has(queued) {
		return
	}
	t.set(queued)
	if d.last == nil {
		d.first = t
	} else {
		d.last.next = t
	}
	d.last = t
	d.schedule()
}

func (d *dispatcher) dequeue() *Transport {
	t := d.first
	d.first, t.next = t.next, nil
	if d.first == nil {
		d.last = nil
	}
	t.clear(queued)
	return t
}

func (d *dispatcher) schedule() {
	if d.started && !d.due && d.first != nil {
		d.due = true
		d.again()
	}
}

// step visits the Transports in the list.
func (d *dispatcher) step() {
	d.due = false
	d.moved = 0
	d.buffer = buffers.Get().(*[readMax]byte)
	var t *Transport
	// A callback may panic or call Goexit. The other
	// Transports, and t itself, still get their Lost.
	defer func() {
		if t != nil && d.loop.Recovers() {
			if p := recover(); p != nil {
				d.failed(t, p)
			}
		}
		if t != nil && t.pending() {
			d.enqueue(t)
		}
		buffers.Put(d.buffer)
		d.buffer = nil
		d.schedule()
	}()
	for n := 0; n < stepVisits && d.moved < stepBytes && d.first != nil; n++ {
		t = d.dequeue()
		d.visit(t)
		if t.pending() {
			d.enqueue(t)
		}
	}
	t = nil
}

// visit does what can be done for t: one write and one read at most.
func (d *dispatcher) visit(t *Transport) {
	if t.has(lost) {
		if !t.has(removed) {
			d.leave(t)
		}
		return
	}
	if !t.has(connected) {
		t.set(connected)
		if fn := d.protocol.Connected; fn != nil {
			fn(t)
		}
		if err := t.stream.Arm(d.loop, driver.Readable, (*sink)(t)); err != nil {
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
		d.finish(t)
	}
}

// failed ends t, of which a callback has panicked with v. Its caller is a deferred call that
// has recovered v.
func (d *dispatcher) failed(t *Transport, v any) {
	err := panicError(t.name(), v)
	t.set(faulty)
	t.end(err)
	d.report(t.RemoteAddr(), err)
}

// report reports what is not the network's: the failure of a connection.
func (d *dispatcher) report(peer net.Addr, err error) {
	d.counts.failed(err)
	d.protocol.report(d.loop, peer, err)
}

// finish ends t.
func (d *dispatcher) finish(t *Transport) {
	if !t.stream.Stop(d.loop) {
		t.set(stopping)
		return
	}
	t.set(lost)
	t.backlog = nil
	defer func() { // also if Lost panics
		if t.has(scoped) {
			d.scopes[t].Cancel(t.err)
		}
		d.leave(t)
	}()
	if fn := d.protocol.Lost; fn != nil {
		fn(t, t.err)
	}
}

// leave removes t, whose Lost has returned, once its tasks have ended.
func (d *dispatcher) leave(t *Transport) {
	if !t.has(scoped) {
		d.remove(t)
		return
	}
	err, closed := d.scopes[t].Close()
	if !closed {
		return
	}
	delete(d.scopes, t)
	peer := t.RemoteAddr()
	d.remove(t)
	if err != nil && !t.only(err) {
		d.report(peer, err)
	}
}

func (d *dispatcher) remove(t *Transport) {
	t.set(removed)
	t.stream.Close(d.loop)
	last := len(d.conns) - 1
	d.conns[t.place] = d.conns[last]
	d.conns[t.place].place = t.place
	d.conns[last] = nil
	d.conns = d.conns[:last]
	d.loop.AddWakers(-1)
	d.loop.AddConns(-1)
	d.counts.Open.Add(-1)
	d.guards[t].end()
	delete(d.guards, t)
	if t.has(visiting) {
		d.protocol.visits.leave(&d.protocol.Limits, t.peer.Addr())
	}
	if last == 0 {
		d.conns = nil
		d.empty.WakeAll()
	}
}

// A sink is a Transport as the driver's Sink. It runs inside Poll.
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
