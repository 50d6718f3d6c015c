package sim

// This file lets functions that tasks have offloaded return while their loop is busy.
//
// The law: a function returns at a turn that the seed chooses, or when the loop has nothing
// else to do. At such a turn the simulation stands still until the function has ended. One that
// does not end for a while may wait for the loop: it goes on beside it, and one of its kind
// is not tried again.

import (
	"runtime"
	"sync"
	"time"
)

// early is what is known of a busy loop.
type early struct {
	open int // for how many turns more the loop takes what has come
	busy int // how many turns have begun while functions were outstanding
}

// earlyPatience is for how many turns a loop is busy until a function returns in any case: a task
// may Yield until it has.
const earlyPatience = 256

// needy has the functions of programs that have not returned while their loop stood still.
var needy sync.Map

// begins is called when a turn of the loop begins that e is about.
func (w *world) begins(e *early) {
	if e.open > 0 {
		e.open--
	}
	if o := &w.offloads; len(o.waiting) > 0 || len(o.running) > 0 {
		w.mayReturn(e)
	} else {
		e.busy = 0
	}
}

// mayReturn lets a function return if the seed says so. It is apart because a turn begins on
// the small stack of a task.
//
//go:noinline
func (w *world) mayReturn(e *early) {
	o := &w.offloads
	e.busy++
	must := e.busy%earlyPatience == 0
	var mine []*offload
	for _, one := range o.waiting {
		if one.loop == e {
			mine = append(mine, one)
		}
	}
	if must && len(o.running) > 0 {
		// In WebAssembly a goroutine runs only when this one lets it.
		runtime.Gosched()
		o.takeBack()
		e.open = 2
		w.byChance(true)
		return
	}
	if len(mine) == 0 || !must && (w.earliness == 0 || !w.run.choices.at(forOrder, earlyOrder).rarely(w.earliness)) {
		return
	}
	next := mine[0]
	if n := len(mine); n > 1 && !must {
		next = mine[w.run.choices.at(forOrder, offloadOrder).pick(n)]
	}
	_, waits := needy.Load(next.user)
	if len(o.running) > 0 || waits && !must {
		return
	}
	w.launch(next)
	if waits {
		w.byChance(true)
		return
	}
	select {
	case <-next.ended:
		o.takeBack()
		e.open = 2 // what the function has posted comes before its result
	case <-time.After(slowAfter):
		needy.Store(next.user, true)
		w.byChance(true)
	}
}
