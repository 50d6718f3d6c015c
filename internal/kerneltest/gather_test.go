package kerneltest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

func TestSettle(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		start := rondo.Now(ctx)
		got := rondo.Settle(ctx, after(3*time.Second, "slow", nil), after(time.Second, "", errBroken), after(2*time.Second, "half", errBroken))
		want := []rondo.Result[string]{{Value: "slow"}, {Err: errBroken}, {Value: "half", Err: errBroken}}
		if !slices.Equal(got, want) || rondo.Now(ctx).Sub(start) != 3*time.Second {
			t.Errorf("Settle returned %v after %v", got, rondo.Now(ctx).Sub(start))
		}
		if got := rondo.Settle[int](ctx); got == nil || len(got) != 0 {
			t.Errorf("Settle of nothing returned %v", got)
		}
		// A function that is cancelled has the cause, or keeps what it returns in spite
		// of it.
		var results []rondo.Result[string]
		err := rondo.Timeout(ctx, 2*time.Second, func(ctx context.Context) error {
			results = rondo.Settle(ctx, after(time.Second, "in time", nil), after(time.Minute, "", nil),
				func(ctx context.Context) (string, error) { _ = forever(ctx); return "kept", nil })
			return nil
		})
		want = []rondo.Result[string]{{Value: "in time"}, {Err: err}, {Value: "kept"}}
		if !errors.Is(err, context.DeadlineExceeded) || !slices.Equal(results, want) {
			t.Errorf("a Settle that was cancelled returned %v, Timeout %v", results, err)
		}
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Cancel(errBroken)
			got := rondo.Settle(g, func(context.Context) (int, error) { panic("ran") }, func(context.Context) (int, error) { panic("ran") })
			if want := (rondo.Result[int]{Err: errBroken}); len(got) != 2 || got[0] != want || got[1] != want {
				t.Errorf("Settle in a cancelled scope returned %v", got)
			}
			return nil
		})
	})
	if got := rondo.Settle(context.Background(), after(1, 1, nil)); !errors.Is(got[0].Err, rondo.ErrNoLoop) {
		t.Errorf("Settle without a loop returned %v", got)
	}
}

// TestPanicsOfManyFunctions: with Recover, Settle returns the panic of a function
// as its outcome, and Gather and Race fail with it. Without Recover it ends the
// loop.
func TestPanicsOfManyFunctions(t *testing.T) {
	oops := func(context.Context) (int, error) { panic("oops") }
	isOops := func(err error) bool {
		var p *rondo.PanicError
		return errors.As(err, &p) && p.Value == "oops" && strings.Contains(string(p.Stack), "TestPanicsOfManyFunctions")
	}
	err := (&rondo.Runner{Recover: true}).Run(t.Context(), func(ctx context.Context) error {
		got := rondo.Settle(ctx, after(time.Millisecond, 1, nil), oops, after(time.Millisecond, 2, errBroken))
		if got[0].Value != 1 || got[0].Err != nil || !isOops(got[1].Err) || got[2].Err != errBroken {
			t.Errorf("Settle returned %v", got)
		}
		if _, err := rondo.Gather(ctx, after(time.Hour, 1, nil), oops); !isOops(err) {
			t.Errorf("Gather returned %v", err)
		}
		if _, err := rondo.Race(ctx, after(time.Hour, 1, nil), oops); !isOops(err) {
			t.Errorf("Race returned %v", err)
		}
		_, err := rondo.Race(ctx, after(time.Millisecond, 1, nil), func(ctx context.Context) (int, error) {
			_ = forever(ctx)
			return oops(ctx)
		})
		if !isOops(err) {
			t.Errorf("Race with a loser that panics returned %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	ended := 0
	defer func() {
		if p, ok := recover().(*rondo.PanicError); !ok || !isOops(p) || ended != 1 {
			t.Errorf("Run panicked with %v; %d other tasks ended", p, ended)
		}
	}()
	_ = rondo.Run(t.Context(), func(ctx context.Context) error {
		rondo.Settle(ctx, oops, func(ctx context.Context) (int, error) { defer func() { ended++ }(); return 0, forever(ctx) })
		return nil
	})
}

func TestRace(t *testing.T) {
	exact.Test(t, func(ctx context.Context) {
		start := rondo.Now(ctx)
		ended := false
		v, err := rondo.Race(ctx, after(time.Second, "", errBroken), after(3*time.Second, "third", nil), after(2*time.Second, "second", nil),
			func(ctx context.Context) (string, error) {
				err := forever(ctx)
				_ = rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, 10*time.Second) })
				ended = true
				return "", err
			})
		if v != "second" || err != nil || !ended || rondo.Now(ctx).Sub(start) != 12*time.Second {
			t.Errorf("Race returned %q, %v after %v; the last loser has ended: %v", v, err, rondo.Now(ctx).Sub(start), ended)
		}
		_, err = rondo.Race(ctx, after(2*time.Second, 0, errors.New("second")), after(time.Second, 0, errors.New("first")))
		if fmt.Sprint(err) != "first\nsecond" {
			t.Errorf("a Race in which all fail returned %q", err)
		}
		if _, err = rondo.Race(ctx, after(time.Second, 0, errBroken)); err != errBroken {
			t.Errorf("a Race of one function that fails returned %v", err)
		}
		if _, err := rondo.Race[int](ctx); err == nil || !strings.HasPrefix(err.Error(), "rondo: Race without") {
			t.Errorf("a Race of no function returned %v", err)
		}
		err = rondo.Timeout(ctx, time.Second, func(ctx context.Context) error {
			_, err := rondo.Race(ctx, after(time.Hour, 0, nil), after(time.Hour, 0, nil), after(time.Millisecond, 0, errBroken))
			if !errors.Is(err, errBroken) || strings.Count(err.Error(), "deadline") != 1 {
				t.Errorf("a Race that was cancelled returned %q", err)
			}
			return nil
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Timeout around it returned %v", err)
		}
	})
}

// TestRaceLeaksNoResult: in every order, a function that calls Check last knows
// whether its result is the one that Race returns.
func TestRaceLeaksNoResult(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		open := 0
		dial := func(ctx context.Context) (int, error) {
			if err := rondo.Sleep(ctx, time.Second); err != nil {
				return 0, err
			}
			open++
			if err := rondo.Check(ctx); err != nil {
				open--
				return 0, err
			}
			return open, nil
		}
		if _, err := rondo.Race(ctx, dial, dial, dial); err != nil || open != 1 {
			t.Errorf("Race returned %v; %d results are open", err, open)
		}
	})
}

