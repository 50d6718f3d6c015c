package signals

import (
	"context"
	"fmt"
	"iter"
	"os"
	"slices"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/trap"
)

// Notify gives the signals that come from now on. They are caught from the call
// of Notify, not from the first iteration, so none is lost in between; what they
// do by default they do no longer. Ranging over the sequence suspends the task
// until the next one comes, and is a cancel point at each: when ctx is cancelled
// the sequence ends. A signal that comes again before it was taken is one, as
// it is for the system.
//
// The signals are let go, and do by default what they did before, when the loop
// over the sequence is left, which ends it for good, and at the latest a moment
// after ctx is cancelled or its scope ends. One that had come by then and was not
// taken is raised again, as if it came a little later. So
//
//	for range signals.Notify(ctx, os.Interrupt) {
//		break
//	}
//
// waits for the first Ctrl-C, and the second ends the process.
//
// Notify itself never suspends. It panics if ctx belongs to no loop or the
// caller is not on it, if it is given no signal, which to os/signal would mean
// all of them, and if one of them cannot be caught.
func Notify(ctx context.Context, sigs ...os.Signal) iter.Seq[os.Signal] {
	loop := loopOf(ctx, "Notify")
	if len(sigs) == 0 {
		panic("rondo: signals.Notify of no signal: name those that are meant")
	}
	check("Notify", sigs)
	n := &notice{ctx: ctx, loop: loop}
	if !loop.Driver().Virtual() {
		loop.Hold(1)
		n.trap = trap.Set(false, n.take, sigs...)
		n.unbind = context.AfterFunc(ctx, n.abandon)
	}
	return n.all
}

// A notice is what one call of Notify catches. It belongs to the loop.
type notice struct {
	ctx     context.Context
	loop    kernel.Loop
	trap    *trap.Trap // nil in a simulation
	unbind  func() bool
	pending []os.Signal // came and was not taken, none of them twice
	list    rondo.WaitList
	over    bool
}

// take brings s to the loop.
func (n *notice) take(s os.Signal) bool {
	return n.loop.Post(func() {
		switch {
		case n.over:
			// It came as the sequence was left.
			trap.Raise(s)
		case !slices.Contains(n.pending, s):
			n.pending = append(n.pending, s)
			n.list.Wake()
		}
	}) == nil
}

func (n *notice) all(yield func(os.Signal) bool) {
	defer n.end()
	if rondo.Check(n.ctx) != nil {
		return
	}
	for {
		for len(n.pending) == 0 {
			if n.over || n.list.Park(n.ctx, rondo.Reason{What: "signal"}) != nil {
				return
			}
		}
		s := n.pending[0] // taken, whatever the body does
		n.pending = slices.Delete(n.pending, 0, 1)
		if !yield(s) || rondo.Check(n.ctx) != nil {
			return
		}
	}
}

// end lets the signals go.
func (n *notice) end() {
	if n.over {
		return
	}
	n.over = true
	n.list.WakeAll()
	if n.trap != nil {
		n.unbind()
		n.trap.Release()
		n.loop.Hold(-1)
		n.giveBack()
	}
}

// giveBack raises again what came and was not taken.
func (n *notice) giveBack() {
	for _, s := range n.pending {
		trap.Raise(s)
	}
}

// abandon is end on the goroutine that hears of the end of the scope.
func (n *notice) abandon() {
	n.trap.Release()
	if n.loop.Post(n.end) != nil && !n.over {
		// The loop has ended, so nobody else has n any more.
		n.giveBack()
	}
}

// loopOf gives the loop of ctx, on which the caller is.
func loopOf(ctx context.Context, call string) kernel.Loop {
	loop := kernel.Of(ctx)
	switch {
	case loop == nil:
		panic("rondo: signals." + call + " with a ctx that does not come from Run")
	case !loop.Inside():
		panic("rondo: signals." + call + " from a goroutine that is not on the loop")
	}
	return loop
}

// check refuses what nobody can catch.
func check(call string, sigs []os.Signal) {
	for _, s := range sigs {
		if uncatchable(s) {
			panic(fmt.Sprintf("rondo: signals.%s of %q, which cannot be caught", call, s))
		}
	}
}
