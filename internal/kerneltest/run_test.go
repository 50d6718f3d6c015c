package kerneltest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/sim"
)

// TestEndOfRun: when main ends, the rest is cancelled, runs its deferred calls,
// which may wait behind a Shield, and is waited for.
func TestEndOfRun(t *testing.T) {
	for _, fail := range []error{nil, errBroken} {
		var log []string
		err := rondo.Run(t.Context(), func(ctx context.Context) error {
			rondo.Go(ctx, func(ctx context.Context) error {
				defer func() { log = append(log, "deferred") }()
				defer func() {
					_ = rondo.Shield(ctx, func(ctx context.Context) error {
						log = append(log, "clean-up")
						return rondo.Sleep(ctx, time.Millisecond)
					})
				}()
				err := forever(ctx)
				log = append(log, err.Error())
				return err
			})
			log = append(log, "main")
			return fail
		})
		if want := []string{"main", "context canceled", "clean-up", "deferred"}; err != fail || !slices.Equal(log, want) {
			t.Errorf("Run returned %v, and this happened: %q", err, log)
		}
	}
}

func TestPanicEndsRun(t *testing.T) {
	before := runtime.NumGoroutine()
	var log []string
	defer func() {
		v, ok := recover().(*rondo.PanicError)
		if !ok || v.Value != "oops" || v.Task != "bad" || !strings.Contains(string(v.Stack), "explode") {
			t.Errorf("recovered %v", v)
		}
		if !slices.Equal(log, []string{"other deferred"}) {
			t.Errorf("this happened: %q", log)
		}
		if left := leak.Settle(before); left > before {
			t.Errorf("%d goroutines were left", left-before)
		}
	}()
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		rondo.Go(ctx, func(ctx context.Context) error {
			defer func() { log = append(log, "other deferred") }()
			return forever(ctx)
		})
		rondo.Go(ctx, func(ctx context.Context) error { explode(); return nil }).SetName("bad")
		return forever(ctx)
	})
	t.Errorf("Run returned %v instead of panicking", err)
}

//go:noinline
func explode() { panic("oops") }

func TestRecoverMakesPanicsErrors(t *testing.T) {
	r := rondo.Runner{Recover: true}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		err := rondo.Go(ctx, func(ctx context.Context) error { panic(errBroken) }).Wait(ctx)
		var p *rondo.PanicError
		if !errors.As(err, &p) || !errors.Is(err, errBroken) || len(p.Stack) == 0 {
			t.Errorf("the task's error is %v", err)
		}
		return rondo.Yield(ctx)
	})
	if err != nil {
		t.Errorf("Run returned %v", err)
	}
}

// TestPanicInCallback: it ends Run, and the task on whose stack it happened is
// cancelled like the others, not unwound by the panic.
func TestPanicInCallback(t *testing.T) {
	var innocent error
	defer func() {
		v, ok := recover().(*rondo.PanicError)
		if !ok || v.Value != "oops" || v.Task != "a callback" {
			t.Errorf("recovered %v", v)
		}
		if !errors.As(innocent, &v) {
			t.Errorf("the waiting task got %v", innocent)
		}
	}()
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		rondo.LoopOf(ctx).CallSoon(explode)
		innocent = forever(ctx)
		return innocent
	})
	t.Errorf("Run returned %v instead of panicking", err)
}