// TestRaceAgainstCancellation: in every order, Race returns a winner, or the
// cause if it was cancelled before there was one.
func TestRaceAgainstCancellation(t *testing.T) {
	won := map[bool]bool{}
	sim.Explore(t, func(ctx context.Context) {
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			rondo.Go(ctx, func(ctx context.Context) error { _ = rondo.Yield(ctx); g.Cancel(errBroken); return nil })
			v, err := rondo.Race(g, func(ctx context.Context) (int, error) {
				if err := rondo.Yield(ctx); err != nil {
					return 0, err
				}
				return 7, rondo.Yield(ctx)
			}, after(time.Hour, 0, nil))
			if err == nil && v != 7 || err != nil && (err != errBroken || v != 0) {
				t.Errorf("Race returned %d, %v", v, err)
			}
			won[err == nil] = true
			return nil
		})
		if err != nil && err != errBroken {
			t.Error(err)
		}
	})
	if len(won) != 2 {
		t.Errorf("of the two outcomes only %v came about", won)
	}
}

// TestRaceWithAPanic: a panic is the error of Race, even if another function has won or failed, and
// ctx is cancelled before the panic, and even if it is a panic with the cause. Without a panic the
// winner counts, whatever the cause is made of.
func TestRaceWithAPanic(t *testing.T) {
	for _, cause := range []error{errStop, errors.Join(errStop, errBroken)} {
		for _, won := range []bool{false, true} {
			for _, thrown := range [][]any{{"oops"}, {cause}, {cause, "oops"}, nil} {
				r := rondo.Runner{Recover: true}
				err := r.Run(t.Context(), func(ctx context.Context) error {
					return rondo.Group(ctx, func(g *rondo.Scope) error {
						fns := []func(ctx context.Context) (int, error){func(ctx context.Context) (int, error) {
							if won {
								return 7, nil
							}
							return 0, errBroken
						}}
						for i := range max(1, len(thrown)) {
							fns = append(fns, func(ctx context.Context) (int, error) {
								_ = rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Yield(ctx) })
								g.Cancel(cause)
								if i < len(thrown) {
									panic(thrown[i])
								}
								return 0, rondo.Check(ctx)
							})
						}
						v, err := rondo.Race(g, fns...)
						for _, value := range thrown {
							if !strings.Contains(fmt.Sprint(err), "rondo: panic in task-") || !strings.Contains(fmt.Sprint(err), fmt.Sprint(value)) {
								t.Errorf("cause %q, won %t, panics with %q: Race returned %d, %v", cause, won, thrown, v, err)
							}
						}
						if thrown == nil && won && (v != 7 || err != nil) {
							t.Errorf("cause %q: a Race with a winner returned %d, %v", cause, v, err)
						}
						return nil
					})
				})
				if err != nil && !errors.Is(err, errStop) {
					t.Error(err)
				}
			}
		}
	}
}

// TestGatherRunsAllOrNone: with a nil function none runs.
func TestGatherRunsAllOrNone(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		panics(t, "rondo: Gather with a nil function", func() {
			_, _ = rondo.Gather(ctx, func(context.Context) (int, error) { t.Error("it ran"); return 0, nil }, nil)
		})
	})
}

// TestRaceKeepsTheFirstWinner: a function that succeeds after it was cancelled
// does not replace the winner.
func TestRaceKeepsTheFirstWinner(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		late := func(ctx context.Context) (int, error) { _ = forever(ctx); return 2, nil }
		if v, err := rondo.Race(ctx, late, after(time.Second, 1, nil), late); v != 1 || err != nil {
			t.Errorf("Race returned %v, %v", v, err)
		}
	})
}

// TestTasksShowTheUsersFunction: the tasks that Gather and Map start are
// described by the function of the program.
func TestTasksShowTheUsersFunction(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		seen := 0
		named := func(ctx context.Context) {
			for _, i := range rondo.Tasks(ctx) {
				if strings.HasPrefix(i.Func, "github.com/rondo-go/rondo.") {
					t.Errorf("the function of a task is %s", i.Func)
				}
			}
			seen++
		}
		one := func(ctx context.Context) (int, error) { named(ctx); return 1, nil }
		if got, err := rondo.Gather(ctx, one, one); err != nil || !slices.Equal(got, []int{1, 1}) {
			t.Errorf("Gather returned %v, %v", got, err)
		}
		for range rondo.Map(ctx, 2, slices.Values([]int{1, 2}), func(ctx context.Context, n int) (int, error) { return one(ctx) }) {
			named(ctx)
		}
		if seen != 6 {
			t.Errorf("named ran %d times, want 6", seen)
		}
	})
}
