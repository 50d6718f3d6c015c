package kerneltest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/sim"
)

// countdown gives n, n-1 ... 1 with a wait before each, and logs its clean-up,
// which waits as well.
func countdown(ctx context.Context, n int, log *[]string) iter.Seq[int] {
	return func(yield func(int) bool) {
		defer func() {
			_ = rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Second) })
			*log = append(*log, "cleaned")
		}()
		for i := n; i > 0; i-- {
			if err := rondo.Sleep(ctx, time.Second); err != nil {
				*log = append(*log, err.Error())
				return
			}
			if !yield(i) {
				return
			}
		}
	}
}

func TestPull(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		var log []string
		next, stop := rondo.Pull(ctx, countdown(ctx, 3, &log))
		start := rondo.Now(ctx)
		var got []int
		for v, ok := next(); ok; v, ok = next() {
			got = append(got, v)
		}
		if took := rondo.Now(ctx).Sub(start); took != 4*time.Second {
			t.Errorf("it took %v", took)
		}
		if !slices.Equal(got, []int{3, 2, 1}) || !slices.Equal(log, []string{"cleaned"}) {
			t.Errorf("got %v, log %q", got, log)
		}
		stop()
		stop()
		if v, ok := next(); v != 0 || ok {
			t.Errorf("next after the end = %v, %v", v, ok)
		}
	})
}

// TestPullAlone: a sequence that does not wait lets nothing else run, neither at
// its values nor at its end, and stop no more than next.
func TestPullAlone(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		shared := 0
		rondo.Go(ctx, func(ctx context.Context) error {
			shared++
			return nil
		})
		body := func(yield func(int) bool) {
			for i := range 3 {
				if !yield(i) {
					return
				}
			}
		}
		next, stop := rondo.Pull(ctx, body)
		sum := 0
		for v, ok := next(); ok; v, ok = next() {
			sum += v
		}
		stop()
		next, stop = rondo.Pull(ctx, body)
		next()
		stop()
		if shared != 0 || sum != 3 {
			t.Errorf("sum %d; another task had its turn %d times", sum, shared)
		}
	})
}

// TestPullUnstarted: without a next nothing runs, and nothing is made.
func TestPullUnstarted(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		ran := false
		seq := func(func(int) bool) { ran = true }
		before := len(rondo.Tasks(ctx))
		next, stop := rondo.Pull(ctx, seq)
		_, _ = rondo.Pull(ctx, seq)
		if n := len(rondo.Tasks(ctx)); n != before {
			t.Errorf("%d tasks, before there were %d", n, before)
		}
		stop()
		if _, ok := next(); ok || ran {
			t.Errorf("a Pull that was stopped before its start gave %v; its body ran: %v", ok, ran)
		}
		var late func() (int, bool)
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			late, _ = rondo.Pull(g, seq)
			return nil
		})
		if _, ok := late(); ok || ran {
			t.Errorf("a Pull whose scope has ended gave %v; its body ran: %v", ok, ran)
		}
	})
}

// TestPullStop: stop returns when clean-up that waits has run, without a Shield,
// and the ctx is not cancelled for it.
func TestPullStop(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		cleaned := 0
		next, stop := rondo.Pull(ctx, func(yield func(int) bool) {
			defer func() {
				if err := rondo.Sleep(ctx, time.Second); err != nil {
					t.Errorf("Sleep in the clean-up of a stop: %v", err)
				}
				cleaned++
			}()
			for yield(1) {
			}
			if yield(2) {
				t.Error("yield gave true after stop")
			}
		})
		next()
		// Whoever stops as well waits for the same.
		begun := false
		other := rondo.Go(ctx, func(context.Context) error {
			begun = true
			stop()
			if cleaned != 1 {
				t.Errorf("the second stop returned, clean-up has run %d times", cleaned)
			}
			return nil
		})
		if err := rondo.Yield(ctx); err != nil {
			t.Error(err)
		}
		if _, ok := next(); ok == begun {
			t.Errorf("next = %v; stop was called: %v", ok, begun)
		}
		stop()
		if cleaned != 1 {
			t.Errorf("clean-up has run %d times when stop returns", cleaned)
		}
		_ = other.Wait(ctx)
	})
}

