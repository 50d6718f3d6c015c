package report

// Trouble is what a loop reports while it can still be looked at: a step that holds it, or a
// deadlock.
//
// The law: who reports waits only if it asks to, and never longer than it says. A listener whose
// channel is full misses the report.

import (
	"sync"
	"time"
)

// An Alarm is the report of a trouble, as a listener receives it.
type Alarm struct {
	Word string // held or deadlock
	seen chan<- struct{}
}

// Seen says that the listener has done what it does at an alarm. Each listener calls it once. It
// never blocks.
func (a Alarm) Seen() { a.seen <- struct{}{} }

var listeners struct {
	sync.Mutex
	to map[chan<- Alarm]bool
}

// Listen has each trouble sent to c from now on, until stop is called. c has room for one. Any
// goroutine may call both.
func Listen(c chan<- Alarm) (stop func()) {
	listeners.Lock()
	defer listeners.Unlock()
	if listeners.to == nil {
		listeners.to = make(map[chan<- Alarm]bool)
	}
	listeners.to[c] = true
	return func() {
		listeners.Lock()
		defer listeners.Unlock()
		delete(listeners.to, c)
	}
}

// Trouble reports a trouble, in a word, to those that listen. It waits until all of them have
// called Seen, but so long at most; with 0 it does not wait.
func Trouble(word string, most time.Duration) {
	sent, seen := send(word)
	if sent == 0 || most == 0 {
		return
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	for range sent {
		select {
		case <-seen:
		case <-timer.C:
			return
		}
	}
}

// send sends an alarm, and returns how many listeners have got it, and where they say Seen.
func send(word string) (sent int, seen <-chan struct{}) {
	listeners.Lock()
	defer listeners.Unlock()
	c := make(chan struct{}, len(listeners.to))
	for to := range listeners.to {
		select {
		case to <- Alarm{word, c}:
			sent++
		default:
		}
	}
	return sent, c
}
