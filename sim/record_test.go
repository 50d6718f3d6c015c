package sim

import (
	"context"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim/internal/chance"
	"github.com/rondo-go/rondo/sim/internal/choice"
	"github.com/rondo-go/rondo/sim/internal/record"
	"github.com/rondo-go/rondo/sim/internal/search"
)

// busy is a body with locks, timers, callbacks and tasks that start others.
func busy(ctx context.Context) {
	var m rondo.Mutex
	_ = rondo.Group(ctx, func(g *rondo.Scope) error {
		for i := range 6 {
			g.Go(func(ctx context.Context) error {
				for range 5 {
					if err := m.Lock(ctx); err != nil {
						return err
					}
					_ = rondo.Yield(ctx)
					m.Unlock()
					rondo.LoopOf(ctx).CallSoon(func() {})
					_ = rondo.Sleep(ctx, time.Duration(Rand(ctx).IntN(3))*time.Millisecond)
				}
				rondo.Go(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Duration(i)) })
				return nil
			})
		}
		return nil
	})
}

// traced runs body with the choices of c, and returns its trace.
func traced(t *testing.T, c *choice.Choices, body func(ctx context.Context)) *record.Trace {
	t.Helper()
	a := newSeries(t).NewRun(c)
	a.Trace = &record.Trace{Keep: true}
	if o := newLoopWorld(&attempt{Run: a}).execute(body); o.Failure() != "" {
		t.Fatal(o.Failure())
	}
	return a.Trace
}

// Hash returns the hash of what seeds 1 to 60 do.
func Hash(t *testing.T) (sum uint64) {
	for seed := range uint64(60) {
		c := choice.New(seed + 1)
		c.Rough, c.Shares = seed >= search.ExactSeeds, true
		sum = choice.Mix(sum ^ traced(t, c, busy).Hash)
	}
	return sum
}

// TestRecordRepeats: the choices that a seed made, given as a list, make the same run;
// and it makes no difference to a run that it is recorded.
func TestRecordRepeats(t *testing.T) {
	made, seen := make(map[choice.Purpose]int), make(map[record.Kind]int)
	for seed := range uint64(200) {
		plain := choice.New(seed)
		plain.Rough, plain.Shares = seed > 40, seed > 0
		hash := traced(t, plain, busy).Hash
		recorded := choice.New(seed)
		recorded.Rough, recorded.Shares = plain.Rough, plain.Shares
		recorded.Records = true
		trace := traced(t, recorded, busy)
		if trace.Hash != hash {
			t.Fatalf("seed %d: recorded, it is another run", seed)
		}
		for _, e := range trace.Events {
			seen[e.Kind]++
		}
		if len(recorded.Made) == 0 && seed != 0 {
			t.Errorf("seed %d made no choices", seed)
		}
		for _, c := range recorded.Made {
			made[c.Purpose]++
		}
		list, err := choice.Parse(choice.Format(recorded.Made))
		if err != nil || !slices.Equal(list, recorded.Made) {
			t.Fatalf("%v: %v reads back as %v", err, recorded.Made, list)
		}
		again := choice.New(seed)
		again.Records = true
		again.Repeat(list)
		got := traced(t, again, busy)
		if got.Hash != hash || !slices.Equal(again.Made, recorded.Made) {
			t.Fatalf("seed %d: its list makes another run of %d events, with choices\n%v\nand\n%v",
				seed, got.Count, choice.Format(again.Made), choice.Format(recorded.Made))
		}
	}
	for _, p := range []choice.Purpose{choice.ForOrder, choice.ForCallback, choice.ForHold, choice.ForStall, choice.ForPoll, choice.ForShare} {
		if made[p] < 20 {
			t.Errorf("%d choices are made whether %s", made[p], choice.Kinds[p.Rank()].Words)
		}
	}
	for _, k := range []record.Kind{record.Jumped, record.Chosen, record.Passed, record.Started, record.Parked, record.Woken, record.Ended} {
		if seen[k] == 0 {
			t.Errorf("in no run is there an event such as %q", record.Event{Kind: k})
		}
	}
}

