package sim_test

// The tests of conformance of the simulated world. Each is named for its number
// in the list.

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// TestC229ClockJumps: a simulated clock stands still while a task can run. When
// all tasks sleep it jumps to the next timer.
func TestC229ClockJumps(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		began := rondo.Now(ctx)
		var woken []time.Duration
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			for _, d := range []time.Duration{3 * time.Hour, time.Hour, 2 * time.Hour} {
				g.Go(func(ctx context.Context) error {
					err := rondo.Sleep(ctx, d)
					woken = append(woken, rondo.Now(ctx).Sub(began))
					return err
				})
			}
			for range 100 {
				if err := rondo.Yield(g); err != nil || !rondo.Now(g).Equal(began) {
					t.Error("the clock went on while a task could run:", err)
				}
			}
			return nil
		})
		if got := fmt.Sprint(woken); err != nil || got != "[1h0m0s 2h0m0s 3h0m0s]" {
			t.Error(got, err)
		}
	})
}

// record runs a program that is sensitive to its order under one seed, and gives
// all that it did: switches, timers, bytes through a pipe of queues.
func record(t *testing.T, seed string) string {
	t.Setenv("RONDO_SEED", seed)
	var log []byte
	sim.Test(t, func(ctx context.Context) {
		var b bytes.Buffer
		r := sim.Rand(ctx)
		q := rondo.NewQueue[int](2)
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			for i := range 4 {
				g.Go(func(ctx context.Context) error {
					for range 5 {
						if err := rondo.Sleep(ctx, time.Duration(r.IntN(3))*time.Millisecond); err != nil {
							return err
						}
						fmt.Fprintln(&b, i, "puts at", rondo.Now(ctx).UnixNano())
						if err := q.Put(ctx, r.IntN(100)); err != nil {
							return err
						}
					}
					return nil
				})
			}
			for range 20 {
				v, err := q.Get(g)
				if err != nil {
					return err
				}
				fmt.Fprintln(&b, "got", v)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		log = b.Bytes()
	})
	return string(log)
}

// TestC230SameSeedSameSchedule: a seed repeats its schedule, and different seeds
// have different ones. Without RONDO_SEED several seeds run.
func TestC230SameSeedSameSchedule(t *testing.T) {
	orders := map[string]bool{}
	for seed := range 10 {
		name := fmt.Sprint(seed + 1)
		first := record(t, name)
		if again := record(t, name); again != first {
			t.Errorf("seed %s did not the same again:\n%s\n%s", name, first, again)
		}
		orders[first] = true
	}
	if len(orders) != 10 {
		t.Error("ten seeds gave", len(orders), "schedules")
	}
	t.Setenv("RONDO_SEED", "")
	shuffled := map[string]bool{}
	sim.Test(t, func(ctx context.Context) {
		var order []byte
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			for i := range 5 {
				g.Go(func(ctx context.Context) error { order = append(order, byte('a'+i)); return nil })
			}
			return nil
		})
		shuffled[string(order)] = true
	})
	if len(shuffled) < 2 {
		t.Error("all seeds ran five tasks in one order:", shuffled)
	}
}

// TestC240TraceOfASeed: the trace of a seed is the same byte for byte each time,
// with its times and random numbers. The trace of another seed differs.
func TestC240TraceOfASeed(t *testing.T) {
	a, again, b := record(t, "7"), record(t, "7"), record(t, "8")
	if a != again {
		t.Errorf("seed 7 twice:\n%s\n%s", a, again)
	}
	if a == b || len(a) < 400 {
		t.Errorf("seeds 7 and 8 did the same:\n%s", a)
	}
}

// TestC241AnHourIsNothing: a test can Sleep for a thousand simulated hours.
func TestC241AnHourIsNothing(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		began := rondo.Now(ctx)
		for range 1000 {
			if err := rondo.Sleep(ctx, time.Hour); err != nil {
				t.Fatal(err)
			}
		}
		if d := rondo.Now(ctx).Sub(began); d != 1000*time.Hour {
			t.Error(d)
		}
	})
}

// TestC243Bubble: a simulated loop runs in a bubble of testing/synctest. The
// clock of the bubble stands still meanwhile.
func TestC243Bubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outside := time.Now()
		sim.Test(t, func(ctx context.Context) {
			began := rondo.Now(ctx)
			if err := rondo.Sleep(ctx, time.Hour); err != nil || rondo.Now(ctx).Sub(began) != time.Hour {
				t.Error(err, rondo.Now(ctx).Sub(began))
			}
		})
		if d := time.Since(outside); d != 0 {
			t.Error("the bubble's clock went on by", d)
		}
		go func() { <-time.After(time.Hour) }()
		synctest.Wait() // the loops have ended, or this would fail
		<-time.After(time.Hour)
	})
}
