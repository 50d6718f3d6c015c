package rondo

// The border of a loop says who is inside, how others come in, and what outside may wake
// the loop.
//
// Who is inside: does the calling goroutine belong to this loop? If it does not, functions that
// take a ctx refuse the call with a sentence. Methods fixed by the standard library, such as
// those of net.Conn, suspend a task of the loop, and let any other goroutine block by itself.
//
// A loop's goroutines are that of Run and those of its workers. All of them but one are parked,
// so the one that asks is the one that runs: nothing has to be recorded at a switch. Any
// goroutine may read the set at any time, because each looks only for its own number, which it
// has put there itself.
//
// One case lies between. A coroutine made with iter.Pull, or with package coro, runs on its own
// goroutine, but for the goroutine that resumed it, which is parked in next meanwhile. If that
// was a task, the coroutine may suspend as the task may, and so may a coroutine that it resumes
// in turn. It does not matter which goroutine made the coroutine.
//
// How others come in: nothing of a loop may be touched from outside it, so a
// goroutine outside hands in a function, and the loop runs it at its next turn
// (internal/inbox). The only go statement of the kernel is here too: what runs beside
// the loop is started here and is known to it.

import (
	"context"
	"slices"

	"github.com/rondo-go/rondo/internal/gid"
	"github.com/rondo-go/rondo/internal/inbox"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/stacks"
	"github.com/rondo-go/rondo/internal/trap"
)

// border is the part of a loop that deals with everything outside it: other goroutines,
// readers, and things that may wake the loop.
type border struct {
	callers
	inbox    inbox.Inbox[posted]
	wakers   int // descriptors, signals and offloaded functions that may wake the loop
	exposed  int // things that were handed out, through which any goroutine may wake the loop
	helpers  int // goroutines that work for the loop
	offloads offloads
	conns    kernel.Conns     // for readers from outside
	servers  []*kernel.Server // for readers from outside; what it points to does not change
	signals  *trap.Trap       // with Runner.Interrupt
	unused   []*Handle        // of functions posted that have run, for the next ones
	fresh    bool             // a helper was started since the loop slept last
}

// canBeWoken reports whether anything outside can wake the loop. If nothing can, and no
// timer is set, a loop in which nothing can run is in deadlock.
func (l *Loop) canBeWoken() bool {
	return l.wakers > 0 || (l.exposed > 0 || l.inbox.Exposed()) && !l.sealed()
}

// addWaker adds n to the number of things that will or may wake the loop from outside.
func (b *border) addWaker(n int) { b.wakers += n }

// expose adds n to the number of things that were handed out and through which any goroutine
// may wake the loop.
func (b *border) expose(n int) { b.exposed += n }

// post hands in fn, a callback, and wakes the loop.
func (l *Loop) post(fn func()) error { return l.postFor(0, fn) }

// postFor is post of a result for the task with the number id; see inbox/simulated.go.
func (l *Loop) postFor(id uint64, fn func()) error {
	accepted, wake := l.inbox.Put(l.handedIn(id, fn))
	if !accepted {
		return kernel.Wrap("Post", ErrLoopClosed)
	}
	if wake {
		l.driver.Wake()
	}
	return nil
}

// posted is a function that another goroutine has handed in. In a simulated world it is a callback
// already.
type posted struct {
	fn   func()
	call *Handle
}

// takePosted puts what was handed in at the end of the queue. A function gets a callback that has
// run, if there is one: only the loop knows these.
func (l *Loop) takePosted(p posted) {
	h := p.call
	if n := len(l.unused) - 1; h == nil && n >= 0 {
		h, l.unused[n] = l.unused[n], nil
		l.unused = l.unused[:n]
		h.fn = p.fn
	} else if h == nil {
		h = &Handle{loop: l, fn: p.fn, reused: true}
	}
	l.queue.Add(entry{call: h})
}

// Post hands fn to the loop, which runs it as a callback at its next turn, in the order in
// which functions came in. Any goroutine may call it; it never suspends and never blocks. fn
// must not wait. After the loop has ended Post returns ErrLoopClosed and fn never runs. If Post
// returns nil, fn runs.
func (l *Loop) Post(fn func()) error {
	l.mustBeFound()
	mustNotBeNil(fn == nil)
	if l.inbox.Refuses() {
		return kernel.Wrap("Post", ErrLoopClosed)
	}
	return l.post(fn)
}

// mustBeFound panics if LoopOf has found no loop.
func (l *Loop) mustBeFound() {
	if l == nil {
		panic("rondo: " + stacks.CalledAs() + " with a nil Loop: LoopOf returns nil for a ctx that belongs to no loop")
	}
}

// goFunc runs fn on a goroutine of its own. The caller sees to it that it ends.
func goFunc(fn func()) { go fn() }

