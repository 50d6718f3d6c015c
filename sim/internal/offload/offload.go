// Package offload runs the functions that tasks offload, on goroutines, in an order that a seed
// repeats.
//
// The law: one function runs at a time, over all hosts, while no loop runs. The seed chooses
// which is next, so their effects on each other and the order of their results are repeated
// with it, and any of those that were offloaded by then may be the first to return. A function
// returns when no loop has anything to do, or at a turn of a busy loop that the seed chooses: at
// such a turn the simulation stands still until the function has ended.
//
// The exception is a function that does not return for a while of real time. If it has handed
// something in to a loop, it may wait for the answer, so the loop goes on. If not, it may wait
// for a function that has not begun, so the next one begins beside it, and then their order is
// the runtime's. The trace of the run says so, and it is not compared.
package offload

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/rondo-go/rondo/sim/internal/choice"
	"github.com/rondo-go/rondo/sim/internal/record"
)

// A Pool has the functions of a run.
type Pool struct {
	choices   *choice.Choices
	trace     *record.Trace
	earliness int           // how likely a function is to return at a turn of a busy loop, in millionths
	waiting   []*function   // those that have not begun
	running   []*function   // mostly one
	ended     chan struct{} // holds a value after one has ended
}

// New returns a Pool in which c chooses. Trace is of the same run.
func New(c *choice.Choices, trace *record.Trace) *Pool {
	o := &Pool{choices: c, trace: trace, ended: make(chan struct{}, 1)}
	if c.Walk == nil {
		o.earliness = [...]int{0, 30_000, 250_000, 250_000}[c.Config(choice.ConfigOffloads)%4]
	}
	return o
}

// Running reports whether a function runs.
func (o *Pool) Running() bool { return len(o.running) > 0 }

// A Loop is a loop whose tasks offload functions.
type Loop struct {
	pool *Pool
	open int // for how many turns more the loop takes what has come
	busy int // how many turns have begun while functions were outstanding
}

// Loop returns the state of a new loop.
func (o *Pool) Loop() Loop { return Loop{pool: o} }

// Prompt reports whether a function has just returned, so that the loop takes what has come
// although it is busy.
func (l *Loop) Prompt() bool { return l.open > 0 }

// Outstanding returns how many functions of all loops have not returned, and for how many turns
// the loop takes the results of those that have.
func (l *Loop) Outstanding() int { return len(l.pool.waiting) + len(l.pool.running) + l.open }

// A function was offloaded.
type function struct {
	loop     *Loop
	user     uintptr
	fn, back func()
	ended    chan struct{} // closed when fn has ended
}

// For so long, in real time, a function is waited for: slowLooks times for lookEvery. Time alone
// proves nothing, because the whole process may have been stopped, so looks are counted. slow
// has the functions of the program beside which the next one began after that time, and talks
// those that had woken a loop by then. What one of them does again is not waited for.
const (
	slowLooks = 4
	lookEvery = 50 * time.Millisecond
)

var slow, talks sync.Map

// Add takes over fn, and calls back when it has ended. user is the function of the program
// that fn calls.
func (l *Loop) Add(user uintptr, fn, back func()) {
	o := l.pool
	o.waiting = append(o.waiting, &function{loop: l, user: user, fn: fn, back: back, ended: make(chan struct{})})
}

// Wait waits, in real time, until a goroutine wakes a loop or a function has
// ended that was offloaded. While a function runs a loop is woken only if the function seems
// to wait for that: how much of what it posts has come by then is chance.
//
// Wait reports false if giveUp was closed before.
func (o *Pool) Wait(wakeup, giveUp <-chan struct{}) bool {
	woken := false
	for looks := 0; !o.takeBack(); {
		if !o.busy(&slow) {
			o.begin()
		}
		var late <-chan time.Time
		if woken || len(o.waiting) > 0 {
			late = time.After(lookEvery)
		}
		select {
		case <-o.ended:
		case <-wakeup:
			woken, looks = true, 0
			if !o.busy(&talks) {
				if len(o.running) > 0 {
					o.trace.ByChance()
				}
				return true
			}
		case <-late:
			if looks++; looks < slowLooks {
				continue
			}
			looks = 0
			if woken {
				o.note(&talks)
				o.trace.ByChance()
				return true
			}
			o.note(&slow)
		case <-giveUp:
			return false
		}
	}
	return true
}

// begin begins the next functions: one, and with it those that are known to be slow.
func (o *Pool) begin() {
	for len(o.waiting) > 0 && !o.busy(&slow) {
		i := 0
		if n := len(o.waiting); n > 1 {
			i = o.choices.At(choice.ForOrder, choice.OffloadOrder).Pick(n)
		}
		o.launch(o.waiting[i])
	}
}

// launch begins one of those that wait.
func (o *Pool) launch(next *function) {
	o.waiting = slices.DeleteFunc(o.waiting, func(one *function) bool { return one == next })
	o.running = append(o.running, next)
	if len(o.running) > 1 {
		o.trace.ByChance()
	}
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

// busy reports whether a function runs that is not in known.
func (o *Pool) busy(known *sync.Map) bool {
	return slices.ContainsFunc(o.running, func(one *function) bool {
		_, is := known.Load(one.user)
		return !is
	})
}

// note puts the functions that run into known.
func (o *Pool) note(known *sync.Map) {
	for _, one := range o.running {
		known.Store(one.user, true)
	}
}

// takeBack hands the result of a function that has ended to its loop, and reports whether
// there was one.
func (o *Pool) takeBack() bool {
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

// patience is for how many turns a loop is busy until a function returns in any case: a task
// may Yield until it has. If the loop has none, that is one of another loop.
const patience = 256

// needy has the functions of programs that have not returned while their loop stood still.
var needy sync.Map

// Begins is called when a turn of the loop begins.
func (l *Loop) Begins() {
	if l.open > 0 {
		l.open--
	}
	if o := l.pool; len(o.waiting) > 0 || len(o.running) > 0 {
		l.mayReturn()
	} else {
		l.busy = 0
	}
}

// mayReturn lets a function return if the seed says so. It is apart because a turn begins on
// the small stack of a task.
//
//go:noinline
func (l *Loop) mayReturn() {
	o := l.pool
	l.busy++
	must := l.busy%patience == 0
	var mine []*function
	for _, one := range o.waiting {
		if one.loop == l {
			mine = append(mine, one)
		}
	}
	if must && len(mine) == 0 {
		mine = o.waiting
	}
	if must && len(o.running) > 0 {
		// In WebAssembly a goroutine runs only when this one lets it.
		runtime.Gosched()
		o.takeBack()
		l.open = 2
		return
	}
	if len(mine) == 0 || !must && (o.earliness == 0 || !o.choices.At(choice.ForOrder, choice.EarlyOrder).Rarely(o.earliness)) {
		return
	}
	next := mine[0]
	if n := len(mine); n > 1 && !must {
		next = mine[o.choices.At(choice.ForOrder, choice.OffloadOrder).Pick(n)]
	}
	_, waits := needy.Load(next.user)
	if len(o.running) > 0 || waits && !must {
		return
	}
	o.launch(next)
	if waits {
		o.trace.ByChance()
		return
	}
	for range slowLooks {
		select {
		case <-next.ended:
			o.takeBack()
			l.open = 2 // what the function has posted comes before its result
			return
		case <-time.After(lookEvery):
		}
	}
	needy.Store(next.user, true)
	o.trace.ByChance()
}
