package minio

import (
	"container/heap"
	"time"
)

// A JoinHandle stands for a spawned task and what that returns.
type JoinHandle[T any] struct {
	task   *task
	result T
}

// Spawn starts fn in a task beside the calling one, which goes on first.
func Spawn[T any](e *Env, fn func(e *Env) (T, error)) (*JoinHandle[T], error) {
	h := &JoinHandle[T]{}
	err := e.call(func(r *Runtime, t *task) {
		h.task = r.newTask(func(e *Env) (err error) {
			h.result, err = fn(e)
			return err
		})
		r.queue = append([]*task{t}, r.queue...)
		r.queue = append(r.queue, h.task)
	})
	return h, err
}

// Join waits for the end of the task and returns what it does.
func (h *JoinHandle[T]) Join(e *Env) (T, error) {
	if !h.task.done {
		if err := e.call(func(_ *Runtime, t *task) { h.task.waiters = append(h.task.waiters, t) }); err != nil {
			var none T
			return none, err
		}
	}
	return h.result, h.task.err
}

// Sleep waits for a time of d.
func Sleep(e *Env, d time.Duration) error {
	return e.call(func(r *Runtime, t *task) {
		heap.Push(&r.timers, timer{time.Now().Add(d), t})
	})
}

// WaitRead waits until there is something to read, or a connection to accept.
func WaitRead(e *Env, fd int) error {
	return e.call(func(r *Runtime, t *task) { r.selector.Read(fd, t) })
}

// WaitWrite waits until something can be written.
func WaitWrite(e *Env, fd int) error {
	return e.call(func(r *Runtime, t *task) { r.selector.Write(fd, t) })
}

type timer struct {
	deadline time.Time
	task     *task
}

// timers is a heap, the next one to be due in front.
type timers []timer

// Len, Less, Swap, Push and Pop are for package heap.
func (h timers) Len() int           { return len(h) }
func (h timers) Less(i, j int) bool { return h[i].deadline.Before(h[j].deadline) }
func (h timers) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *timers) Push(x any)        { *h = append(*h, x.(timer)) }
func (h *timers) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	*h = (*h)[:last]
	return t
}
