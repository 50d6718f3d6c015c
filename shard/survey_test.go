package shard

import (
	"context"
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// TestLongCallsAreNoRing: the tasks of calls that only take long are not taken for a ring, so
// no loop has to list all of its tasks for them. In a ring, and where one is possible, they are.
func TestLongCallsAreNoRing(t *testing.T) {
	for _, c := range []struct {
		name           string
		ring, possible bool
		fn             func(ctx context.Context, home *Shard, m *rondo.Mutex, other *rondo.Task) error
	}{
		{"sleep", false, false, func(ctx context.Context, _ *Shard, _ *rondo.Mutex, _ *rondo.Task) error {
			return rondo.WaitCanceled(ctx)
		}},
		{"call", false, false, func(ctx context.Context, home *Shard, _ *rondo.Mutex, _ *rondo.Task) error {
			return call0(ctx, home, rondo.WaitCanceled)
		}},
		{"ring", true, false, func(ctx context.Context, home *Shard, m *rondo.Mutex, _ *rondo.Task) error {
			return call0(ctx, home, func(ctx context.Context) error { return m.Lock(ctx) })
		}},
		{"task", false, true, func(ctx context.Context, home *Shard, _ *rondo.Mutex, other *rondo.Task) error {
			return call0(ctx, home, func(ctx context.Context) error { return other.Wait(ctx) })
		}},
		{"number", false, false, func(ctx context.Context, home *Shard, _ *rondo.Mutex, other *rondo.Task) error {
			return call0(ctx, home, func(ctx context.Context) error {
				var bells rondo.WaitList
				holder := other.Info().ID + 1 // but the number is that of a bell
				return bells.Park(ctx, rondo.Reason{What: "bell", On: holder})
			})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := (&Runner{Loops: 2}).Run(t.Context(), func(ctx context.Context, s *Shard) error {
				if s.Index() != 0 {
					return nil
				}
				defer func() {
					if s.waiting.First() != nil {
						t.Error("a call is noted that has ended")
					}
				}()
				return rondo.Group(ctx, func(g *rondo.Scope) error {
					var m rondo.Mutex
					other := g.Go(rondo.WaitCanceled)
					waits := rondo.NewFuture[struct{}](g)
					g.Go(func(ctx context.Context) error {
						if err := m.Lock(ctx); err != nil {
							return err
						}
						return call0(ctx, s.At(1), func(ctx context.Context) error {
							waits.Set(struct{}{})
							return c.fn(ctx, s, &m, other)
						})
					})
					if _, err := waits.Wait(g); err != nil {
						return err
					}
					// The last wait of each case has begun after as many messages there and back.
					for range 4 {
						if err := call0(g, s.At(1), func(ctx context.Context) error { return rondo.Yield(ctx) }); err != nil {
							return err
						}
					}
					calls, err := rondo.Offload(g, func(context.Context) (survey, error) { return s.group.calls(), nil })
					if err != nil {
						return err
					}
					if (calls.ring() != nil) != c.ring || calls.open() != c.possible {
						t.Errorf("ring %v, possible %v: %v", calls.ring(), calls.open(), calls)
					}
					g.Cancel(nil)
					return nil
				})
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestSimulationLooksForNoRing: shards of a simulation have no timer in real time, because the
// world finds out by itself when nothing can go on.
func TestSimulationLooksForNoRing(t *testing.T) {
	sim.Config{Seeds: 1}.Cluster(t, func(ctx context.Context, _ *sim.World) {
		err := (&Runner{Loops: 2}).Run(ctx, func(ctx context.Context, s *Shard) error {
			return call0(ctx, s.At(1-s.Index()), func(ctx context.Context) error {
				err := rondo.Sleep(ctx, time.Second) // until the caller waits
				if s.group.watching.Load() {
					t.Error("a timer of real time will look for a ring")
				}
				return err
			})
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestNoLookWithoutCalls: a look for a ring asks for no further one if no call waits, so nothing of
// a Run goes on when that has returned.
func TestNoLookWithoutCalls(t *testing.T) {
	var g *group
	err := (&Runner{Loops: 2}).Run(t.Context(), func(ctx context.Context, s *Shard) error {
		if s.Index() != 0 {
			return nil
		}
		g = s.group
		return call0(ctx, s.At(1), func(ctx context.Context) error { return rondo.Yield(ctx) })
	})
	if err != nil {
		t.Error(err)
	}
	if g.look(); g.watching.Load() {
		t.Error("it will look again")
	}
}

func call0(ctx context.Context, to *Shard, fn func(ctx context.Context) error) error {
	_, err := Call(ctx, to, func(ctx context.Context) (struct{}, error) { return struct{}{}, fn(ctx) })
	return err
}

// TestRingOfMany: to search a long way of calls takes a time that grows with its length. With
// the square of it this test would take minutes.
func TestRingOfMany(t *testing.T) {
	const n = 50_000
	v := make(survey)
	name := [2]string{"a", "b"}
	for i := range uint64(n) {
		v[place{name[i%2], i}] = rondo.TaskInfo{ID: i, Waiting: "call", Of: name[(i+1)%2] + " #" + strconv.FormatUint(i+1, 10)}
	}
	if ring := v.ring(); ring != nil {
		t.Errorf("a ring of %d where there is none", len(ring))
	}
	v[place{name[n%2], n}] = rondo.TaskInfo{ID: n, Waiting: "call", Of: "b #" + strconv.FormatUint(n-9, 10)}
	if ring := v.ring(); len(ring) != 10 {
		t.Errorf("a ring of %d, want 10", len(ring))
	}
}

// TestRingThatRan: a ring is reported only if none of its tasks has run between two surveys.
func TestRingThatRan(t *testing.T) {
	first := survey{
		{"a", 1}: {ID: 1, Waiting: "call", Of: "b #2", Switches: 5},
		{"b", 2}: {ID: 2, Waiting: "call", Of: "a #1", Switches: 7},
	}
	for name, c := range map[string]struct {
		change func(later survey)
		want   int
	}{
		"nothing":     {func(survey) {}, 2},
		"one has run": {func(v survey) { v[place{"b", 2}] = rondo.TaskInfo{ID: 2, Waiting: "call", Of: "a #1", Switches: 8} }, 0},
		"one runs":    {func(v survey) { delete(v, place{"a", 1}) }, 0},
		"others wait": {func(v survey) { v[place{"a", 3}] = rondo.TaskInfo{ID: 3, Waiting: "sleep"} }, 2},
	} {
		later := maps.Clone(first)
		c.change(later)
		if ring := first.certain(func() survey { return later }); len(ring) != c.want {
			t.Errorf("%s: the ring is %v, want one of %d", name, ring, c.want)
		}
	}
}
