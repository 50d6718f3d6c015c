// Package receiver has the goroutine that receives from a Go channel for a task.
//
// The law: no value is lost. Whether the channel or the end of the wait came first is
// decided by the goroutine alone: what it has received, the task gets.
package receiver

// A Receiver receives one value from a channel for a task.
type Receiver[T any] struct {
	ch     <-chan T
	stop   chan struct{} // closed when the task has stopped waiting
	answer chan bool     // whether there was a value, or the end of the channel
	value  T
	ok     bool

	stopped  bool // Stop was called
	received bool // what Run answered
}

// New returns a Receiver for a channel.
func New[T any](ch <-chan T) *Receiver[T] {
	return &Receiver[T]{ch: ch, stop: make(chan struct{}), answer: make(chan bool, 1)}
}

// Run waits for the channel, until Stop is called. If it has received, it calls
// received before Stop can return. It is called once, on a goroutine of its own.
func (r *Receiver[T]) Run(received func()) {
	got := r.receive()
	if got {
		received()
	}
	r.answer <- got
}

// receive reports whether the channel was ready before the task stopped waiting. A
// select takes any case that is ready, so the channel is asked once more: what was
// sent before the cancellation is received in any case.
func (r *Receiver[T]) receive() bool {
	select {
	case r.value, r.ok = <-r.ch:
		return true
	case <-r.stop:
	}
	select {
	case r.value, r.ok = <-r.ch:
		return true
	default:
		return false
	}
}

// Stop ends the wait. It returns what Run has received, as v, ok := <-ch does, and
// whether it has received. It blocks for the moment that Run takes to answer. A
// second call returns the same.
func (r *Receiver[T]) Stop() (value T, ok, received bool) {
	if !r.stopped {
		r.stopped = true
		close(r.stop)
		r.received = <-r.answer
	}
	return r.value, r.ok, r.received
}
