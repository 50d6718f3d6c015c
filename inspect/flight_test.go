//go:build linux && (amd64 || arm64)

package inspect_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/inspect"
)

// flightOf runs main on a loop of its own and returns what its tasks did, read when it has ended,
// from outside, while the loop lives.
func flightOf(t *testing.T, r rondo.Runner, main func(ctx context.Context) error) (loop inspect.FlightLoop, all *inspect.Flight) {
	t.Helper()
	r.Name = "flown"
	err := r.Run(t.Context(), func(ctx context.Context) error {
		if err := main(ctx); err != nil {
			return err
		}
		f, err := rondo.Offload(ctx, func(context.Context) (*inspect.Flight, error) {
			target, err := inspect.OpenProcess(os.Getpid())
			if err != nil {
				return nil, err
			}
			defer target.Close()
			return target.Flight(time.Hour)
		})
		all = f
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all.Loops {
		if l.Name == "flown" {
			return l, all
		}
	}
	t.Fatalf("the loop is not among %v", all.Loops)
	return
}

// pingPong has two tasks wake each other so many times.
func pingPong(rounds int) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		ping, pong := rondo.NewQueue[int](1), rondo.NewQueue[int](1)
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error {
				for i := range rounds {
					if err := ping.Put(ctx, i); err != nil {
						return err
					}
					if _, err := pong.Get(ctx); err != nil {
						return err
					}
				}
				return nil
			})
			g.Go(func(ctx context.Context) error {
				for range rounds {
					i, err := ping.Get(ctx)
					if err != nil {
						return err
					}
					if err := pong.Put(ctx, i); err != nil {
						return err
					}
				}
				return nil
			})
			return nil
		})
	}
}

// TestFlight: the record has the steps of two tasks that wake each other, in their order, and who
// woke whom; each step begins when the one before it ends, or later.
func TestFlight(t *testing.T) {
	l, _ := flightOf(t, rondo.Runner{}, pingPong(40_000)) // more than there is room for
	var steps []inspect.FlightStep
	for _, s := range l.Steps {
		if s.Woken && !strings.HasPrefix(s.Name, "main") {
			steps = append(steps, s)
		}
	}
	if len(steps) < 2000 || len(l.Steps) >= 1<<16 {
		t.Fatalf("%d steps of %d: %s", len(steps), len(l.Steps), l.Lost)
	}
	for i, s := range steps[1:] {
		before := steps[i]
		if s.By != before.Task || s.Task == before.Task || s.From < before.To || s.To < s.From {
			t.Fatalf("after %+v came %+v", before, s)
		}
	}
}

// TestFlightOfAll: the longest time that there is asks for all of the record.
func TestFlightOfAll(t *testing.T) {
	onLoop(t, "flown", func(ctx context.Context) error {
		if err := pingPong(3000)(ctx); err != nil {
			return err
		}
		target, err := inspect.OpenProcess(os.Getpid())
		if err != nil {
			return err
		}
		defer target.Close()
		f, err := target.Flight(math.MaxInt64)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(f.Loops, func(l inspect.FlightLoop) bool { return l.Name == "flown" }); i < 0 || len(f.Loops[i].Steps) < 3000 {
			t.Errorf("of all there is %+v", f.Loops)
		}
		return nil
	})
}

// TestFlightTrace: the timeline is JSON, with a slice for each step, and an arrow for each wake-up
// whose cause is there.
func TestFlightTrace(t *testing.T) {
	l, all := flightOf(t, rondo.Runner{}, pingPong(3000))
	var text bytes.Buffer
	if err := all.WriteTrace(&text); err != nil {
		t.Fatal(err)
	}
	var events []struct {
		Ph, Name string
		Pid, Tid uint64
		Ts, Dur  float64
	}
	if err := json.Unmarshal(text.Bytes(), &events); err != nil {
		t.Fatal(err)
	}
	count := make(map[string]int)
	for _, e := range events {
		if e.Pid == l.ID {
			count[e.Ph]++
		}
	}
	if count["X"] != len(l.Steps) || count["s"] != count["f"] || count["s"] < 2000 || count["M"] < 3 {
		t.Errorf("the events are %v, of %d steps", count, len(l.Steps))
	}
}