// TestGoexit: a task that calls runtime.Goexit ends the goroutine of Run the
// same way, when everything else has ended; so does one in a callback.
func TestGoexit(t *testing.T) {
	for name, main := range map[string]func(ctx context.Context) error{
		"task": func(ctx context.Context) error {
			for range 3 {
				rondo.Go(ctx, func(ctx context.Context) error { runtime.Goexit(); return nil })
			}
			return forever(ctx)
		},
		"main": func(ctx context.Context) error { runtime.Goexit(); return nil },
		"group": func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(forever)
				_ = rondo.Yield(g)
				runtime.Goexit()
				return nil
			})
		},
		"nested coroutine": func(ctx context.Context) error {
			next, stop := iter.Pull(func(yield func(int) bool) {
				_ = rondo.Yield(ctx)
				runtime.Goexit()
			})
			defer stop()
			next()
			return nil
		},
		"callback": func(ctx context.Context) error {
			rondo.LoopOf(ctx).CallSoon(runtime.Goexit)
			return forever(ctx)
		},
		"callback while a group is left": func(ctx context.Context) error {
			rondo.LoopOf(ctx).CallSoon(runtime.Goexit)
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(lingering)
				return nil
			})
		},
		"callback while a group is left by a panic": func(ctx context.Context) error {
			rondo.LoopOf(ctx).CallSoon(runtime.Goexit)
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(lingering)
				panic("ended by the Goexit")
			})
		},
		"callback, and clean-up that waits and panics": func(ctx context.Context) error {
			rondo.LoopOf(ctx).CallSoon(runtime.Goexit)
			defer func() {
				if err := lingering(ctx); err != nil {
					panic(err)
				}
				defer func() { _ = recover() }()
				panic("recovered")
			}()
			return forever(ctx)
		},
		"callback while Pulls end": func(ctx context.Context) error {
			return rondo.Go(ctx, func(ctx context.Context) error {
				next, _ := rondo.Pull(ctx, func(yield func(int) bool) {
					yield(1)
					_ = lingering(ctx)
				})
				next()
				rondo.LoopOf(ctx).CallSoon(runtime.Goexit)
				return nil
			}).Wait(ctx)
		},
	} {
		before := runtime.NumGoroutine()
		var wg sync.WaitGroup
		wg.Go(func() {
			returned := true
			defer func() {
				if v := recover(); returned || v != nil {
					t.Errorf("%s: Run returned or panicked (%v) instead of calling Goexit", name, v)
				}
			}()
			deferred := 0
			defer func() {
				if deferred != 20 {
					t.Errorf("%s: %d of 20 deferred calls ran", name, deferred)
				}
			}()
			returned = false
			_ = rondo.Run(context.Background(), func(ctx context.Context) error {
				for range 20 {
					rondo.Go(ctx, func(ctx context.Context) error {
						defer func() { deferred++ }()
						return forever(ctx)
					})
				}
				_ = rondo.Yield(ctx)
				return main(ctx)
			})
			returned = true
		})
		wg.Wait()
		if left := leak.Settle(before); left > before {
			t.Errorf("%s: %d goroutines were left", name, left-before)
		}
	}
}

// lingering is a task that takes its time to end.
func lingering(ctx context.Context) error {
	return rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, 10*time.Millisecond) })
}

// TestGoexitWhilePanicIsCleanedUp: a callback may call Goexit on the stack of a
// task that has panicked and waits for its Pulls. The task ends, and Run panics.
func TestGoexitWhilePanicIsCleanedUp(t *testing.T) {
	for _, recovers := range []bool{false, true} {
		var wg sync.WaitGroup
		wg.Go(func() {
			defer func() {
				if v := recover(); (v != nil) == recovers {
					t.Errorf("Recover %v: Run panicked with %v", recovers, v)
				}
			}()
			r := rondo.Runner{Recover: recovers, OnError: func(rondo.TaskInfo, error) {}}
			err := r.Run(context.Background(), func(ctx context.Context) error {
				return rondo.Go(ctx, func(ctx context.Context) error {
					next, _ := rondo.Pull(ctx, func(yield func(int) bool) {
						yield(1)
						_ = lingering(ctx)
					})
					next()
					defer rondo.LoopOf(ctx).CallSoon(runtime.Goexit)
					panic("lost")
				}).Wait(ctx)
			})
			t.Errorf("Recover %v: Run returned %v", recovers, err)
		})
		wg.Wait()
	}
}

