package rondo

// This file is where other goroutines come in. Nothing of a loop may be touched
// from outside it, so a goroutine outside hands in a function, and the loop runs
// it at its next turn (internal/inbox).
//
// It also keeps the account of the outside: what is there that may wake the loop.
// And it has the only go statement of the kernel: what runs beside the loop is
// started here and is known to it.

import (
	"github.com/rondo-go/rondo/internal/ctxwatch"
	"github.com/rondo-go/rondo/internal/inbox"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/stacks"
	"github.com/rondo-go/rondo/internal/trap"
)

// border is what a loop knows of the outside.
type border struct {
	callers
	inbox    inbox.Inbox[entry]
	wakers   int // things outside that will or may wake the loop: descriptors, signals, functions that are offloaded
	exposed  int // things that were handed out, through which any goroutine may wake the loop
	helpers  int // goroutines that work for the loop; simulated time stands still while there are any
	offloads offloads
	contexts ctxwatch.Set // only if the loop is simulated
	signals  *trap.Trap   // with Runner.Interrupt
}

// canBeWoken reports whether anything outside can wake the loop. If nothing can,
// and no timer is set, a loop in which nothing can run is in deadlock. What was
// handed out does not count in a simulation: no goroutine outside has a part in it.
func (l *Loop) canBeWoken() bool { return l.wakers > 0 || l.exposed > 0 && !l.virtual }

// addWaker notes that n things more than before will or may wake the loop from
// outside.
func (b *border) addWaker(n int) { b.wakers += n }

// expose notes that n things more than before were handed out, through which any
// goroutine may wake the loop.
func (b *border) expose(n int) { b.exposed += n }

// post hands in fn, a callback, and wakes the loop.
func (l *Loop) post(fn func()) error {
	accepted, wake := l.inbox.Put(entry{call: &Handle{loop: l, fn: fn}})
	if !accepted {
		return kernel.Wrap("Post", ErrLoopClosed)
	}
	if wake {
		l.driver.Wake()
	}
	return nil
}

// Post hands fn to the loop, which runs it as a callback at its next turn, in
// the order in which functions came in. Any goroutine may call it; it never
// suspends and never blocks. fn must not wait. After the loop has ended Post
// returns ErrLoopClosed and fn never runs; if it returns nil, fn runs.
func (l *Loop) Post(fn func()) error {
	mustNotBeNil(fn == nil)
	if l.inbox.Refuses() {
		return kernel.Wrap("Post", ErrLoopClosed)
	}
	return l.post(fn)
}

// goFunc runs fn on a goroutine of its own. The caller sees to it that it ends.
func goFunc(fn func()) { go fn() }

// mustNotBeNil panics if a function of the caller's is nil.
func mustNotBeNil(isNil bool) {
	if isNil {
		panic("rondo: " + stacks.CalledAs() + " with a nil function")
	}
}
