package rondo

// This file is where other goroutines come in. Nothing of a loop may be touched
// from outside it, so a goroutine outside hands in a function, and the loop runs
// it at its next turn. The lock is held for a few instructions only, and never
// while anything of the program runs.
//
// It also keeps the account of the outside: what is there that may wake the loop.
// And it has the only go statement of the kernel: what runs beside the loop is
// started here and is known to it.

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/list"
	"github.com/rondo-go/rondo/internal/ring"
	"github.com/rondo-go/rondo/internal/stacks"
	"github.com/rondo-go/rondo/internal/trap"
)

// border is what a loop knows of the outside.
type border struct {
	callers
	inbox    inbox
	wakers   int // things outside that will or may wake the loop: descriptors, signals, functions that are offloaded
	exposed  int // things that were handed out, through which any goroutine may wake the loop
	helpers  int // goroutines that work for the loop; simulated time stands still while there are any
	offloads offloads
	contexts []*ctxWatch // only if the loop is simulated
	signals  *trap.Trap  // with Runner.Interrupt
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

// inbox is the queue of what came in and has not been run. Either it is open, and
// what was accepted will run; or it is shut, and nothing is accepted.
type inbox struct {
	some    atomic.Bool // there may be something in the queue
	mu      sync.Mutex
	in      []entry
	spare   []entry // the queue's other half, for reuse
	shut    bool
	refuses bool          // Post and Submit are refused: the last task has ended
	ended   chan struct{} // closed when Run is about to return
	enders  list.List[ender]
}

// An ender is a function that is called at a loop's end.
type ender struct {
	links list.Links[ender]
	fn    func() // nil once it was called, or forgotten
}

const enderLinks = unsafe.Offsetof(ender{}.links)

// atEnd calls fn when the loop has ended, at once if it has already, unless forget
// comes first. fn is called on any goroutine, and must not wait. Any goroutine may
// call atEnd and forget.
func (b *inbox) atEnd(fn func()) (forget func()) {
	e := &ender{fn: fn}
	b.mu.Lock()
	select {
	case <-b.ended:
		b.mu.Unlock()
		fn()
		return func() {}
	default:
	}
	b.enders.Add(e, enderLinks)
	b.mu.Unlock()
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if e.fn != nil {
			b.enders.Remove(e, enderLinks)
			e.fn = nil
		}
	}
}

// end marks the loop's end, and calls those that wait for it.
func (b *inbox) end() {
	var fns []func()
	b.mu.Lock()
	close(b.ended)
	for e := range b.enders.All(enderLinks) {
		b.enders.Remove(e, enderLinks)
		fns = append(fns, e.fn)
		e.fn = nil
	}
	b.mu.Unlock()
	for _, fn := range fns {
		fn() // without the lock: it may post to a loop that ends at the same moment
	}
}

func (b *inbox) pending() bool { return b.some.Load() }

func (b *inbox) closed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.shut
}

// empty moves what came in to the loop's own queue, and returns how much it was.
func (b *inbox) empty(queue *ring.Ring[entry]) (n uint64) {
	if !b.pending() {
		return 0
	}
	b.mu.Lock()
	b.some.Store(false)
	in := b.in
	b.in = b.spare[:0]
	b.mu.Unlock()
	for i, e := range in {
		queue.Add(e)
		in[i] = entry{}
	}
	b.spare = in
	return uint64(len(in))
}

// refuse ends what other goroutines may hand in by Post, so that those that do so
// without pause cannot keep the loop from its end. What works for the loop still comes
// in.
func (b *inbox) refuse() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refuses = true
}

// close shuts the inbox if nothing is in it.
func (b *inbox) close() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.in) > 0 {
		return false
	}
	b.shut = true
	return true
}

// post hands e in and wakes the loop.
func (l *Loop) post(e entry) error {
	b := &l.inbox
	b.mu.Lock()
	if b.shut {
		b.mu.Unlock()
		return kernel.Wrap("Post", ErrLoopClosed)
	}
	b.in = append(b.in, e)
	first := !b.some.Swap(true)
	b.mu.Unlock()
	if first {
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
	b := &l.inbox
	b.mu.Lock()
	refuses := b.refuses
	b.mu.Unlock()
	if refuses {
		return kernel.Wrap("Post", ErrLoopClosed)
	}
	return l.post(entry{call: &Handle{loop: l, fn: fn}})
}

// goFunc runs fn on a goroutine of its own. The caller sees to it that it ends.
func goFunc(fn func()) { go fn() }

// mustNotBeNil panics if a function of the caller's is nil.
func mustNotBeNil(isNil bool) {
	if isNil {
		panic("rondo: " + stacks.CalledAs() + " with a nil function")
	}
}
