package rondo

// This file is the way from Go's channels to tasks. A task must not receive from
// a channel itself, because that would stop its loop; so while it waits, a
// goroutine stands there for it.

import "context"

// Receive receives one value from a Go channel, as v, ok := <-ch does, and
// suspends the task until there is one or the channel is closed; ok is false
// then. Goroutines may send to the channel, and close it.
//
// From a channel that is ready Receive takes what there is at once. Otherwise it
// starts a goroutine, which ends with the wait. If ctx is cancelled first it
// returns the cause, and no value was taken from the channel. Whether it was
// first, the goroutine knows: if it has received a value by the time that it
// hears of the cancellation, Receive returns that value and no error, and the
// next wait fails. To ask it, Receive holds the loop for the moment that the
// goroutine takes to answer. So no value is ever lost.
//
// While tasks of a loop wait in Receive it is not in deadlock: the channel is the
// outside. In a simulation the clock stands still meanwhile, as for Offload. A
// nil channel is never ready, and nothing outside can change that.
func Receive[T any](ctx context.Context, ch <-chan T) (value T, ok bool, err error) {
	s, t, err := enter(ctx, "Receive")
	if err != nil {
		return value, false, err
	}
	select {
	case value, ok = <-ch:
		// A channel that always has something must not keep the loop to itself.
		(*taskDoor)(t).Spend(0)
		return value, ok, nil
	default:
	}
	why := Reason{What: "channel"}
	if ch == nil {
		return value, false, t.park(s, ctx, why)
	}
	var list WaitList
	l := s.loop
	r := &receiver[T]{stop: make(chan unit), answer: make(chan bool, 1)}
	l.addWaker(1)
	l.helpers++
	defer func() {
		// In whatever way the wait has ended, the goroutine has the last word.
		close(r.stop)
		if <-r.answer {
			value, ok, err = r.value, r.ok, nil
		}
		l.helpers--
		l.addWaker(-1)
	}()
	goFunc(func() {
		got := r.receive(ch)
		if got {
			// The answer comes after it, so that it is known to the loop when the
			// task goes on: a simulation is to see it at the same moment each time.
			_ = l.post(entry{call: &Handle{loop: l, fn: func() { list.Wake() }}})
		}
		r.answer <- got
	})
	list.push(t)
	return value, false, t.park(s, ctx, why)
}

// receiver is the goroutine that stands at a channel for a task. It writes value
// and ok before it answers, and the task reads them after that.
type receiver[T any] struct {
	stop   chan unit // closed when the task has stopped waiting
	answer chan bool // whether there was a value, or the end of the channel
	value  T
	ok     bool
}

// receive waits for the channel and reports whether it was ready before the task
// stopped waiting. A select takes any case that is ready, so the channel is
// asked once more: what was sent before the cancellation is received in any case.
func (r *receiver[T]) receive(ch <-chan T) bool {
	select {
	case r.value, r.ok = <-ch:
		return true
	case <-r.stop:
	}
	select {
	case r.value, r.ok = <-ch:
		return true
	default:
		return false
	}
}