// TestFlightEnded: a task that has ended is named by its function and its number.
func TestFlightEnded(t *testing.T) {
	began := make(map[uint64]string)
	l, _ := flightOf(t, rondo.Runner{}, func(ctx context.Context) error {
		for range 3000 {
			a, b := rondo.Go(ctx, endsAtOnce), rondo.Go(ctx, endsToo)
			began[a.ID()], began[b.ID()] = "inspect_test.endsAtOnce", "inspect_test.endsToo"
			if err := errors.Join(a.Wait(ctx), b.Wait(ctx)); err != nil {
				return err
			}
		}
		return nil
	})
	named := 0
	for _, s := range l.Steps {
		if strings.HasPrefix(s.Name, "inspect_test.ends") {
			named++
			if want := fmt.Sprintf("%s #%d", began[s.Task], s.Task); s.Name != want {
				t.Fatalf("%q, want %q", s.Name, want)
			}
		}
	}
	if named < 1000 {
		t.Errorf("%d steps are named, of %d; %s", named, len(l.Steps), l.Lost)
	}
}

func endsAtOnce(context.Context) error { return nil }

func endsToo(context.Context) error { return nil }

// TestFlightKinds: up to eight names of one function are kinds of task, and of more, or without a
// name, it is the function.
func TestFlightKinds(t *testing.T) {
	l, _ := flightOf(t, rondo.Runner{}, func(ctx context.Context) error {
		if err := pingPong(3000)(ctx); err != nil { // until the loop has a record
			return err
		}
		rondo.Go(ctx, sleepsUnnamed)
		for i := range 9 {
			rondo.Go(ctx, sleepsOften).SetName(fmt.Sprint("often-", i))
		}
		for i := range 8 {
			rondo.Go(ctx, sleepsLong).SetName(fmt.Sprint("long-", i))
		}
		for range 3 {
			if err := rondo.Sleep(ctx, time.Millisecond); err != nil {
				return err
			}
		}
		return nil
	})
	kinds := make(map[string]string)
	for _, s := range l.Steps {
		name, _, _ := strings.Cut(s.Name, " ")
		kinds[name] = s.Kind
	}
	for name, want := range map[string]string{
		"often-0": "inspect_test.sleepsOften", "often-8": "inspect_test.sleepsOften", "long-0": "long-0", "long-7": "long-7",
		"inspect_test.sleepsUnnamed": "inspect_test.sleepsUnnamed",
	} {
		if kinds[name] != want {
			t.Errorf("the kind of %s is %q, want %q; of %d steps (%s) %v", name, kinds[name], want, len(l.Steps), l.Lost, kinds)
		}
	}
}

func sleepsOften(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) }

func sleepsUnnamed(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) }

func sleepsLong(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) }

// TestFlightYield: a Yield begins no step.
func TestFlightYield(t *testing.T) {
	l, _ := flightOf(t, rondo.Runner{}, func(ctx context.Context) error {
		yields := func(ctx context.Context) error {
			for range 5000 {
				if err := rondo.Yield(ctx); err != nil {
					return err
				}
			}
			return nil
		}
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(yields)
			g.Go(yields)
			return nil
		})
	})
	woken := 0
	for _, s := range l.Steps {
		if s.Woken {
			woken++
		}
	}
	if woken > 10 { // main is woken, and by Offload
		t.Errorf("%d steps began, of %d", woken, len(l.Steps))
	}
}

// TestFlightOff: a loop that keeps no record says so.
func TestFlightOff(t *testing.T) {
	l, _ := flightOf(t, rondo.Runner{NoFlightRecorder: true}, pingPong(3000))
	if len(l.Steps) > 0 || !strings.Contains(l.Lost, "NoFlightRecorder") {
		t.Errorf("%d steps, %q", len(l.Steps), l.Lost)
	}
}
