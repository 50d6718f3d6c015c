package kerneltest_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/sim"
)

// pullEndings are the ways in which a Pull that was left half-way comes to its
// end.
var pullEndings = map[string]func(ctx context.Context, pull func(ctx context.Context)) error{
	"task": func(ctx context.Context, pull func(ctx context.Context)) error {
		return rondo.Go(ctx, func(ctx context.Context) error { pull(ctx); return nil }).Wait(ctx)
	},
	"task cancelled": func(ctx context.Context, pull func(ctx context.Context)) error {
		task := rondo.Go(ctx, func(ctx context.Context) error { pull(ctx); return rondo.Sleep(ctx, time.Hour) })
		_ = rondo.Sleep(ctx, time.Minute)
		task.Cancel(nil)
		if err := task.Wait(ctx); err != context.Canceled {
			return fmt.Errorf("cancelled task: %w", err)
		}
		return nil
	},
	"group": func(ctx context.Context, pull func(ctx context.Context)) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error { pull(g); return nil })
	},
	"group, in a task of it": func(ctx context.Context, pull func(ctx context.Context)) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(context.Context) error { pull(g); return nil })
			return nil
		})
	},
	"group cancelled": func(ctx context.Context, pull func(ctx context.Context)) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			pull(g)
			g.Cancel(nil)
			return rondo.Sleep(g, time.Second)
		})
	},
	"timeout": func(ctx context.Context, pull func(ctx context.Context)) error {
		err := rondo.Timeout(ctx, time.Minute, func(ctx context.Context) error {
			pull(ctx)
			return rondo.Sleep(ctx, time.Hour)
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("Timeout: %w", err)
		}
		return nil
	},
	"shield": func(ctx context.Context, pull func(ctx context.Context)) error {
		return rondo.Shield(ctx, func(ctx context.Context) error { pull(ctx); return nil })
	},
	"panic in the group": func(ctx context.Context, pull func(ctx context.Context)) error {
		defer func() { _ = recover() }()
		return rondo.Group(ctx, func(g *rondo.Scope) error { pull(g); panic("body") })
	},
	"derived": func(ctx context.Context, pull func(ctx context.Context)) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			std, cancel := context.WithCancel(g)
			defer cancel()
			pull(std)
			return nil
		})
	},
}

// TestPullEnds: however a scope ends, and in every order, the clean-ups of its
// Pulls have run by then, all at once and in a cancelled ctx. After that next
// returns false.
func TestPullEnds(t *testing.T) {
	for name, end := range pullEndings {
		t.Run(name, func(t *testing.T) {
			sim.Explore(t, func(ctx context.Context) {
				var nexts []func() (int, bool)
				var log []string
				pull := func(ctx context.Context) {
					for range 2 {
						next, _ := rondo.Pull(ctx, func(yield func(int) bool) {
							defer func() {
								if ctx.Err() == nil || rondo.Sleep(ctx, 1) == nil {
									t.Error("the ctx is not cancelled in the clean-up")
								}
								err := rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Second) })
								log = append(log, fmt.Sprint("cleaned ", err))
							}()
							// A scope inside the sequence ends with the one around it.
							_ = rondo.Timeout(ctx, 24*time.Hour, func(ctx context.Context) error {
								yield(1)
								return rondo.Sleep(ctx, time.Hour+7*time.Second)
							})
						})
						if v, ok := next(); v != 1 || !ok {
							t.Errorf("next returned %v, %v", v, ok)
						}
						nexts = append(nexts, next)
					}
				}
				start := rondo.Now(ctx)
				if err := end(ctx, pull); err != nil {
					t.Errorf("the scope ended with %v", err)
				}
				if took := rondo.Now(ctx).Sub(start) % time.Minute; took != time.Second {
					t.Errorf("the clean-ups took %v", took)
				}
				if !slices.Equal(log, []string{"cleaned <nil>", "cleaned <nil>"}) {
					t.Errorf("log %q", log)
				}
				for _, next := range nexts {
					if v, ok := next(); v != 0 || ok {
						t.Errorf("next after the end returned %v, %v", v, ok)
					}
				}
				if n := len(rondo.Tasks(ctx)); n != 1 {
					t.Errorf("%d tasks are left", n)
				}
			})
		})
	}
}

