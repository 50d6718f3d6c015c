package sim_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/sim"
)

// TestStopsAtFirstFailure: what fails the test first ends the run, and the report says when that
// was and in which task. What it does after that is no failure of its own. With KeepGoing it ends
// as if nothing had been.
func TestStopsAtFirstFailure(t *testing.T) {
	later := false
	body := func(t *tester) func(ctx context.Context) {
		return func(ctx context.Context) {
			later = false
			rondo.Go(ctx, func(ctx context.Context) error {
				if err := rondo.Sleep(ctx, time.Minute); err != nil {
					return err
				}
				t.Error("so it is")
				return rondo.Yield(ctx)
			}).SetName("culprit")
			if err := rondo.Sleep(ctx, time.Hour); err != nil {
				sim.Always(ctx, false, "a consequence")
			}
			later = true
		}
	}
	for _, run := range []func(c sim.Config, t *tester){
		func(c sim.Config, t *tester) { c.Test(t, body(t)) },
		func(c sim.Config, t *tester) { c.Explore(t, body(t)) },
	} {
		text := failing(t, func(t *tester) { run(sim.Config{}, t) })
		contains(t, text, "so it is", "the test failed\n\tafter 1m0s of virtual time, ", ", in culprit\n")
		if later || strings.Contains(text, "a consequence") {
			t.Errorf("it went on for an hour, or has failed twice:\n%s", text)
		}
		text = failing(t, func(t *tester) { run(sim.Config{KeepGoing: true}, t) })
		if contains(t, text, "the test failed\n\tafter 1m0s of virtual time, ", ", in culprit\n"); !later {
			t.Error("with KeepGoing it does not come to its end")
		}
	}
}

// TestClusterStopsAtFirstFailure: the report names the host, too.
func TestClusterStopsAtFirstFailure(t *testing.T) {
	later := false
	run := func(c sim.Config) string {
		later = false
		return failing(t, func(t *tester) {
			c.Cluster(t, func(ctx context.Context, w *sim.World) {
				w.Host("a", func(ctx context.Context) error {
					rondo.Go(ctx, func(ctx context.Context) error {
						_ = rondo.Sleep(ctx, time.Minute)
						t.Error("so it is")
						return rondo.Yield(ctx)
					}).SetName("culprit")
					return rondo.Sleep(ctx, 30*time.Minute)
				})
				if rondo.Sleep(ctx, time.Hour) == nil {
					later = true
				}
			})
		})
	}
	const want = "the test failed\n\tafter 1m0s of virtual time, "
	if contains(t, run(sim.Config{Exact: true}), want, ", in culprit of a\n"); later {
		t.Error("it went on for an hour")
	}
	if contains(t, run(sim.Config{Exact: true, KeepGoing: true}), want, ", in culprit of a\n"); !later {
		t.Error("with KeepGoing it does not come to its end")
	}
}

// TestFailureWithinAStep: the report names what has failed the test and when, also if other hosts
// run before the step of the task has ended, or if it was no task.
func TestFailureWithinAStep(t *testing.T) {
	for _, row := range []struct {
		name string
		step func(t *tester, ctx context.Context, wake func())
		want string
	}{
		{"on a slow disk", func(t *tester, ctx context.Context, _ func()) {
			sim.HostOf(ctx).Disk().SetFaults(sim.DiskFaults{Slow: time.Second})
			f, err := sim.Disk(ctx).OpenFile("x", os.O_RDWR|os.O_CREATE, 0o600)
			t.Error(err)
			_ = f.Sync()
		}, "culprit of a"},
		{"with many operations", func(t *tester, ctx context.Context, wake func()) {
			t.Error("so it is")
			wake()
			var lock rondo.Mutex
			for range 50 {
				if lock.Lock(ctx) == nil {
					lock.Unlock()
				}
			}
		}, "culprit of a"},
		{"after what other loops see", func(t *tester, ctx context.Context, _ func()) {
			driver.HostOf(kernel.Of(ctx).Driver()).Step()
			t.Error("so it is")
			_ = rondo.Yield(ctx)
		}, "culprit of a"},
		{"in an invariant", nil, "an invariant"},
	} {
		for seed := range 20 {
			text := failing(t, func(t *tester) {
				c := sim.Config{Seeds: seed + 1, SeedsShort: seed + 1, Once: true}
				at := 0
				c.Cluster(t, func(ctx context.Context, w *sim.World) {
					if at++; at <= seed {
						return
					}
					var wake func()
					w.Host("a", func(ctx context.Context) error {
						if row.step == nil {
							return rondo.WaitCanceled(ctx)
						}
						rondo.Go(ctx, func(ctx context.Context) error {
							_ = rondo.Sleep(ctx, time.Minute)
							row.step(t, ctx, func() { wake() })
							return rondo.Yield(ctx)
						}).SetName("culprit")
						for {
							if err := rondo.Sleep(ctx, time.Second); err != nil {
								return err
							}
						}
					})
					w.Host("b", func(ctx context.Context) error {
						for {
							f := rondo.NewFuture[int](ctx)
							wake = func() { f.Set(1) }
							err := rondo.Timeout(ctx, 100*time.Millisecond, func(ctx context.Context) error {
								_, err := f.Wait(ctx)
								return err
							})
							if ctx.Err() != nil {
								return err
							}
						}
					})
					if row.step == nil {
						start := rondo.Now(ctx)
						w.Invariant("none", func() error {
							if rondo.Now(ctx).Sub(start) >= time.Minute {
								t.Error("so it is")
							}
							return nil
						})
					}
					_ = rondo.Sleep(ctx, time.Hour)
				})
			})
			if !strings.Contains(text, ", in "+row.want+"\n") {
				t.Errorf("%s, seed %d: want it to be in %s:\n%s", row.name, seed+1, row.want, text)
				break
			}
		}
	}
}

