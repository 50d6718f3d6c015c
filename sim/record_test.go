package sim

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
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