// TestRecordRepeatsHosts: so it is with the hosts of a cluster, also if what is late is hurried on,
// by another host or by one on which a task is being passed over, and if the hosts are in the
// middle of something when the test ends.
func TestRecordRepeatsHosts(t *testing.T) {
	run := func(seed uint64, c *choice.Choices) *record.Trace {
		a := newSeries(t).NewRun(c)
		a.Trace = &record.Trace{Keep: true}
		o := newCluster(&attempt{Run: a}, Config{}).execute(func(ctx context.Context, w *World) {
			for _, name := range []string{"a", "b"} {
				w.Host(name, func(ctx context.Context) error { busy(ctx); return nil })
			}
			if seed%2 == 0 {
				w.Host("c", func(ctx context.Context) error {
					tasks(ctx, busy, func(ctx context.Context) { yields(ctx, 20); w.Calm() })
					return nil
				})
			}
			for range 2 {
				_ = rondo.Sleep(ctx, time.Millisecond)
				w.Calm()
			}
		})
		if o.Failure() != "" {
			t.Fatal(o.Failure())
		}
		return a.Trace
	}
	seen := make(map[record.Kind]int)
	for seed := range uint64(100) {
		recorded := choice.New(seed)
		recorded.Rough, recorded.Shares, recorded.Records = true, seed > 0, true
		first := run(seed, recorded)
		for _, e := range first.Events {
			seen[e.Kind]++
		}
		again := choice.New(seed)
		again.Records = true
		again.Repeat(recorded.Made)
		if second := run(seed, again); second.Hash != first.Hash || !slices.Equal(again.Made, recorded.Made) {
			t.Fatalf("seed %d: its list makes another run of %d events, not %d, with choices\n%v\nand\n%v",
				seed, second.Count, first.Count, choice.Format(again.Made), choice.Format(recorded.Made))
		}
	}
	if seen[record.Chosen] == 0 || seen[record.Passed] == 0 {
		t.Error("no event is that a task was chosen among several, or that one was passed over:", seen)
	}
}

// TestStepsOfChoices: each choice is a step of the run, on a loop and on a host.
func TestStepsOfChoices(t *testing.T) {
	for what, execute := range map[string]func(a *attempt, body func(ctx context.Context)) search.Outcome{
		"loop": func(a *attempt, body func(ctx context.Context)) search.Outcome { return newLoopWorld(a).execute(body) },
		"host": func(a *attempt, body func(ctx context.Context)) search.Outcome {
			return newCluster(a, Config{}).execute(func(ctx context.Context, _ *World) { body(ctx) })
		},
	} {
		steps := func(n int) uint64 {
			a := newSeries(t).NewRun(choice.New(1))
			o := execute(&attempt{Run: a}, func(ctx context.Context) {
				tasks(ctx, slices.Repeat([]func(context.Context){func(context.Context) {}}, n)...)
			})
			if o.Failure() != "" {
				t.Fatal(o.Failure())
			}
			return a.Steps.Load()
		}
		if one, many := steps(1), steps(51); many < one+50 {
			t.Errorf("%s: a run has %d steps with a task, and %d if 50 more are ready with it", what, one, many)
		}
	}
}

// TestRecordSlow: a run is compared with another one unless its goroutines were slow: then the
// runtime may have let them go on in another order.
func TestRecordSlow(t *testing.T) {
	defer chance.Still()()
	defer func(d time.Duration) { chance.SlowAfter = d }(chance.SlowAfter)
	noClock := runtime.GOOS == "js" // but that of package time
	for after, want := range map[time.Duration]bool{1000 * time.Hour: true, -1: noClock} {
		chance.SlowAfter = after
		a := newSeries(t).NewRun(choice.New(1))
		a.Trace = &record.Trace{}
		o := newCluster(&attempt{Run: a, bubbles: t}, Config{}).execute(func(ctx context.Context, _ *World) { yields(ctx, 3) })
		if sum, compared := a.Trace.Sum(); compared != want || o.Failure() != "" {
			t.Errorf("with goroutines that are slow after %v the run counts as %q: %s", after, sum, o.Failure())
		}
	}
}