// An ending is a way in which a Pull that was left half-way comes to its end.
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
		if err != context.DeadlineExceeded {
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

// TestPullEnds: in every order, however a scope ends, its Pulls have been cleaned
// up by then, all at once, in a ctx that is cancelled, and give no more values.
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
							// A scope of the body's own ends with the one around it.
							_ = rondo.Timeout(ctx, 24*time.Hour, func(ctx context.Context) error {
								yield(1)
								return rondo.Sleep(ctx, time.Hour+7*time.Second)
							})
						})
						if v, ok := next(); v != 1 || !ok {
							t.Errorf("next = %v, %v", v, ok)
						}
						nexts = append(nexts, next)
					}
				}
				start := rondo.Now(ctx)
				if err := end(ctx, pull); err != nil {
					t.Errorf("error: %v", err)
				}
				if took := rondo.Now(ctx).Sub(start) % time.Minute; took != time.Second {
					t.Errorf("the clean-ups took %v", took)
				}
				if !slices.Equal(log, []string{"cleaned <nil>", "cleaned <nil>"}) {
					t.Errorf("log %q", log)
				}
				for _, next := range nexts {
					if v, ok := next(); v != 0 || ok {
						t.Errorf("next after the end = %v, %v", v, ok)
					}
				}
				if n := len(rondo.Tasks(ctx)); n != 1 {
					t.Errorf("%d tasks are left", n)
				}
			})
		})
	}
}

// TestPullEndsWithLoop: what main leaves is cleaned up before Run returns, also
// if main fails, panics or leaves by Goexit.
func TestPullEndsWithLoop(t *testing.T) {
	boom := errors.New("boom")
	for name, end := range map[string]func() error{
		"returns": func() error { return nil },
		"fails":   func() error { return boom },
		"panics":  func() error { panic(boom) },
		"exits":   func() error { runtime.Goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			var log []string
			var kept func() (int, bool)
			var keptStop func()
			done := make(chan any)
			go func() {
				defer func() { done <- recover() }()
				err := rondo.Run(context.Background(), func(ctx context.Context) error {
					kept, keptStop = rondo.Pull(ctx, func(yield func(int) bool) {
						defer func() {
							err := rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Millisecond) })
							log = append(log, fmt.Sprint("cleaned ", err))
						}()
						yield(1)
					})
					kept()
					return end()
				})
				if name == "fails" != (err != nil) {
					t.Errorf("Run: %v", err)
				}
			}()
			<-done
			if !slices.Equal(log, []string{"cleaned <nil>"}) {
				t.Errorf("log %q", log)
			}
			if _, ok := kept(); ok {
				t.Error("a value after the end of the loop")
			}
			keptStop()
			if left := leak.Settle(before); left > before {
				t.Errorf("%d goroutines before, %d after", before, left)
			}
		})
	}
}

// TestPullByTurns: a scope goes on while other tasks of it do, and a
// Pull in it can be used by each in turn.
func TestPullByTurns(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		var log []string
		sum, got := 0, 0
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			next, _ := rondo.Pull(g, countdown(g, 9, &log))
			var turn rondo.Mutex
			for range 2 {
				g.Go(func(ctx context.Context) error {
					for range 2 {
						if err := turn.Lock(ctx); err != nil {
							return err
						}
						v, ok := next()
						turn.Unlock()
						if !ok {
							t.Error("the Pull ended before the tasks that use it")
						}
						sum, got = sum+v, got+1
					}
					return nil
				})
			}
			return nil
		})
		if err != nil || got != 4 || sum != 9+8+7+6 || !slices.Equal(log, []string{"cleaned"}) {
			t.Errorf("%v; %d values, sum %d; log %q", err, got, sum, log)
		}
	})
}

// TestPullGarbage: one that nobody can call any more is cleaned up while the loop
// goes on, in a ctx that is not cancelled.
func TestPullGarbage(t *testing.T) {
	run(t, func(ctx context.Context) error {
		var cleaned rondo.Event
		tasks := len(rondo.Tasks(ctx))
		func() {
			next, _ := rondo.Pull(ctx, func(yield func(int) bool) {
				defer func() {
					if err := rondo.Sleep(ctx, time.Millisecond); err != nil {
						t.Errorf("Sleep in the clean-up: %v", err)
					}
					cleaned.Set()
				}()
				for yield(1) {
				}
			})
			next()
		}()
		for !cleaned.IsSet() {
			runtime.GC()
			if err := rondo.Sleep(ctx, time.Millisecond); err != nil {
				return err
			}
		}
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
		if n := len(rondo.Tasks(ctx)); n != tasks {
			t.Errorf("%d tasks, before there were %d", n, tasks)
		}
		return nil
	})
}

