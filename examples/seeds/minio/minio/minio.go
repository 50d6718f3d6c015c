// Package minio is an asynchronous runtime to read, of the kind in which a
// coroutine has hold of nothing but calls: to ask for anything it pauses with a
// call, and the runtime does what that says, and resumes it when it is done. Rondo
// is what to use.
//
// All of it is on one goroutine, that of Run.
package minio

import (
	"container/heap"
	"errors"
	"time"

	"github.com/rondo-go/rondo/coro"
	"github.com/rondo-go/rondo/examples/seeds/internal/bare"
)

// A Runtime runs tasks until none is left. Its zero value is ready.
type Runtime struct {
	// OnError is told of the error of a spawned task if nobody waits for that at
	// its end.
	OnError func(error)

	queue    []*task // those that can run
	timers   timers
	selector bare.Selector[*task]
	alive    map[*task]bool
}

// A task is a coroutine that nobody has called but the runtime.
type task struct {
	coroutine *coro.Generator[call, struct{}, struct{}]
	waiters   []*task // for its end
	done      bool
	err       error
}

// A call is what a coroutine pauses with. It has the runtime put the task where it
// is to wait, or back into the queue.
type call func(r *Runtime, t *task)

// An Env is a coroutine's way to the runtime.
type Env struct {
	y *coro.Yielder[call, struct{}]
}

func (e *Env) call(c call) error {
	_, err := e.y.Yield(c)
	return err
}

// Run runs main and what that spawns, until all have ended, and returns what main
// does. If main fails, the others are ended.
func Run[T any](r *Runtime, main func(e *Env) (T, error)) (result T, err error) {
	r.alive = make(map[*task]bool)
	defer func() {
		for t := range r.alive {
			_ = t.coroutine.Close() // there is an error to return
		}
		r.queue, r.timers, r.selector = nil, nil, bare.Selector[*task]{}
	}()
	root := r.newTask(func(e *Env) (err error) {
		result, err = main(e)
		return err
	})
	r.queue = append(r.queue, root)
	for len(r.alive) > 0 && root.err == nil {
		if err := r.wait(); err != nil {
			return result, err
		}
		t := r.queue[0]
		r.queue = r.queue[1:]
		if c, alive := t.coroutine.Next(); alive {
			c(r, t)
		} else {
			r.end(t, t == root)
		}
	}
	return result, root.err
}

func (r *Runtime) newTask(fn func(e *Env) error) *task {
	t := &task{coroutine: coro.NewGenerator(func(y *coro.Yielder[call, struct{}]) (struct{}, error) {
		return struct{}{}, fn(&Env{y})
	})}
	r.alive[t] = true
	return t
}

// end wakes those who wait for the task.
func (r *Runtime) end(t *task, root bool) {
	delete(r.alive, t)
	_, t.err = t.coroutine.Result()
	t.done = true
	if t.err != nil && len(t.waiters) == 0 && !root && r.OnError != nil {
		r.OnError(t.err)
	}
	r.queue = append(r.queue, t.waiters...)
	t.waiters = nil
}

// wait returns when a task can run: at once if one can already, and else after the
// first timer, or as soon as a descriptor is ready. It fails if none ever will.
func (r *Runtime) wait() error {
	for len(r.queue) == 0 {
		if len(r.timers) == 0 && r.selector.Len() == 0 {
			return errors.New("minio: all tasks wait for each other")
		}
		left := time.Duration(-1)
		if len(r.timers) > 0 {
			left = max(0, time.Until(r.timers[0].deadline))
		}
		ready, err := r.selector.Select(left)
		if err != nil {
			return err
		}
		r.queue = append(r.queue, ready...)
		for len(r.timers) > 0 && time.Until(r.timers[0].deadline) <= 0 {
			r.queue = append(r.queue, heap.Pop(&r.timers).(timer).task)
		}
	}
	return nil
}
