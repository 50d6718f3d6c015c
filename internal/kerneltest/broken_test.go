package kerneltest_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
)

// TestCondAfterAPanic: L is held when a method of the context has made Wait panic, so the panic is
// not hidden by that of the Unlock that is deferred; also if another task has L at that moment.
func TestCondAfterAPanic(t *testing.T) {
	for _, method := range []string{"Done", "Err"} {
		for _, taken := range []bool{false, true} {
			if method == "Err" && taken {
				continue // Wait does not ask for it then
			}
			r := rondo.Runner{Recover: true, OnError: func(rondo.TaskInfo, error) {}}
			err := r.Run(t.Context(), func(ctx context.Context) error {
				c := rondo.Cond{L: new(rondo.Mutex)}
				h := hostileContext{nil, method, make(chan struct{}), new(atomic.Bool)}
				other := func(ctx context.Context) error {
					if err := c.L.Lock(ctx); err != nil {
						return err
					}
					h.armed.Store(true)
					c.Signal()
					if taken {
						_ = rondo.Sleep(ctx, time.Millisecond)
					}
					c.L.Unlock()
					return nil
				}
				bad := rondo.Go(ctx, func(ctx context.Context) error {
					if err := c.L.Lock(ctx); err != nil {
						return err
					}
					defer c.L.Unlock()
					for k := rondo.Go(ctx, other); k.Info().Waiting != "lock"; {
						if err := rondo.Yield(ctx); err != nil {
							return err
						}
					}
					h.Context = ctx
					h.armed.Store(method == "Done")
					return c.Wait(h)
				})
				p, panicked := errors.AsType[*rondo.PanicError](bad.Wait(ctx))
				if !panicked || p.Value != "hostile "+method {
					t.Errorf("%s, taken %v: the task returned %v, want its panic", method, taken, bad.Err())
				}
				return c.L.Lock(ctx)
			})
			if err != nil {
				t.Error(err)
			}
		}
	}
}

// TestPanicInAWaitForAnotherLoop: a wait for another loop that the context has made panic keeps
// nothing that could wake its own loop, so a deadlock is found.
func TestPanicInAWaitForAnotherLoop(t *testing.T) {
	task, end := make(chan *rondo.Task, 1), make(chan bool)
	ended := otherLoop(func(ctx context.Context) error {
		task <- rondo.Current(ctx)
		_, _, err := rondo.Receive(ctx, end)
		return err
	})
	other := <-task
	r := rondo.Runner{Recover: true, EndDeadlock: 1, OnError: func(rondo.TaskInfo, error) {}}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		bad := rondo.Go(ctx, func(ctx context.Context) error {
			h := hostileContext{ctx, "Done", make(chan struct{}), new(atomic.Bool)}
			h.armed.Store(true)
			return other.Wait(h)
		})
		if _, panicked := errors.AsType[*rondo.PanicError](bad.Wait(ctx)); !panicked {
			t.Errorf("the task returned %v, want its panic", bad.Err())
		}
		return forever(ctx)
	})
	if !errors.Is(err, rondo.ErrDeadlock) {
		t.Errorf("Run returned %v, want a deadlock", err)
	}
	close(end)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestLockAfterAPanic: a method of a context that panics when Lock has waited leaves nothing
// locked.
func TestLockAfterAPanic(t *testing.T) {
	for name, m := range map[string]interface {
		Lock(ctx context.Context) error
		TryLock() bool
		Unlock()
	}{"Mutex": new(rondo.Mutex), "RWMutex": new(rondo.RWMutex)} {
		r := rondo.Runner{Recover: true, OnError: func(rondo.TaskInfo, error) {}}
		err := r.Run(t.Context(), func(ctx context.Context) error {
			if err := m.Lock(ctx); err != nil {
				return err
			}
			h := hostileContext{ctx, "Value", make(chan struct{}), new(atomic.Bool)}
			bad := rondo.Go(ctx, func(context.Context) error {
				err := m.Lock(h)
				h.armed.Store(false)
				if err == nil {
					m.Unlock()
				}
				return err
			})
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
			h.armed.Store(true)
			m.Unlock()
			_ = bad.Wait(ctx) // nil, or its panic
			if !m.TryLock() {
				t.Errorf("%s: it stays locked", name)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestReadersAfterAPanic: a writer that a method of its context has made panic holds up no readers.
func TestReadersAfterAPanic(t *testing.T) {
	r := rondo.Runner{Recover: true, OnError: func(rondo.TaskInfo, error) {}}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		var m rondo.RWMutex
		if err := m.RLock(ctx); err != nil {
			return err
		}
		bad := rondo.Go(ctx, func(ctx context.Context) error {
			h := hostileContext{ctx, "Done", make(chan struct{}), new(atomic.Bool)}
			h.armed.Store(true)
			return m.Lock(h)
		})
		if _, panicked := errors.AsType[*rondo.PanicError](bad.Wait(ctx)); !panicked {
			t.Errorf("the task returned %v, want its panic", bad.Err())
		}
		if !m.TryRLock() {
			t.Error("nobody writes or waits to write, and TryRLock failed")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestOffloadAfterAPanic: a task that a method of its context has made panic, when it had got its
// turn to offload a function, gives the turn to the next.
func TestOffloadAfterAPanic(t *testing.T) {
	r := rondo.Runner{Recover: true, Threads: 1, EndDeadlock: 1, OnError: func(rondo.TaskInfo, error) {}}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		nothing := func(context.Context) error { return nil }
		h := hostileContext{ctx, "Err", make(chan struct{}), new(atomic.Bool)}
		end := make(chan struct{})
		first := rondo.Go(ctx, func(ctx context.Context) error {
			return rondo.OffloadFunc(ctx, func(context.Context) error { <-end; return nil })
		})
		bad := rondo.Go(ctx, func(context.Context) error { return rondo.OffloadFunc(h, nothing) })
		next := rondo.Go(ctx, func(ctx context.Context) error { return rondo.OffloadFunc(ctx, nothing) })
		for next.Info().Waiting != "offload" {
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
		}
		h.armed.Store(true)
		close(end)
		if _, panicked := errors.AsType[*rondo.PanicError](bad.Wait(ctx)); !panicked {
			t.Errorf("the task returned %v, want its panic", bad.Err())
		}
		return errors.Join(first.Wait(ctx), next.Wait(ctx))
	})
	if err != nil {
		t.Error(err)
	}
}

// TestAbandonedByAPanic: a function that still runs because a method of the context has made
// Offload panic is reported at the end of the loop.
func TestAbandonedByAPanic(t *testing.T) {
	end, told := make(chan struct{}), false
	r := rondo.Runner{Recover: true, OnError: func(_ rondo.TaskInfo, err error) {
		told = told || errors.Is(err, rondo.ErrLeftBehind)
	}}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		bad := rondo.Go(ctx, func(ctx context.Context) error {
			h := hostileContext{ctx, "Done", make(chan struct{}), new(atomic.Bool)}
			h.armed.Store(true)
			return rondo.OffloadFunc(h, func(context.Context) error { <-end; return nil })
		})
		if _, panicked := errors.AsType[*rondo.PanicError](bad.Wait(ctx)); !panicked {
			t.Errorf("the task returned %v, want its panic", bad.Err())
		}
		return nil
	})
	close(end)
	if err != nil || !told {
		t.Errorf("Run: %v; OnError was told of the function: %v", err, told)
	}
}