// TestPullInUseIsNoGarbage: whoever waits in next has hold of it.
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
			t.Errorf("next = %v, %v", v, ok)
		}
		return nil
	})
}

// TestPullYieldInShield: what a sequence guards with a Shield goes on to its end
// also if the Pull is ended in the midst of it.
func TestPullYieldInShield(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		var err error
		guarded := false
		_ = rondo.Go(ctx, func(ctx context.Context) error {
			next, _ := rondo.Pull(ctx, func(yield func(int) bool) {
				err = rondo.Shield(ctx, func(ctx context.Context) error {
					yield(1)
					guarded = true
					return rondo.Sleep(ctx, time.Second)
				})
			})
			next()
			return nil
		}).Wait(ctx)
		if !guarded || err != nil {
			t.Errorf("guarded: %v; Shield returned %v", guarded, err)
		}
	})
}

// TestPullPanic: a panic of the body comes out of the next or stop that waits, in
// the caller, with the body's stack.
func TestPullPanic(t *testing.T) {
	boom := errors.New("boom")
	body := func(ctx context.Context) iter.Seq[int] {
		return func(yield func(int) bool) {
			defer panicInBody(boom)
			_ = rondo.Sleep(ctx, time.Millisecond)
			yield(1)
		}
	}
	caught := func(fn func()) (e *rondo.PanicError) {
		defer func() { e, _ = recover().(*rondo.PanicError) }()
		fn()
		return nil
	}
	sim.Explore(t, func(ctx context.Context) {
		next, stop := rondo.Pull(ctx, body(ctx))
		next()
		next2, stop2 := rondo.Pull(ctx, body(ctx))
		next2()
		for _, e := range []*rondo.PanicError{caught(func() { next() }), caught(stop2)} {
			if e == nil || e.Value != boom || !errors.Is(e, boom) || !strings.Contains(string(e.Stack), "panicInBody") {
				t.Errorf("got %v", e)
			}
		}
		stop()
		if _, ok := next2(); ok {
			t.Error("a value after a panic")
		}
	})
	// In the scope's end nobody waits: it is a panic of a task.
	runner := rondo.Runner{Recover: true}
	err := runner.Run(t.Context(), func(ctx context.Context) error {
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			for range 2 {
				next, _ := rondo.Pull(g, body(g))
				next()
			}
			return nil
		})
		if n := strings.Count(fmt.Sprint(err), "rondo: panic in task-"); n != 2 || !errors.Is(err, boom) {
			t.Errorf("the Group returned %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	defer func() {
		if e, _ := recover().(*rondo.PanicError); e == nil || e.Value != boom {
			t.Errorf("Run panicked with %v", e)
		}
	}()
	_ = rondo.Run(t.Context(), func(ctx context.Context) error {
		next, _ := rondo.Pull(ctx, body(ctx))
		next()
		return nil
	})
	t.Error("Run returned")
}

func panicInBody(v any) { panic(v) }

// TestPullGoexit: so does a Goexit, and like any in a task it ends Run's
// goroutine the same way.
func TestPullGoexit(t *testing.T) {
	for _, left := range []bool{false, true} {
		before := runtime.NumGoroutine()
		ended, after := make(chan string), false
		go func() {
			how := "Goexit"
			defer func() {
				if v := recover(); v != nil {
					how = fmt.Sprint(v)
				}
				ended <- how
			}()
			err := rondo.Run(context.Background(), func(ctx context.Context) error {
				next, _ := rondo.Pull(ctx, func(yield func(int) bool) {
					defer runtime.Goexit()
					_ = rondo.Yield(ctx)
					yield(1)
				})
				next()
				if left {
					return nil
				}
				next()
				after = true
				return nil
			})
			how = fmt.Sprint(err)
		}()
		if how := <-ended; how != "Goexit" || after {
			t.Errorf("left: %v: Run ended by %s; next returned: %v", left, how, after)
		}
		if n := leak.Settle(before); n > before {
			t.Errorf("%d goroutines before, %d after", before, n)
		}
	}
}

// TestPullMisuse: each has a sentence.
func TestPullMisuse(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		var next func() (int, bool)
		var stop func()
		var kept func(int) bool
		check := func(want string, fn func()) {
			t.Helper()
			if got := panicOf(fn); !strings.HasPrefix(got, "rondo: "+want) {
				t.Errorf("panic %q, want %q", got, want)
			}
		}
		next, stop = rondo.Pull(ctx, func(yield func(int) bool) {
			kept = yield
			check("next of a Pull inside its own sequence", func() { next() })
			check("stop of a Pull inside its own sequence", func() { stop() })
			_ = rondo.Sleep(ctx, time.Second)
			yield(1)
		})
		other := rondo.Go(ctx, func(ctx context.Context) error {
			_ = rondo.Sleep(ctx, time.Millisecond)
			check("next of a Pull while another task is in its next", func() { next() })
			check("stop of a Pull while another task is in its next", func() { stop() })
			check("yield of a Pull called outside its sequence", func() { kept(2) })
			return nil
		})
		if v, ok := next(); v != 1 || !ok {
			t.Errorf("next = %v, %v", v, ok)
		}
		_ = other.Wait(ctx)
		check("yield of a Pull called outside its sequence", func() { kept(2) })
		var called rondo.Event
		rondo.LoopOf(ctx).CallSoon(func() {
			check("next of a Pull in a callback: callbacks must not wait", func() { next() })
			check("stop of a Pull in a callback: callbacks must not wait", func() { stop() })
			called.Set()
		})
		_ = called.Wait(ctx)
		done := make(chan bool)
		go func() {
			defer close(done)
			check("next of a Pull from a goroutine that is not a task", func() { next() })
			check("yield of a Pull called outside its sequence", func() { kept(2) })
		}()
		<-done
		stop()
		check("yield of a Pull called outside its sequence", func() { kept(2) })
		check("Pull of a nil sequence", func() { rondo.Pull[int](ctx, nil) })
		check("Pull with a ctx that does not come from Run", func() { rondo.Pull(context.Background(), slices.Values([]int{1})) })
	})
}