// TestPullEndsWithItsTaskInMidWait: a wait of the sequence with the ctx of the
// task that made the Pull is cancelled with that task, also if another task is in
// next.
func TestPullEndsWithItsTaskInMidWait(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		var empty rondo.Queue[int]
		for i, wait := range []func(ctx context.Context) error{
			func(ctx context.Context) error { _, err := empty.Get(ctx); return err },
			func(ctx context.Context) error {
				return rondo.Group(ctx, func(g *rondo.Scope) error { return forever(g) })
			},
			func(ctx context.Context) error {
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				return forever(ctx)
			},
			func(ctx context.Context) error { return forever(kernel.Of(ctx).Task().Scope()) }, // as a Read of a connection does
		} {
			var ended error
			var next func() (int, bool)
			maker := rondo.Go(ctx, func(ctx context.Context) error {
				next, _ = rondo.Pull(ctx, func(yield func(int) bool) {
					if yield(1) {
						ended = wait(ctx)
					}
				})
				next()
				// A task that is no Pull's goes on with its own ctx, as it would without any.
				rondo.Go(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, 2*time.Second) })
				return rondo.Sleep(ctx, time.Second)
			})
			other := rondo.Go(ctx, func(ctx context.Context) error {
				_ = rondo.Sleep(ctx, time.Second/2)
				if v, ok := next(); ok {
					t.Errorf("wait %d: next returned %v", i, v)
				}
				return nil
			})
			if err := errors.Join(maker.Wait(ctx), other.Wait(ctx)); err != nil || !errors.Is(ended, context.Canceled) {
				t.Errorf("wait %d: the tasks returned %v, the wait %v", i, err, ended)
			}
		}
	})
}

// TestPullInCleanUp: a Pull that a sequence makes while it cleans up ends with the scope too.
func TestPullInCleanUp(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		var log []string
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			pull := func(name string, cleanUp func()) {
				next, _ := rondo.Pull(g, func(yield func(int) bool) {
					yield(1)
					cleanUp()
					log = append(log, name)
				})
				if v, ok := next(); v != 1 || !ok {
					t.Errorf("next of the %s Pull returned %d, %v", name, v, ok)
				}
			}
			pull("first", func() { pull("second", func() {}) })
			return nil
		})
		if want := []string{"first", "second"}; err != nil || !slices.Equal(log, want) {
			t.Errorf("Group returned %v; these have ended: %q, want %q", err, log, want)
		}
	})
}

// TestPullGarbage: Pulls that nobody can use any more are cleaned up while the
// loop goes on, with a ctx that is not cancelled, whichever others end meanwhile.
func TestPullGarbage(t *testing.T) {
	run(t, func(ctx context.Context) error {
		const many = 20
		cleaned := 0
		tasks := len(rondo.Tasks(ctx))
		for range many {
			next, _ := rondo.Pull(ctx, func(yield func(int) bool) {
				defer func() {
					if err := rondo.Sleep(ctx, time.Millisecond); err != nil {
						t.Errorf("Sleep in the clean-up returned %v", err)
					}
					cleaned++
				}()
				for yield(1) {
				}
			})
			next()
			ends, stop := rondo.Pull(ctx, func(yield func(int) bool) { yield(1) })
			ends()
			stop()
			if err := rondo.Sleep(ctx, 1); err != nil { // the loop looks for new ones
				return err
			}
		}
		for cleaned < many {
			runtime.GC()
			if err := rondo.Sleep(ctx, time.Millisecond); err != nil {
				return err
			}
		}
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
		if n := len(rondo.Tasks(ctx)); n != tasks {
			t.Errorf("there are %d tasks, before there were %d", n, tasks)
		}
		return nil
	})
}

// TestPullInUseIsNoGarbage: a Pull is not cleaned up while a task waits in its
// next.
func TestPullInUseIsNoGarbage(t *testing.T) {
	run(t, func(ctx context.Context) error {
		next, _ := rondo.Pull(ctx, func(yield func(int) bool) {
			for range 20 {
				runtime.GC()
				if err := rondo.Sleep(ctx, time.Millisecond); err != nil {
					t.Error(err)
				}
			}
			yield(1)
		})
		if v, ok := next(); v != 1 || !ok {
			t.Errorf("next returned %v, %v", v, ok)
		}
		return nil
	})
}

// TestPullsThatEndedKeepNothing: sequences that end one after the other take turns on one
// worker, whichever way they end, and although others have a turn now and then.
func TestPullsThatEndedKeepNothing(t *testing.T) {
	ends := map[string]func(ctx context.Context){
		"stop": func(ctx context.Context) {
			next, stop := rondo.Pull(ctx, func(yield func(int) bool) { _ = yield(1) && yield(2) })
			next()
			stop()
		},
		"to the end": func(ctx context.Context) {
			next, _ := rondo.Pull(ctx, func(yield func(int) bool) { yield(1) })
			for _, ok := next(); ok; _, ok = next() {
			}
		},
		"panic": func(ctx context.Context) {
			next, _ := rondo.Pull(ctx, func(yield func(int) bool) { panic(errBroken) })
			defer func() { _ = recover() }()
			next()
		},
		"in a nested coroutine": func(ctx context.Context) {
			next, stop := iter.Pull(func(yield func(int) bool) {
				next, stop := rondo.Pull(ctx, func(yield func(int) bool) { _ = yield(1) && yield(2) })
				defer stop()
				v, _ := next()
				yield(v)
			})
			defer stop()
			next()
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			run(t, func(ctx context.Context) error {
				for range 1000 {
					end(ctx)
				}
				s := rondo.LoopOf(ctx).Stats()
				if s.Workers > 4 || s.Tasks != 1 {
					t.Errorf("there are %d workers and %d tasks", s.Workers, s.Tasks)
				}
				return nil
			})
		})
	}
}
