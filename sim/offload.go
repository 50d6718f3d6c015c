package sim

// This file has the functions that tasks offload, where goroutines run in real time.
//
// The law: one function runs at a time, over all hosts, while no loop runs. The seed chooses
// which is next, so their effects on each other and the order of their results are repeated
// with it, and any of those that were offloaded by then may be the first to return. That is
// when no loop has anything to do, or earlier; see early.go.
//
// The exception is a function that does not return for a while of real time. If it has handed
// something in to a loop, it may wait for the answer, so the loop goes on. If not, it may wait
// for a function that has not begun, so the next one begins beside it, and then their order is
// the runtime's.

import (
	"slices"
	"sync"
	"time"
)

// offloads are the functions of a run.
type offloads struct {
	waiting []*offload    // those that have not begun
	running []*offload    // mostly one
	ended   chan struct{} // is told when one has ended
}

// An offload is one function.
type offload struct {
	loop     *early // which one's it is
	user     uintptr
	fn, back func()
	ended    chan struct{} // closed when fn has ended
}

// slowAfter is for how long, in real time, a function is waited for. slow has those of the
// program beside which the next one began after that time, and talks those that had woken a
// loop by then. What one of them does again is not waited for.
const slowAfter = 200 * time.Millisecond

var slow, talks sync.Map

// Offload is that of driver.Offload.
func (w *world) Offload(user uintptr, fn, back func()) bool {
	return w.bubble == nil && w.offloads.add(&w.early, user, fn, back)
}

// Offload is that of driver.Offload.
func (p *process) Offload(user uintptr, fn, back func()) bool {
	return p.world.base.offloads.add(&p.early, user, fn, back)
}

// add adds a function of the loop that e is about. It returns true.
func (o *offloads) add(e *early, user uintptr, fn, back func()) bool {
	o.waiting = append(o.waiting, &offload{loop: e, user: user, fn: fn, back: back, ended: make(chan struct{})})
	return true
}

// waitForGoroutines waits, in real time, until a goroutine wakes a loop or a function has
// ended that was offloaded. While a function runs a loop is woken only if the function seems
// to wait for that: how much of what it posts has come by then is chance.
func (w *world) waitForGoroutines() error {
	w.idle.Store(true)
	defer w.idle.Store(false)
	o := &w.offloads
	for woken := false; !o.takeBack(); {
		if !o.busy(&slow) {
			w.begin()
		}
		var late <-chan time.Time
		if woken || len(o.waiting) > 0 {
			late = time.After(slowAfter)
		}
		select {
		case <-o.ended:
		case <-w.wakeup:
			woken = true
			if !o.busy(&talks) {
				w.byChance(len(o.running) > 0)
				return nil
			}
		case <-late:
			if woken {
				o.note(&talks)
				w.byChance(true)
				return nil
			}
			o.note(&slow)
		case <-w.giveUp:
			return errNothingCame
		}
	}
	return nil
}

// begin begins the next functions: one, and with it those that are known to be slow.
func (w *world) begin() {
	o := &w.offloads
	for len(o.waiting) > 0 && !o.busy(&slow) {
		i := 0
		if n := len(o.waiting); n > 1 {
			i = w.run.choices.at(forOrder, offloadOrder).pick(n)
		}
		w.launch(o.waiting[i])
	}
}

// launch begins one of those that wait.
func (w *world) launch(next *offload) {
	o := &w.offloads
	o.waiting = slices.DeleteFunc(o.waiting, func(one *offload) bool { return one == next })
	o.running = append(o.running, next)
	w.byChance(len(o.running) > 1)
	go func() {
		defer func() {
			close(next.ended)
			select {
			case o.ended <- struct{}{}:
			default:
			}
		}()
		next.fn()
	}()
}

// byChance notes, if it is so, that the runtime has a part in what this run does.
func (w *world) byChance(is bool) {
	if t := w.run.trace; is && t != nil {
		t.chance = true
	}
}

// busy reports whether a function runs that is not in known.
func (o *offloads) busy(known *sync.Map) bool {
	return slices.ContainsFunc(o.running, func(one *offload) bool {
		_, is := known.Load(one.user)
		return !is
	})
}

// note puts the functions that run into known.
func (o *offloads) note(known *sync.Map) {
	for _, one := range o.running {
		known.Store(one.user, true)
	}
}

// takeBack hands the result of a function that has ended to its loop, and reports whether
// there was one.
func (o *offloads) takeBack() bool {
	for i, one := range o.running {
		select {
		case <-one.ended:
			o.running = slices.Delete(o.running, i, i+1)
			one.back()
			return true
		default:
		}
	}
	return false
}