// TestPullScopesAreItsOwn: a scope that the body is in when it yields does not
// reach the caller, and the caller's does not cut short the body.
func TestPullScopesAreItsOwn(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		next, stop := rondo.Pull(ctx, func(yield func(error) bool) {
			yield(rondo.Timeout(ctx, time.Second, func(ctx context.Context) error {
				yield(nil)
				return rondo.Sleep(ctx, time.Hour)
			}))
			yield(rondo.Sleep(ctx, time.Hour))
		})
		next()
		if err := rondo.Sleep(ctx, time.Minute); err != nil {
			t.Errorf("the body's Timeout reached the caller: %v", err)
		}
		if err, _ := next(); err != context.DeadlineExceeded {
			t.Errorf("the body's Timeout gave %v", err)
		}
		err := rondo.Timeout(ctx, time.Second, func(ctx context.Context) error {
			if err, ok := next(); err != nil || !ok {
				t.Errorf("the caller's Timeout reached the body: %v, %v", err, ok)
			}
			return rondo.Check(ctx)
		})
		if err != context.DeadlineExceeded {
			t.Errorf("the caller's Timeout gave %v", err)
		}
		stop()
	})
}

// TestPullClosedInUse: the scope ends while a task outside it waits in next. The
// body's waits fail, what it yields then is dropped, and next gives false.
func TestPullClosedInUse(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		var made rondo.Event
		var next func() (int, bool)
		var task *rondo.Task
		cleaned := false
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			next, _ = rondo.Pull(g, func(yield func(int) bool) {
				defer func() { cleaned = true }()
				yield(1)
				if err := rondo.Sleep(g, time.Hour); err == nil {
					t.Error("the body was not cancelled")
				}
				yield(2)
			})
			next()
			task = rondo.Go(ctx, func(ctx context.Context) error {
				made.Set()
				if v, ok := next(); v != 0 || ok {
					t.Errorf("next = %v, %v", v, ok)
				}
				return nil
			})
			return made.Wait(g)
		})
		if !cleaned {
			t.Error("the Group returned before its Pull had ended")
		}
		_ = task.Wait(ctx)
	})
}

// TestPullNested: pulls of pulls; a stop goes through to the innermost.
func TestPullNested(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		var log []string
		double := func(in iter.Seq[int]) iter.Seq[int] {
			return func(yield func(int) bool) {
				next, stop := rondo.Pull(ctx, in)
				defer stop()
				for v, ok := next(); ok && yield(2*v); v, ok = next() {
				}
			}
		}
		next, stop := rondo.Pull(ctx, double(double(countdown(ctx, 5, &log))))
		v, _ := next()
		w, _ := next()
		stop()
		if v != 20 || w != 16 || !slices.Equal(log, []string{"cleaned"}) {
			t.Errorf("values %d and %d, log %q", v, w, log)
		}
	})
}

