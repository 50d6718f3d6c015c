// Package trap catches signals. Each trap gets one copy of a signal. If all traps
// return their copies and none has used it, the signal is raised again, and then
// does what it would have done without the traps. A signal that one of them has used
// is never raised again.
//
// A channel of os/signal gets its own copy, and nobody can know of it. So it receives
// a signal that is raised again a second time. Catchers return a signal only if losing
// it would be worse.
package trap

import (
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
)

// room is how many signals of a kind may wait to be handed over. More can come only
// if the same signal is repeated quickly, and the system merges those too.
const room = 64

// A Trap catches signals from Set or Hold until Release. Channels of os/signal
// receive these signals too.
type Trap struct {
	one  bool
	take func(d *Delivery) bool
	sigs []os.Signal
	gone bool
}

// A source catches the signals of one kind for all traps that are set for it.
type source struct {
	in    chan os.Signal
	traps []*Trap
	drops bool // what is still in the channel
}

// sources has a source for each signal that a trap is set for. The lock guards
// everything in this package that changes. It is never held while a trap's take
// runs.
var (
	mu      sync.Mutex
	sources = make(map[os.Signal]*source)
)

// Set catches the signals given, and calls take with each, on a goroutine. take
// reports whether it has used the signal. If not, the trap releases itself and has
// returned the signal. A trap that is set for one signal only releases itself
// before take is called, so that the next signal does what it does by default.
func Set(one bool, take func(s os.Signal) bool, sigs ...os.Signal) *Trap {
	return Hold(one, func(d *Delivery) bool {
		if !take(d.Sig) {
			return false
		}
		d.Use()
		return true
	}, sigs...)
}

// Hold is Set for a catcher that decides later whether it uses a signal. If take
// returns true, the catcher must call Use or Return of the Delivery at some time.
func Hold(one bool, take func(d *Delivery) bool, sigs ...os.Signal) *Trap {
	t := &Trap{one: one, take: take, sigs: slices.Compact(slices.SortedFunc(slices.Values(sigs), byName))}
	mu.Lock()
	defer mu.Unlock()
	for _, s := range t.sigs {
		from := sources[s]
		if from == nil {
			from = &source{in: make(chan os.Signal, room)}
			sources[s] = from
			signal.Notify(from.in, s)
			go from.run()
		}
		from.traps = append(from.traps, t)
	}
	return t
}

func byName(a, b os.Signal) int { return strings.Compare(a.String(), b.String()) }

// run hands over signals until the source is closed. What is left in the channel
// then was on its way when the last trap was released.
func (from *source) run() {
	for s := range from.in {
		hand(&Delivery{Sig: s}, from)
	}
}

// hand passes a signal, which a source or nil has, to every trap that is set for it, or
// to the system if there is none.
func hand(d *Delivery, of *source) {
	mu.Lock()
	if of != nil && of.drops {
		mu.Unlock()
		return
	}
	var to []*Trap
	if from := sources[d.Sig]; from != nil {
		to = append(to, from.traps...)
	}
	for _, t := range to {
		if t.one {
			t.release(false)
		}
	}
	d.holders = len(to)
	mu.Unlock()
	if len(to) == 0 {
		raise(d.Sig)
		return
	}
	for _, t := range to {
		if !t.take(d) {
			t.Release()
			d.Return()
		}
	}
}

// Release ends the trap: it gets no more signals. One that is on its way acts as if the
// trap had not been there. Any goroutine may call it, more than once.
func (t *Trap) Release() {
	mu.Lock()
	defer mu.Unlock()
	t.release(false)
}

// Drop is Release, but that a signal is dropped that is on its way to no other trap.
func (t *Trap) Drop() {
	mu.Lock()
	defer mu.Unlock()
	t.release(true)
}

// release is Release or Drop with the lock held.
func (t *Trap) release(drop bool) {
	if t.gone {
		return
	}
	t.gone = true
	for _, s := range t.sigs {
		from := sources[s]
		from.traps = slices.DeleteFunc(from.traps, func(other *Trap) bool { return other == t })
		if len(from.traps) == 0 {
			delete(sources, s)
			from.drops = drop
			// Nothing more is sent to the channel when Stop has returned.
			signal.Stop(from.in)
			close(from.in)
		}
	}
}

// raise sends the process a signal that nobody has used. Where a process cannot send
// itself a signal, the signal is ignored.
func raise(s os.Signal) {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Signal(s)
		_ = p.Release()
	}
}