// TestRecordLoops: a loop beside that of a host has its number again when it is begun again, and so
// its column in a picture. Two at a time have two.
func TestRecordLoops(t *testing.T) {
	Config{Exact: true}.Cluster(t, func(ctx context.Context, w *World) {
		var numbers []uint64
		for range 2 {
			for _, name := range []string{"a", "a", "b"} {
				processOf(ctx).RunBeside(name, func(ctx context.Context) error {
					numbers = append(numbers, processOf(ctx).number)
					return rondo.Sleep(ctx, time.Second)
				}, func() {})
			}
			_ = rondo.Sleep(ctx, time.Minute)
			slices.Sort(numbers)
		}
		if want := []uint64{2, 2, 3, 3, 4, 4}; !slices.Equal(numbers, want) {
			t.Errorf("the loops have the numbers %v, want %v", numbers, want)
		}
	})
}

// TestRecordHosts: a record has what happens to a host, by how much, and when.
func TestRecordHosts(t *testing.T) {
	a := newSeries(t).NewRun(choice.New(0))
	a.Trace = &record.Trace{Keep: true}
	o := newCluster(&attempt{Run: a}, Config{}).execute(func(ctx context.Context, w *World) {
		ends := make(chan int, 1)
		h := w.Host("a", func(ctx context.Context) error {
			if len(ends) > 0 {
				processOf(ctx).RunBeside("loop", rondo.Yield, func() {}) // its end is not that of the program
				return rondo.Sleep(ctx, time.Millisecond)
			}
			return rondo.WaitCanceled(ctx)
		})
		for _, do := range []func(){
			func() { h.Slow(3 * time.Millisecond) },
			func() { h.Slow(0) },
			func() { h.Pause(500 * time.Millisecond) },
			func() { h.SetClock(time.Hour, -20) },
			h.Crash, h.Restart, h.PowerFail, h.Restart,
			func() { h.Signal(os.Interrupt) },
			func() { ends <- 1; h.Restart() },
		} {
			_ = rondo.Sleep(ctx, time.Second)
			do()
		}
		_ = rondo.Sleep(ctx, time.Second)
	})
	if o.Failure() != "" {
		t.Fatal(o.Failure())
	}
	var got []string
	for _, e := range a.Trace.Events {
		if e.Kind == record.Hosted {
			got = append(got, e.String())
		}
	}
	want := []string{
		"boot (1) of host 1 to 0 after 0s",
		"boot (1) of host 2 to 0 after 0s",
		"slow (3) of host 2 to 0 after 1s",
		"slow (0) of host 2 to 0 after 2s",
		"pause (500) of host 2 to 0 after 3s",
		"clock (-20) of host 2 to 0 after 4s",
		"crash (0) of host 2 to 0 after 5s",
		"restart (0) of host 2 to 0 after 6s",
		"boot (2) of host 2 to 0 after 6s",
		"power failure (0) of host 2 to 0 after 7s",
		"restart (0) of host 2 to 0 after 8s",
		"boot (3) of host 2 to 0 after 8s",
		"signal " + os.Interrupt.String() + " (0) of host 2 to 0 after 9s", // it has no name in WebAssembly
		"crash (0) of host 2 to 0 after 9s",
		"restart (0) of host 2 to 0 after 10s",
		"boot (4) of host 2 to 0 after 10s",
		"exit (0) of host 2 to 0 after 10.00100002s", // a millisecond of its clock
		"exit (0) of host 1 to 0 after 11s",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