// TestPanicAfterFailure: a panic in the step that has failed the test is reported.
func TestPanicAfterFailure(t *testing.T) {
	both(t, func(t *tester, ctx context.Context) {
		t.Error("so it is")
		panic("and so")
	}, "so it is", "panic in main: and so")
}

// TestKilledProgramFailsTest: the report names the program that fails the test in a deferred call
// after it was killed, also if that is the last that it does, and no other one that runs.
func TestKilledProgramFailsTest(t *testing.T) {
	for at, end := range map[string]func(h *sim.Host){"1m0s": (*sim.Host).Crash, "2m0s": func(*sim.Host) {}} {
		for _, last := range []bool{true, false} {
			text := failing(t, func(t *tester) {
				sim.Config{Exact: true}.Cluster(t, func(ctx context.Context, w *sim.World) {
					h := w.Host("culprit", func(ctx context.Context) error {
						_ = rondo.WaitCanceled(ctx)
						if t.Error("so it is"); last {
							return nil
						}
						return rondo.Shield(ctx, rondo.Yield)
					})
					w.Host("other", func(ctx context.Context) error {
						for rondo.Sleep(ctx, time.Second) == nil {
						}
						return nil
					})
					_ = rondo.Sleep(ctx, time.Minute)
					end(h)
					_ = rondo.Sleep(ctx, time.Minute)
				})
			})
			contains(t, text, "so it is", "the test failed\n\tafter "+at+" of virtual time, ", ", in main of culprit\n")
		}
	}
}

// TestGoroutineFailsTest: a goroutine that a task has started fails the test, and the report names
// the task, because nothing else has run and no time has passed since.
func TestGoroutineFailsTest(t *testing.T) {
	text := runVictim(t, "goroutine fails", "1")
	contains(t, text, "so it is", "the test failed", "after 1m0s of virtual time, ", ", in main of culprit\n")
}

// TestFailsBeforeStep: a task that fails the test and then does something to what several loops
// share, before which another host may run, is the one that the report names.
func TestFailsBeforeStep(t *testing.T) {
	for seed := range 10 {
		t.Setenv("RONDO_SEED", fmt.Sprint(seed+1))
		text := failing(t, func(t *tester) {
			sim.Config{Exact: true}.Cluster(t, func(ctx context.Context, w *sim.World) {
				failed := false
				w.Host("other", func(ctx context.Context) error {
					for !failed {
						_ = rondo.Yield(ctx)
					}
					return nil
				})
				w.Host("culprit", func(ctx context.Context) error {
					t.Error("so it is")
					for range 100 {
						driver.HostOf(kernel.Of(ctx).Driver()).Step()
					}
					failed = true
					return nil
				})
				_ = rondo.Sleep(ctx, time.Second)
			})
		})
		contains(t, text, "the test failed\n\tafter 0s of virtual time, ", ", in main of culprit\n")
	}
}
