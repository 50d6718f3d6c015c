package sim_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// both runs a body that must fail with Test and with Explore. Each report must
// contain all of want.
func both(t *testing.T, body func(t *tester, ctx context.Context), want ...string) {
	t.Helper()
	for _, run := range []func(testing.TB, func(ctx context.Context)){sim.Test, sim.Explore} {
		text := failing(t, func(t *tester) {
			run(t, func(ctx context.Context) { body(t, ctx) })
		})
		contains(t, text, append(want, "replay: RONDO_SEED=")...)
	}
}

func TestErrorInBody(t *testing.T) {
	both(t, func(t *tester, ctx context.Context) {
		_ = rondo.Sleep(ctx, 90*time.Second)
		t.Error("so it is")
	}, "so it is", "the test failed", "after 1m30s of virtual time, step 1")
}

func TestFatalInBody(t *testing.T) {
	both(t, func(t *tester, ctx context.Context) { t.Fatal("so it is") }, "so it is", "the test failed")
}

func TestFatalInTask(t *testing.T) {
	both(t, func(t *tester, ctx context.Context) {
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error {
				t.Fatal("so it is")
				return nil
			})
			return nil
		})
	}, "so it is", "the test failed")
}

func TestGoexit(t *testing.T) {
	both(t, func(t *tester, ctx context.Context) { runtime.Goexit() }, "runtime.Goexit was called")
}

func TestPanic(t *testing.T) {
	both(t, func(t *tester, ctx context.Context) {
		rondo.Go(ctx, func(ctx context.Context) error { panic("so it is") }).SetName("culprit")
		_ = rondo.Yield(ctx)
	}, "panic in culprit: so it is", "failure_test.go")
}

func TestUnobservedError(t *testing.T) {
	both(t, func(t *tester, ctx context.Context) {
		rondo.Go(ctx, func(ctx context.Context) error { return errors.New("so it is") }).SetName("culprit")
		_ = rondo.Yield(ctx)
	}, "culprit failed and nobody waited for it: so it is")
}

func TestDeadlock(t *testing.T) {
	dead := func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			var a, b rondo.Mutex
			pair := func(first, second *rondo.Mutex) func(ctx context.Context) error {
				return func(ctx context.Context) error {
					if err := first.Lock(ctx); err != nil {
						return err
					}
					defer first.Unlock()
					if err := rondo.Sleep(ctx, time.Second); err != nil {
						return err
					}
					if err := second.Lock(ctx); err != nil {
						return err
					}
					second.Unlock()
					return nil
				}
			}
			g.Go(pair(&a, &b)).SetName("ada")
			g.Go(pair(&b, &a)).SetName("bob")
			return nil
		})
	}
	want := []string{
		"rondo: deadlock", "main waits for ", "ada waits for lock held by bob", "bob waits for lock held by ada",
		"after 1s of virtual time",
	}
	both(t, func(t *tester, ctx context.Context) { _ = dead(ctx) }, want...)
	// The cancellation that ends a deadlock must not hide it.
	both(t, func(t *tester, ctx context.Context) {
		if dead(ctx) != nil {
			t.FailNow()
		}
	}, want...)
}

func TestSkipInBody(t *testing.T) {
	tried, returned := try(func(t *tester) {
		sim.Test(t, func(ctx context.Context) { t.SkipNow() })
	})
	if !tried.Skipped() || tried.Failed() || returned {
		t.Error(tried.Text())
	}
}

// TestFailedBefore: a test that has failed already still runs its simulations, and
// they can fail it themselves.
func TestFailedBefore(t *testing.T) {
	runs := 0
	tried, returned := try(func(t *tester) {
		t.Error("before")
		sim.Test(t, func(ctx context.Context) { runs++ })
	})
	if !returned || runs < 2 {
		t.Error(runs, tried.Text())
	}
	contains(t, failing(t, func(t *tester) {
		t.Error("before")
		sim.Test(t, func(ctx context.Context) { t.FailNow() })
	}), "the test failed")
}

func TestFirstFailureEndsTheTest(t *testing.T) {
	t.Setenv("RONDO_SEED", "3-9")
	runs := 0
	text := failing(t, func(t *tester) {
		sim.Test(t, func(ctx context.Context) {
			if runs++; runs == 5 { // seeds 3, 3, 4, 4, 5
				t.Error("so it is")
			}
		})
	})
	contains(t, text, "seed 5: the test failed", "RONDO_SEED=5 go test")
	if runs != 5 {
		t.Error(runs, "runs")
	}
}

func TestTasksLeftOver(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		rondo.Go(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) })
	})
}

