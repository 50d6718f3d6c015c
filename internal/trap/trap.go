// Package trap catches signals for whoever wants them, and loses none. A signal
// that came to a trap is either handed over, or raised again when the trap is
// gone, and then does what it would have done without it.
package trap

import (
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
)

// room is how many signals may wait to be handed over. More than there are kinds
// of them come only if the same one is repeated, and the system itself makes one
// of those while it cannot deliver them.
const room = 64

// A Trap catches signals from Set to Release, on a goroutine of its own. What
// else of the process catches them gets them as well.
type Trap struct {
	in   chan os.Signal
	gone atomic.Bool
	once sync.Once
}

// Set catches the signals given, and calls take with each, on a goroutine, one
// after the other. take reports whether there was somebody to take it; if not,
// the trap releases itself and raises the signal again. A trap that is set for
// one signal only releases itself when that is taken, so that the next does
// what it does by default.
func Set(one bool, take func(s os.Signal) bool, sigs ...os.Signal) *Trap {
	t := &Trap{in: make(chan os.Signal, room)}
	signal.Notify(t.in, sigs...)
	go t.run(one, take)
	return t
}

func (t *Trap) run(one bool, take func(s os.Signal) bool) {
	for s := range t.in {
		// What comes while the trap is being released came after it, as far as
		// anybody can tell.
		if t.gone.Load() {
			Raise(s)
			continue
		}
		if one {
			t.Release()
		}
		if !take(s) {
			t.Release()
			Raise(s)
		}
	}
}

// Release lets go: from here on the signals do what they did before, as far as
// this trap is concerned. Any goroutine may call it, more than once.
func (t *Trap) Release() {
	t.once.Do(func() {
		t.gone.Store(true)
		// Nothing more is sent to the channel when Stop has returned.
		signal.Stop(t.in)
		close(t.in)
	})
}

// Raise sends the process a signal that came and was not taken. Where that
// cannot be done, it is as if the signal had been ignored.
func Raise(s os.Signal) {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Signal(s)
		_ = p.Release()
	}
}
