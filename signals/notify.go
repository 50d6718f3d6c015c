package signals

import (
	"context"
	"fmt"
	"iter"
	"os"
	"slices"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/stdctx"
	"github.com/rondo-go/rondo/internal/trap"
)

// Notify returns the signals that come from now on. It catches them from the call of
// Notify, not from the first iteration, so none is lost in between. They no longer
// have their default effect. Ranging over the sequence suspends the task until the
// next signal comes. When ctx is cancelled the sequence ends. A signal that comes
// again before it was taken counts once, as it does for the system.
//
// The signals have their default effect again when the loop over the sequence is
// left, which ends the sequence for good, and at the latest a moment after ctx is
// cancelled or its scope ends. What happens to a signal that has come by then and was
// not taken depends on which of the two it was. If the loop was left and no other
// catcher of this program used the signal, it is raised again, as if it came a little
// later. So
//
//	for range signals.Notify(ctx, os.Interrupt) {
//		break
//	}
//
// waits for the first Ctrl-C, and the second ends the process. If ctx was cancelled
// or its scope has ended, the signal is dropped: it must not end a program in the
// middle of its clean-up.
//
// Notify itself never suspends. It panics if ctx belongs to no loop, if the caller is
// not on that loop, if no signal is given, which to os/signal would mean all of them,
// and if a signal is nil or cannot be caught.
func Notify(ctx context.Context, sigs ...os.Signal) iter.Seq[os.Signal] {
	loop := loopOf(ctx, "Notify")
	if len(sigs) == 0 {
		panic("rondo: signals.Notify without a signal: name the signals to catch")
	}
	check("Notify", sigs)
	done := ctx.Done()
	after := stdctx.AfterDone(ctx, done, loop.GoFunc)
	n := &notifier{ctx: ctx, loop: loop, ends: done != nil}
	if host := driver.HostOf(loop.Driver()); host != nil {
		loop.AddWakers(1)
		n.stop = host.Notify(func(s os.Signal) {
			if !slices.ContainsFunc(n.pending, func(a arrived) bool { return a.sig == s }) {
				n.pending = append(n.pending, arrived{sig: s})
				n.list.Wake()
			}
		}, sigs...)
	} else if loop.Driver().Simulation() == nil {
		loop.AddWakers(1)
		n.trap = trap.Hold(false, n.take, sigs...)
		n.unbind = after(n.abandon)
	}
	return n.all
}

// A notifier has what one call of Notify catches. It belongs to the loop.
type notifier struct {
	ctx     context.Context
	loop    kernel.Loop
	ends    bool       // ctx can be cancelled
	trap    *trap.Trap // nil in a simulation
	stop    func()     // of a simulated host; nil elsewhere
	unbind  func() bool
	pending []arrived
	list    rondo.WaitList
	over    bool
	left    bool // the loop over the sequence was left before ctx was cancelled
}

// arrived is a signal that came and was not taken, with all copies of it.
type arrived struct {
	sig    os.Signal
	copies []*trap.Delivery
}

// take brings a signal to the loop. If that has ended, so has the scope, and the trap is about to
// be released. With context.WithoutCancel only this call releases it.
func (n *notifier) take(d *trap.Delivery) bool {
	err := n.loop.Post(func() {
		if n.over {
			n.giveUp(d)
			return
		}
		for i := range n.pending {
			if a := &n.pending[i]; a.sig == d.Sig {
				a.copies = append(a.copies, d)
				return
			}
		}
		n.pending = append(n.pending, arrived{d.Sig, []*trap.Delivery{d}})
		n.list.Wake()
	})
	if err != nil && n.ends {
		d.Use()
		return true
	}
	return err == nil
}

func (n *notifier) all(yield func(os.Signal) bool) {
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
		a := n.pending[0] // taken, whatever the body does
		n.pending = slices.Delete(n.pending, 0, 1)
		for _, d := range a.copies {
			d.Use()
		}
		if !yield(a.sig) || rondo.Check(n.ctx) != nil {
			return
		}
	}
}

// end is called in the task that has left the loop over the sequence.
func (n *notifier) end() {
	left := false // if Err panics, too
	defer func() { n.finish(left) }()
	left = n.ctx.Err() == nil
}

// finish stops catching the signals.
func (n *notifier) finish(left bool) {
	if n.over {
		return
	}
	n.over, n.left = true, left
	n.list.WakeAll()
	if n.stop != nil {
		n.stop()
		n.loop.AddWakers(-1)
	}
	if n.trap != nil {
		n.unbind()
		if n.left {
			n.trap.Release()
		} else {
			n.trap.Drop()
		}
		n.loop.AddWakers(-1)
		n.giveUpAll()
	}
}

func (n *notifier) giveUpAll() {
	for _, a := range n.pending {
		for _, d := range a.copies {
			n.giveUp(d)
		}
	}
	n.pending = nil
}

// giveUp ends what n has to do with a signal that it will not take.
func (n *notifier) giveUp(d *trap.Delivery) {
	if n.left {
		d.Return()
	} else {
		d.Use()
	}
}

// abandon is end for the goroutine that is told of the end of ctx.
func (n *notifier) abandon() {
	n.trap.Drop()
	if n.loop.Post(func() { n.finish(false) }) != nil && !n.over {
		// The loop has ended, so nothing else uses n.
		n.giveUpAll()
	}
}

// loopOf returns the loop of ctx. It panics if the caller is not on that loop.
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

// check panics if a signal is nil, of which os/signal says nothing and catches none, or
// cannot be caught.
func check(call string, sigs []os.Signal) {
	for _, s := range sigs {
		if s == nil {
			panic("rondo: signals." + call + " of a nil signal, which never comes")
		}
		if uncatchable(s) {
			panic(fmt.Sprintf("rondo: signals.%s of %q, which cannot be caught", call, s))
		}
	}
}