// TestNondeterminism has bodies that depend on more than their seed.
func TestNondeterminism(t *testing.T) {
	m := map[time.Duration]bool{}
	for d := range time.Duration(16) {
		m[d+1] = true
	}
	real, runs := time.Now(), 0
	two := func(first, second func(ctx context.Context) error) func(ctx context.Context) {
		return func(ctx context.Context) {
			if runs++; runs%2 == 0 {
				first, second = second, first
			}
			_ = rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(first)
				g.Go(second)
				return nil
			})
		}
	}
	bodies := map[string]func(ctx context.Context){
		"the order of a map": func(ctx context.Context) {
			for range 50 { // once may be the same by chance
				for d := range m {
					_ = rondo.Sleep(ctx, d)
				}
			}
		},
		// These make the same choices at the same times.
		"which task sleeps longer": two(
			func(ctx context.Context) error { return rondo.Sleep(ctx, time.Second) },
			func(ctx context.Context) error { return rondo.Sleep(ctx, 2*time.Second) },
		),
		"which task has an error": two(
			func(ctx context.Context) error { return nil },
			func(ctx context.Context) error { return errors.New("so it is") },
		),
		"what a task waits for": func(ctx context.Context) {
			if runs++; runs%2 == 0 {
				_ = rondo.Sleep(ctx, time.Second)
			} else {
				var never rondo.Event
				_ = rondo.Timeout(ctx, time.Second, never.Wait)
			}
		},
		"time.Now": func(ctx context.Context) {
			// The clock of some systems stands for milliseconds.
			for now := time.Now(); time.Since(now) == 0; {
			}
			_ = rondo.Sleep(ctx, time.Since(real))
		},
		"math/rand": func(ctx context.Context) { _ = rondo.Sleep(ctx, 1+rand.N(time.Hour)) },
		"a variable": func(ctx context.Context) {
			if runs++; runs%2 == 1 {
				shuffle(ctx, 3)
			}
		},
		"a variable, later": func(ctx context.Context) {
			shuffle(ctx, 3)
			if runs++; runs%2 == 1 {
				shuffle(ctx, 3)
			}
		},
		"a variable, and more": func(ctx context.Context) {
			if runs++; runs%2 == 0 {
				shuffle(ctx, 3)
			}
		},
	}
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) {
			runs = 0
			text := failing(t, func(t *tester) { sim.Test(t, body) })
			contains(t, text, "seed 1 is not deterministic: at event ", "in the first run", "usual causes", "RONDO_SEED=1 ")
		})
	}
}

// TestUncompared: what goroutines bring comes in an order that no seed repeats, so from the second
// wait for a channel on two runs may differ.
func TestUncompared(t *testing.T) {
	runs := 0
	receive := func(ctx context.Context) {
		asked, ch := make(chan int), make(chan int)
		go func() { ch <- <-asked }()
		rondo.Go(ctx, func(context.Context) error { close(asked); return nil }) // when main waits
		if _, _, err := rondo.Receive(ctx, ch); err != nil {
			t.Error(err)
		}
	}
	sim.Config{Exact: true}.Test(t, func(ctx context.Context) {
		receive(ctx)
		receive(ctx)
		if runs++; runs%2 == 0 {
			shuffle(ctx, 3)
		}
	})
}

// TestNondeterminismNames: what differs is said with the names of the tasks of both runs.
func TestNondeterminismNames(t *testing.T) {
	names := []string{"ada", "bob"}
	text := failing(t, func(t *tester) {
		sim.Test(t, func(ctx context.Context) {
			slices.Reverse(names)
			_ = rondo.Group(ctx, func(g *rondo.Scope) error {
				for _, n := range names {
					g.Go(func(ctx context.Context) error {
						return rondo.Sleep(ctx, map[string]time.Duration{"ada": 1, "bob": 2}[n])
					}).SetName(n)
				}
				return nil
			})
		})
	})
	contains(t, text, "in the first run the wait of task-3, ada, ended after 1ns, but in the second the wait of task-2, ada, ended after 1ns")
}

// TestHashElsewhere: the hash of a run is the same in another process, on one processor,
// and when the tests run in another order.
func TestHashElsewhere(t *testing.T) {
	hash := regexp.MustCompile(`hash ([0-9a-f]{16})`)
	want := hash.FindString(runVictim(t, "hash", ""))
	if want == "" {
		t.Fatal("no hash")
	}
	for _, env := range []string{"GOMAXPROCS=1", "GOGC=1", "RONDO_SIM_VICTIM=again"} {
		if got := hash.FindString(runVictim(t, "hash", "", env)); got != want {
			t.Errorf("with %s %s, else %s", env, got, want)
		}
	}
}

// TestNondeterminismLater: not only the first seed is run twice.
func TestNondeterminismLater(t *testing.T) {
	t.Setenv("RONDO_SEED", "1-100")
	runs := 0
	text := failing(t, func(t *tester) {
		sim.Test(t, func(ctx context.Context) {
			if runs++; runs == 40 {
				_ = rondo.Yield(ctx)
			}
		})
	})
	contains(t, text, "seed 20 is not deterministic: at event ", "RONDO_SEED=20 ")
}

// TestNondeterminismOfChanges: the command repeats the changes of the seed too.
func TestNondeterminismOfChanges(t *testing.T) {
	t.Setenv("RONDO_SEED", "7+00a1")
	runs := 0
	text := failing(t, func(t *tester) {
		sim.Test(t, func(ctx context.Context) {
			if runs++; runs%2 == 0 {
				shuffle(ctx, 3)
			}
		})
	})
	contains(t, text, "seed 7 is not deterministic: at event ", "RONDO_SEED=7+00a1 ")
}

func TestNondeterminismInExplore(t *testing.T) {
	const after = "not deterministic: after the choices of an earlier run, "
	for _, c := range []struct {
		first, second int
		want          string
	}{
		{3, 4, after + "choice 1 is among 4 things"},
		{4, 3, after + "choice 1 is among 3 things"},
		{3, 1, after + "it ends with choice 0"},
	} {
		tasks := c.first
		text := failing(t, func(t *tester) {
			sim.Explore(t, func(ctx context.Context) {
				shuffle(ctx, tasks)
				tasks = c.second
			})
		})
		contains(t, text, c.want, "usual causes")
	}
}
