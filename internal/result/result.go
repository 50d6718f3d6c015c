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
	awaited  bool // see Awaited

	// Lock also guards what the owner says.
	Lock sync.Mutex

	done  atomic.Bool
	value T
	err   error
	wait  *wait // nil until somebody waits
}

// wait is what those who wait share.
type wait struct {
	ended chan struct{} // closed when done
	n     int           // how many they are
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
	r.awaited = r.wait != nil && r.wait.n > 0
	r.done.Store(true)
	if r.wait != nil {
		close(r.wait.ended)
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

// Await returns a channel that is closed when there is a result. The caller calls Leave
// when it no longer waits.
func (r *Result[T]) Await() <-chan struct{} {
	r.Lock.Lock()
	defer r.Lock.Unlock()
	if r.wait == nil {
		r.wait = &wait{ended: make(chan struct{})}
		if r.done.Load() {
			close(r.wait.ended)
		}
	}
	r.wait.n++
	return r.wait.ended
}

// Leave is called once for each Await, and reports whether there is a result.
func (r *Result[T]) Leave() (done bool) {
	r.Lock.Lock()
	defer r.Lock.Unlock()
	r.wait.n--
	return r.done.Load()
}

// Awaited reports whether somebody waited at the moment when the result was set. It may
// be called when there is a result.
func (r *Result[T]) Awaited() bool { return r.awaited }
