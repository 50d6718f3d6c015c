// Package result has the result of something: a value or an error, set once, and
// read by any goroutine.
//
// The law: what was set never changes. It is written under the lock and before done,
// so anyone who has seen done reads it without the lock.
package result

import (
	"sync"
	"sync/atomic"
)

// A Result is a value or an error, once it is done. Its zero value is not. Any
// goroutine may call its methods.
type Result[T any] struct {
	// Promised says that a task sets it at its end. It never changes once others have
	// the Result.
	Promised bool

	// Lock also guards what the owner says.
	Lock sync.Mutex

	done  atomic.Bool
	value T
	err   error
	ended chan struct{} // closed when done; nil until somebody asks
}

// Set makes v and err the result and reports whether they are: false if there was one
// already.
func (r *Result[T]) Set(v T, err error) bool {
	r.Lock.Lock()
	defer r.Lock.Unlock()
	if r.done.Load() {
		return false
	}
	r.value, r.err = v, err
	r.done.Store(true)
	if r.ended != nil {
		close(r.ended)
	}
	return true
}

// Done reports whether there is a result.
func (r *Result[T]) Done() bool { return r.done.Load() }

// Get returns the result, or zero values if there is none.
func (r *Result[T]) Get() (v T, err error) {
	if r.done.Load() {
		v, err = r.value, r.err
	}
	return v, err
}

// Ended returns a channel that is closed when there is a result.
func (r *Result[T]) Ended() <-chan struct{} {
	r.Lock.Lock()
	defer r.Lock.Unlock()
	if r.ended == nil {
		r.ended = make(chan struct{})
		if r.done.Load() {
			close(r.ended)
		}
	}
	return r.ended
}