// callers has the goroutines and coroutines that are on the loop's side; see inside.
type callers struct {
	goroutines gid.Set // the numbers of the loop's goroutines

	// The coroutines that have called the loop, by the task that resumed them. The loop itself
	// has no use for them; readers from outside have.
	nested gid.Nestings[Task]
}

// inside reports whether the calling goroutine is on the loop's side: it is the
// running task, a callback, or a coroutine nested in them.
func (l *Loop) inside() bool {
	return l.runsCurrent() || l.goroutines.Has(gid.ID()) || gid.Coroutine() && l.insideNested()
}

// runsCurrent reports whether the caller is the running task, which is the usual case. If it is
// not, it may read current while the loop changes that. Whatever it reads then is a task of
// another goroutine.
//
//go:norace
func (l *Loop) runsCurrent() bool {
	t := l.current
	return t != nil && t.self == gid.Self()
}

// insideNested reports whether the caller is a coroutine that one of the loop's goroutines has
// resumed, or that is nested in such a one. The workers of a loop are coroutines too, and each
// is parked where another one was born: the search ends at those of another loop.
func (l *Loop) insideNested() bool {
	nested := gid.ResumedBy(l.goroutines.Has, func(id uint64) bool {
		return slices.ContainsFunc(loops.All(), func(l *Loop) bool { return l.goroutines.Has(id) })
	})
	if nested {
		l.noteNested(l.current)
	}
	return nested
}

// insideAny reports whether the caller is on any loop. It takes one look at each, also
// if the caller is a coroutine, because a simulation runs hundreds.
func insideAny() bool {
	all := loops.All()
	member := func(id uint64) bool {
		return slices.ContainsFunc(all, func(l *Loop) bool { return l.goroutines.Has(id) })
	}
	return member(gid.ID()) || gid.Coroutine() && gid.ResumedBy(member, func(uint64) bool { return false })
}

// callersLoop returns the loop on which the caller is, or nil.
func callersLoop() *Loop {
	all := loops.All()
	if i := slices.IndexFunc(all, (*Loop).inside); i >= 0 {
		return all[i]
	}
	return nil
}

// noteNested records that the calling coroutine is nested in t, unless it has done so already.
func (c *callers) noteNested(t *Task) {
	if t == nil {
		return
	}
	if t.extra == nil {
		t.extra = new(taskExtra)
	}
	c.nested.Put(t, &t.extra.nested, gid.ID(), gid.Record())
}

// forgetNested drops the nested coroutines of a task that has ended. One that goes
// on in another task is noted there.
func (c *callers) forgetNested(t *Task) {
	if t.extra != nil {
		c.nested.Drop(&t.extra.nested)
	}
}

// mustBeInside panics if the caller is not on the loop.
func (l *Loop) mustBeInside(call string) {
	if l == nil {
		panic("rondo: " + call + " of a zero value; use one that Rondo has made")
	}
	if !l.inside() {
		panic(l.misuseOutside(call).Error())
	}
}

// misuseOutside is the error of a call from outside the loop.
func (l *Loop) misuseOutside(call string) error {
	if l.inbox.Closed() {
		return kernel.Misuse(call, ErrLoopClosed, stacks.Place())
	}
	return &kernel.CallError{Call: call, Text: " from a goroutine that is not a task of " + l.name + "; use Post or Submit there", At: stacks.Place(), Err: ErrNoLoop}
}

// runs reports whether the caller is the task whose body runs in s. That is the usual
// case, and quicker to find out than whether the caller is on the loop.
// The task of a goroutine that has ended may have the same self as a goroutine of today. Such a
// task is not current, so the answer is right, but the race detector sees a goroutine that reads
// current beside the loop.
//
//go:norace
func (s *Scope) runs() bool { return s.host.self == gid.Self() && s.loop.current == s.host }

// mustBeInside panics if the caller is not on the loop.
func (s *Scope) mustBeInside(call string) {
	if s.host == nil || !s.runs() {
		s.loop.mustBeInside(call)
	}
}

// usual returns ctx if it is a scope in which the calling task runs, and which is not
// cancelled: then enter has nothing to look for. Otherwise it returns nil.
func usual(ctx context.Context) *Scope {
	if s, ok := ctx.(*Scope); ok && s.runs() && s.cancelled() == nil {
		return s
	}
	return nil
}

// do runs fn on the loop: at once if the caller is there, else by Post. After
// the loop's end there is nothing left to do it to.
func (l *Loop) do(fn func()) {
	if l == nil {
		l.mustBeInside(stacks.CalledAs())
	}
	if l.inside() {
		fn()
		return
	}
	_ = l.post(fn)
}

// mustNotBeNil panics if a function of the caller's is nil.
func mustNotBeNil(isNil bool) {
	if isNil {
		panic("rondo: " + stacks.CalledAs() + " with a nil function")
	}
}