// TestPullBreak: to range over a sequence that waits needs no Pull. The deferred
// calls of the body have run, waits included, before the next statement.
func TestPullBreak(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		var log []string
		for range countdown(ctx, 5, &log) {
			break
		}
		log = append(log, "after the loop")
		if !slices.Equal(log, []string{"cleaned", "after the loop"}) {
			t.Errorf("log %q", log)
		}
	})
}

// TestPullDeadlock: a Pull that waits for what never comes is named, and its
// clean-up runs.
func TestPullDeadlock(t *testing.T) {
	before := runtime.NumGoroutine()
	cleaned := false
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		next, stop := rondo.Pull(ctx, func(yield func(int) bool) {
			defer func() { cleaned = true }()
			var never rondo.Event
			yield(1)
			if err := never.Wait(ctx); err == nil {
				t.Error("the wait came to an end")
			}
		})
		defer stop()
		next()
		_, ok := next()
		if ok {
			t.Error("a value out of nowhere")
		}
		return nil
	})
	if !errors.Is(err, rondo.ErrDeadlock) || !strings.Contains(err.Error(), "main waits for next 2") || !cleaned {
		t.Errorf("Run: %v; cleaned: %v", err, cleaned)
	}
	if n := leak.Settle(before); n > before {
		t.Errorf("%d goroutines before, %d after", before, n)
	}
}

// TestPullNoAllocations: a next takes nothing from the heap.
func TestPullNoAllocations(t *testing.T) {
	run(t, func(ctx context.Context) error {
		next, stop := rondo.Pull(ctx, func(yield func(int) bool) {
			for yield(1) {
			}
		})
		defer stop()
		next()
		if n := testing.AllocsPerRun(1000, func() { next() }); n != 0 {
			t.Errorf("%v allocations", n)
		}
		return nil
	})
}

// TestPullAllowance: if reads of the body or of its caller succeed at once for
// ever, others have their turn in spite of it.
func TestPullAllowance(t *testing.T) {
	spend := func(ctx context.Context) { kernel.Of(ctx).Task().Spend(0) }
	nothing := func(context.Context) {}
	for _, who := range []struct{ body, caller func(ctx context.Context) }{{spend, nothing}, {nothing, spend}, {spend, spend}} {
		sim.Test(t, func(ctx context.Context) {
			turns := 0
			rondo.Go(ctx, func(ctx context.Context) error {
				for ctx.Err() == nil {
					turns++
					if err := rondo.Yield(ctx); err != nil {
						return err
					}
				}
				return nil
			})
			next, stop := rondo.Pull(ctx, func(yield func(int) bool) {
				for yield(1) {
					who.body(ctx)
				}
			})
			defer stop()
			for range 160 {
				next()
				who.caller(ctx)
			}
			if turns < 3 {
				t.Errorf("another task had %d turns", turns)
			}
		})
	}
}

func BenchmarkPull(b *testing.B) {
	numbers := func(yield func(int) bool) {
		for i := 0; yield(i); i++ {
		}
	}
	b.Run("rondo.Pull", func(b *testing.B) {
		b.ReportAllocs()
		_ = rondo.Run(b.Context(), func(ctx context.Context) error {
			next, stop := rondo.Pull(ctx, numbers)
			defer stop()
			for b.Loop() {
				next()
			}
			return nil
		})
	})
	b.Run("iter.Pull", func(b *testing.B) {
		b.ReportAllocs()
		next, stop := iter.Pull(numbers)
		defer stop()
		for b.Loop() {
			next()
		}
	})
}

// TestPullEndsWithItsTaskInMidWait: what a sequence waits for with the ctx of a task
// is ended with that task, also if another task is in next for it.
func TestPullEndsWithItsTaskInMidWait(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
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
				// One that is no Pull's goes on, as it would without any.
				rondo.Go(ctx, func(context.Context) error { return rondo.Sleep(ctx, 2*time.Second) })
				return rondo.Sleep(ctx, time.Second)
			})
			other := rondo.Go(ctx, func(ctx context.Context) error {
				_ = rondo.Sleep(ctx, time.Second/2)
				if v, ok := next(); ok {
					t.Errorf("wait %d: next gave %v", i, v)
				}
				return nil
			})
			if err := errors.Join(maker.Wait(ctx), other.Wait(ctx)); err != nil || !errors.Is(ended, context.Canceled) {
				t.Errorf("wait %d: the tasks returned %v, the wait %v", i, err, ended)
			}
		}
	})
}