// TestPanicBeforeGoexit: a panic is not lost because another task, which it has
// cancelled, calls Goexit, as testing.T.Fatal does.
func TestPanicBeforeGoexit(t *testing.T) {
	var wg sync.WaitGroup
	wg.Go(func() {
		defer func() {
			if p, ok := recover().(*rondo.PanicError); !ok || p.Value != "first" {
				t.Errorf("Run panicked with %v", p)
			}
		}()
		err := rondo.Run(context.Background(), func(ctx context.Context) error {
			rondo.Go(ctx, func(context.Context) error { panic("first") })
			if forever(ctx) != nil {
				runtime.Goexit()
			}
			return nil
		})
		t.Errorf("Run returned %v", err)
	})
	wg.Wait()
}

// TestUnheardErrors: those that somebody has are not reported, however many they
// are, and the others are, in the order in which they came.
func TestUnheardErrors(t *testing.T) {
	var reported []uint64
	r := rondo.Runner{OnError: func(i rondo.TaskInfo, err error) { reported = append(reported, i.ID) }}
	var want []uint64
	var tasks []*rondo.Task
	err := r.Run(context.Background(), func(ctx context.Context) error {
		for range 300 {
			tasks = append(tasks, rondo.Go(ctx, func(context.Context) error { return errBroken }))
		}
		_ = rondo.Yield(ctx)
		for i, task := range tasks {
			if i%3 == 0 {
				want = append(want, task.ID())
			} else if err := tasks[len(tasks)-i].Err(); err != errBroken {
				t.Errorf("task %d ended with %v", i, err)
			}
		}
		return nil
	})
	runtime.KeepAlive(tasks)
	if err != nil || !slices.Equal(reported, want) {
		t.Errorf("Run returned %v; of tasks %v were reported, not of %v", err, reported, want)
	}
}

func TestDeadlockIsAnError(t *testing.T) {
	var a, b rondo.Mutex
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		lockBoth := func(first, second *rondo.Mutex) func(ctx context.Context) error {
			return func(ctx context.Context) error {
				if err := first.Lock(ctx); err != nil {
					return err
				}
				defer first.Unlock()
				if err := rondo.Yield(ctx); err != nil {
					return err
				}
				if err := second.Lock(ctx); err != nil {
					return err
				}
				second.Unlock()
				return nil
			}
		}
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(lockBoth(&a, &b)).SetName("left")
			g.Go(lockBoth(&b, &a)).SetName("right")
			return nil
		})
	})
	if !errors.Is(err, rondo.ErrDeadlock) {
		t.Fatalf("Run returned %v", err)
	}
	for _, want := range []string{"left waits for lock held by right", "right waits for lock held by left", "main waits for group"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q:\n%v", want, err)
		}
	}
}

// TestDeadlockBehindShield: a Shield that waits for what never comes is part of
// the deadlock.
func TestDeadlockBehindShield(t *testing.T) {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		return rondo.Shield(ctx, forever)
	})
	if !errors.Is(err, rondo.ErrDeadlock) {
		t.Errorf("Run returned %v", err)
	}
}

// TestIdleIsNoDeadlock: a loop that something outside may still wake waits.
func TestIdleIsNoDeadlock(t *testing.T) {
	wake := make(chan func(), 1)
	go func() { (<-wake)() }()
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		f := rondo.NewFuture[int](ctx)
		wake <- func() { f.Set(1) }
		_, err := f.Wait(ctx)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	go func() { (<-wake)() }()
	err = rondo.Run(context.Background(), func(ctx context.Context) error {
		var e rondo.Event
		l := rondo.LoopOf(ctx)
		wake <- func() { _ = l.Post(e.Set) }
		return e.Wait(ctx)
	})
	if err != nil {
		t.Error(err)
	}
}

func TestErrorNobodyWaitedFor(t *testing.T) {
	var heard []string
	r := rondo.Runner{OnError: func(i rondo.TaskInfo, err error) { heard = append(heard, i.Name+": "+err.Error()) }}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		fail := func(context.Context) error { return errBroken }
		rondo.Go(ctx, fail).SetName("lost")
		waited := rondo.Go(ctx, fail)
		late := rondo.Go(ctx, fail)
		asked := rondo.Go(ctx, fail)
		if err := waited.Wait(ctx); err != errBroken {
			t.Errorf("Wait returned %v", err)
		}
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
		_, _ = late.Wait(ctx), asked.Err()
		rondo.Go(ctx, func(ctx context.Context) error { return forever(ctx) })
		return nil
	})
	if want := []string{"lost: broken"}; err != nil || !slices.Equal(heard, want) {
		t.Errorf("Run returned %v, OnError heard %q", err, heard)
	}
}

