package shard

// The box of a shard holds the messages that other shards have sent to it.
//
// The law: what was put is delivered, in the order in which it was put, in a
// callback of the shard's loop. Whatever is put before the loop comes to it costs
// one hand-over, however much it is. The lock is held for a few instructions only.

import (
	"sync"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/kernel"
)

// A message is what one shard puts into the box of another. deliver is called on the
// loop of the one that receives it, as a callback. If that loop has ended, refused is called
// instead, on any goroutine.
type message interface {
	deliver(at *Shard)
	refused(at *Shard)
}

type box struct {
	shard *Shard
	empty func() // take, bound once

	mu    sync.Mutex  // guards the rest
	loop  kernel.Loop // nil before it has begun
	in    []message
	spare []message // the other half, for reuse
	ready bool      // the loop is on its way here
	shut  bool      // the shard takes no new calls
	ended bool      // its loop has ended: see refuse
}

func (b *box) begin(s *Shard) { b.shard, b.empty = s, b.take }

// open says that the loop has begun. What was put before comes now.
func (b *box) open(loop kernel.Loop) {
	b.mu.Lock()
	b.loop = loop
	b.ready = len(b.in) > 0
	wake := b.ready
	b.mu.Unlock()
	if wake {
		_ = loop.Post(b.empty) // it has just begun
	}
}

// put puts m. fresh says that m begins something: a shard that ends does not take
// that, but it still takes answers. Any goroutine may call it.
func (b *box) put(m message, fresh bool) error {
	step()
	b.mu.Lock()
	if fresh && b.shut {
		b.mu.Unlock()
		return rondo.ErrLoopClosed
	}
	if b.ended {
		b.mu.Unlock()
		m.refused(b.shard)
		return rondo.ErrLoopClosed
	}
	b.in = append(b.in, m)
	loop := b.loop
	if b.ready || loop == nil {
		b.mu.Unlock()
		return nil
	}
	b.ready = true
	b.mu.Unlock()
	err := loop.Post(b.empty)
	if err != nil {
		b.refuse()
	}
	return err
}

// refuse answers what was put while a loop ended, which nobody takes any more.
func (b *box) refuse() {
	b.mu.Lock()
	in := b.in
	b.in, b.ended = nil, true
	b.mu.Unlock()
	for _, m := range in {
		m.refused(b.shard)
	}
}

// take delivers what was put.
func (b *box) take() {
	step()
	b.mu.Lock()
	in := b.in
	b.in, b.spare = b.spare[:0], nil
	b.ready = false
	b.mu.Unlock()
	for _, m := range in {
		m.deliver(b.shard)
	}
	clear(in)
	b.mu.Lock()
	if b.spare = in; cap(in) > keep {
		b.spare = nil
	}
	b.mu.Unlock()
}

// keep is how much room a box keeps for messages.
const keep = 1024

// close ends the taking of new calls.
func (b *box) close() {
	b.mu.Lock()
	b.shut = true
	b.mu.Unlock()
}

// errNoShard is the error of a call with a ctx that belongs to no shard.
func errNoShard(call string) error {
	return &kernel.CallError{Call: "shard." + call, Text: ": this ctx belongs to no shard: use one that shard.Run has passed to main", Err: rondo.ErrNoLoop}
}

// errOtherRun is the error of a call to a shard of another Run.
func errOtherRun(me, to *Shard) error {
	return &kernel.CallError{Call: "shard.Call", Text: ": " + to.name + " belongs to another Run than " + me.name + ", which calls: use At of the caller's own Shard", Err: rondo.ErrNoLoop}
}
