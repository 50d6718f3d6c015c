package sim

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
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
func traced(t *testing.T, c *choices, body func(ctx context.Context)) *trace {
	t.Helper()
	a := (&series{Config: Config{}.withDefaults("")}).newAttempt(c)
	a.trace = &trace{keep: true}
	if o := newWorld(a).execute(body); o.failure() != "" {
		t.Fatal(o.failure())
	}
	return a.trace
}

// Hash returns the hash of what seeds 1 to 60 do.
func Hash(t *testing.T) (sum uint64) {
	for seed := range uint64(60) {
		c := newChoices(seed + 1)
		c.rough = seed >= exactSeeds
		sum = mix(sum ^ traced(t, c, busy).hash)
	}
	return sum
}

// TestRecordRepeats: the choices that a seed made, given as a list, make the same run;
// and it makes no difference to a run that it is recorded.
func TestRecordRepeats(t *testing.T) {
	made := make(map[purpose]int)
	for seed := range uint64(200) {
		plain := newChoices(seed)
		plain.rough = seed > 40
		hash := traced(t, plain, busy).hash
		recorded := newChoices(seed)
		recorded.rough = plain.rough
		recorded.records = true
		if got := traced(t, recorded, busy); got.hash != hash {
			t.Fatalf("seed %d: recorded, it is another run", seed)
		}
		if len(recorded.made) == 0 && seed != 0 {
			t.Errorf("seed %d made no choices", seed)
		}
		for _, c := range recorded.made {
			made[c.purpose]++
		}
		list, err := parseChoices(formatChoices(recorded.made))
		if err != nil || !slices.Equal(list, recorded.made) {
			t.Fatalf("%v: %v reads back as %v", err, recorded.made, list)
		}
		again := newChoices(seed)
		again.records = true
		again.repeat(list)
		got := traced(t, again, busy)
		if got.hash != hash || !slices.Equal(again.made, recorded.made) {
			t.Fatalf("seed %d: its list makes another run of %d events, with choices\n%v\nand\n%v",
				seed, got.count, formatChoices(again.made), formatChoices(recorded.made))
		}
	}
	for _, p := range []purpose{forOrder, forCallback, forHold, forStall, forPoll} {
		if made[p] < 20 {
			t.Errorf("%d choices are made whether %s", made[p], purposes[p.rank()].words)
		}
	}
}

// TestChoicesAreKeyed: a choice depends on its key alone, not on how many were made
// elsewhere.
func TestChoicesAreKeyed(t *testing.T) {
	values := func(c *choices, place uint64, n int) (all []int) {
		s := c.at(forLatency, place)
		for range n {
			all = append(all, s.pick(1000))
		}
		return all
	}
	a, b := newChoices(7), newChoices(7)
	values(b, 1, 13)
	if got, want := values(b, 2, 20), values(a, 2, 20); !slices.Equal(got, want) {
		t.Error(got, want)
	}
	if slices.Equal(values(newChoices(8), 2, 20), values(newChoices(7), 2, 20)) {
		t.Error("two seeds choose alike")
	}
	if newChoices(7).config(1) == newChoices(7).config(2) || newChoices(7).config(1) != a.config(1) {
		t.Error("what is fixed for a run does not depend on what it is alone")
	}
	for _, p := range purposes {
		counts := make([]int, 8)
		s := newChoices(3).at(p.purpose, 5)
		for range 8000 {
			counts[s.pick(8)]++
		}
		if slices.Min(counts) < 880 || slices.Max(counts) > 1120 {
			t.Errorf("choices for %s are uneven: %v", p.words, counts)
		}
	}
}

// TestRepeatedList: a list says which choices are not zero, and one beyond what there is
// to choose from is the last.
func TestRepeatedList(t *testing.T) {
	list, err := parseChoices("f3.0=1,b0.1=9")
	if err != nil {
		t.Fatal(err)
	}
	c := newChoices(1)
	c.repeat(list)
	s := c.at(forChoose, 0)
	got := fmt.Sprint(c.at(forFault, 3).rarely(1), c.at(forFault, 3).rarely(1e6), s.pick(4), s.pick(4), s.pick(4))
	if got != "true false 0 3 0" {
		t.Error(got)
	}
}

func TestParseChoicesErrors(t *testing.T) {
	for _, s := range []string{"", "x1.2=3", "o1.2", "o1=2", "o.1=2", "o1.2=0", "o1.2=3,", "o1.4294967296=1", "o1.2=-1"} {
		if list, err := parseChoices(s); err == nil {
			t.Errorf("%q reads as %v", s, list)
		}
	}
	if list, err := parseChoices("-"); err != nil || list == nil || len(list) != 0 {
		t.Error(list, err)
	}
}