// TestErrorOfCollectedTask: what nobody can wait for any more is reported while
// the loop goes on.
func TestErrorOfCollectedTask(t *testing.T) {
	var heard rondo.Event
	r := rondo.Runner{OnError: func(rondo.TaskInfo, error) { heard.Set() }}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		rondo.Go(ctx, func(context.Context) error { return errBroken })
		for !heard.IsSet() {
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
			runtime.GC()
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestRunInsideTask(t *testing.T) {
	run(t, func(ctx context.Context) error {
		for name, inner := range map[string]context.Context{"its ctx": ctx, "another ctx": context.Background()} {
			err := rondo.Run(inner, func(context.Context) error { panic("ran") })
			if err == nil || !strings.Contains(err.Error(), "inside a task") {
				t.Errorf("with %s: %v", name, err)
			}
		}
		// On another goroutine it is another loop.
		_, err := rondo.Offload(ctx, func(context.Context) (int, error) {
			return 0, rondo.Run(context.Background(), func(ctx context.Context) error { return rondo.Yield(ctx) })
		})
		return err
	})
}

func TestRunnerIsReusable(t *testing.T) {
	r := rondo.Runner{Name: "again"}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 25 {
				err := r.Run(context.Background(), func(ctx context.Context) error {
					if name := rondo.LoopOf(ctx).Name(); name != "again" {
						return fmt.Errorf("the loop's name is %q", name)
					}
					return rondo.Sleep(ctx, time.Microsecond)
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// TestLockThread runs tasks, nested coroutines and Offload on a locked thread.
func TestLockThread(t *testing.T) {
	before := runtime.NumGoroutine()
	r := rondo.Runner{LockThread: true}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			for i := range 20 {
				g.Go(func(ctx context.Context) error {
					next, stop := iter.Pull(func(yield func(error) bool) {
						yield(rondo.Sleep(ctx, time.Duration(i)*time.Microsecond))
					})
					defer stop()
					if err, _ := next(); err != nil {
						return err
					}
					_, err := rondo.Offload(ctx, func(context.Context) (int, error) { return 1, nil })
					return err
				})
			}
			return nil
		})
	})
	if err != nil {
		t.Error(err)
	}
	if left := leak.Settle(before); left > before {
		t.Errorf("%d goroutines were left", left-before)
	}
}

// TestNestedCoroutinesSuspend: coroutines made by iter.Pull in a task may wait,
// at any depth, and the whole nest stays where it is meanwhile.
func TestNestedCoroutinesSuspend(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		var count func(ctx context.Context, depth int) iter.Seq[int]
		count = func(ctx context.Context, depth int) iter.Seq[int] {
			return func(yield func(int) bool) {
				if depth == 0 {
					for i := range 3 {
						if rondo.Sleep(ctx, time.Second) != nil || !yield(i) {
							return
						}
					}
					return
				}
				next, stop := iter.Pull(count(ctx, depth-1))
				defer stop()
				for v, ok := next(); ok && yield(v); v, ok = next() {
				}
			}
		}
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			for depth := range 4 {
				g.Go(func(ctx context.Context) error {
					next, stop := iter.Pull(count(ctx, depth))
					defer stop()
					for want := range 3 {
						if v, ok := next(); !ok || v != want {
							return fmt.Errorf("depth %d: got %d, %v, want %d", depth, v, ok, want)
						}
						if rondo.Current(ctx) == nil {
							return errors.New("no current task after a nested wait")
						}
						if err := rondo.Yield(ctx); err != nil {
							return err
						}
					}
					return nil
				})
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}
