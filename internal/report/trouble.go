package report

// Trouble is what a loop reports while it can still be looked at: a step that holds it, or a
// deadlock.
//
// The law: who reports never waits. A listener whose channel is full misses it.

import "sync"

var listeners struct {
	sync.Mutex
	to map[chan<- string]bool
}

// Listen has a word for each trouble sent to c from now on, until stop is called. c has room for
// one. Any goroutine may call both.
func Listen(c chan<- string) (stop func()) {
	listeners.Lock()
	defer listeners.Unlock()
	if listeners.to == nil {
		listeners.to = make(map[chan<- string]bool)
	}
	listeners.to[c] = true
	return func() {
		listeners.Lock()
		defer listeners.Unlock()
		delete(listeners.to, c)
	}
}

// Trouble tells those that listen of a trouble, in a word.
func Trouble(word string) {
	listeners.Lock()
	defer listeners.Unlock()
	for c := range listeners.to {
		select {
		case c <- word:
		default:
		}
	}
}
