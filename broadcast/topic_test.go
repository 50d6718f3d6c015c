package broadcast_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/broadcast"
	"github.com/rondo-go/rondo/sim"
)

// collect reads all that a subscription has to give.
func collect(ctx context.Context, s *broadcast.Subscription[int]) []int {
	var got []int
	for v := range s.All(ctx) {
		got = append(got, v)
	}
	return got
}

// TestTopic: each reader has each value, in the same order, from its Subscribe on.
func TestTopic(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		var topic broadcast.Topic[int]
		must(t, topic.Publish(ctx, 0)) // nobody reads
		a := topic.Subscribe(10, broadcast.Wait)
		must(t, topic.Publish(ctx, 1))
		b := topic.Subscribe(10, broadcast.Drop)
		must(t, topic.Publish(ctx, 2))
		if !topic.TryPublish(3) {
			t.Error("TryPublish has not published")
		}
		topic.Close()
		if err := topic.Publish(ctx, 4); err != broadcast.ErrClosed || topic.TryPublish(4) {
			t.Errorf("Publish after Close returned %v", err)
		}
		if got := collect(ctx, a); !slices.Equal(got, []int{1, 2, 3}) || a.Err() != broadcast.ErrClosed {
			t.Errorf("a has %v, %v", got, a.Err())
		}
		if got := collect(ctx, b); !slices.Equal(got, []int{2, 3}) {
			t.Errorf("b has %v", got)
		}
		if _, err := topic.Subscribe(1, broadcast.Skip).Next(ctx); err != broadcast.ErrClosed {
			t.Errorf("a Subscription of a closed Topic: %v", err)
		}
	})
}

// TestTopicAsModel: a Topic does as a list of slices would, whatever readers come, take, fall
// behind and go.
func TestTopicAsModel(t *testing.T) {
	type reader struct {
		*broadcast.Subscription[int]
		slow  broadcast.Slow
		limit int
		want  []int
		ended bool
	}
	sim.Test(t, func(ctx context.Context) {
		random := sim.Rand(ctx)
		var topic broadcast.Topic[int]
		var readers []*reader
		for v := range 2000 {
			blocked := slices.ContainsFunc(readers, func(r *reader) bool {
				return !r.ended && r.slow == broadcast.Wait && len(r.want) == r.limit
			})
			if topic.TryPublish(v) == blocked {
				t.Fatalf("value %d: TryPublish returned %v", v, blocked)
			}
			for _, r := range readers {
				switch {
				case blocked || r.ended:
				case len(r.want) < r.limit:
					r.want = append(r.want, v)
				case r.slow == broadcast.Skip:
					r.want = append(r.want[1:], v)
				default:
					r.ended = true
				}
			}
			if limit := 1 + random.IntN(4); len(readers) < 8 {
				slow := broadcast.Slow(random.IntN(3))
				readers = append(readers, &reader{Subscription: topic.Subscribe(limit, slow), slow: slow, limit: limit})
			}
			i := random.IntN(len(readers))
			r := readers[i]
			if r.Len() != len(r.want) || (r.Err() != nil) != r.ended {
				t.Fatalf("value %d: a reader has %d values and %v, want %v", v, r.Len(), r.Err(), r.want)
			}
			switch {
			case random.IntN(9) == 0:
				r.Close()
				readers = slices.Delete(readers, i, i+1)
			case len(r.want) > 0:
				if got, err := r.Next(ctx); got != r.want[0] || err != nil {
					t.Fatalf("value %d: Next returned %d, %v, want %v", v, got, err, r.want)
				}
				r.want = r.want[1:]
			}
		}
	})
}

// TestShares: tasks that publish and read without ever having to wait let others run.
func TestShares(t *testing.T) {
	var topic broadcast.Topic[int]
	watch, all := broadcast.NewWatch(1), topic.Subscribe(1, broadcast.Skip)
	for name, op := range map[string]func(ctx context.Context) error{
		"Publish":     func(ctx context.Context) error { return topic.Publish(ctx, 1) },
		"Next":        func(ctx context.Context) error { topic.TryPublish(1); _, err := all.Next(ctx); return err },
		"Reader.Next": func(ctx context.Context) error { _, err := watch.Reader().Next(ctx); return err },
	} {
		exact.Test(t, func(ctx context.Context) {
			turns := 0
			busy := rondo.Go(ctx, func(ctx context.Context) error {
				for range 1000 {
					must(t, op(ctx))
				}
				return nil
			})
			for ; turns < 3 && !busy.Done(); turns++ {
				must(t, rondo.Yield(ctx))
			}
			must(t, busy.Wait(ctx))
			if turns < 3 {
				t.Errorf("%s: another task ran %d times beside 1000 operations", name, turns)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// TestSlowReaders: one is waited for, one loses the oldest values and knows how many,
// one is dropped after what it had.
func TestSlowReaders(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		topic := broadcast.Topic[int]{Name: "news"}
		skip, drop := topic.Subscribe(2, broadcast.Skip), topic.Subscribe(2, broadcast.Drop)
		for v := range 5 {
			must(t, topic.Publish(ctx, v))
		}
		if _, err := skip.Next(ctx); err != nil || skip.Skipped() != 3 || skip.Len() != 1 {
			t.Errorf("%v; %d were skipped, %d are left", err, skip.Skipped(), skip.Len())
		}
		if got := collect(ctx, drop); !slices.Equal(got, []int{0, 1}) || drop.Err() != broadcast.ErrSlow {
			t.Errorf("the dropped reader has %v, %v", got, drop.Err())
		}

		wait := topic.Subscribe(1, broadcast.Wait)
		must(t, topic.Publish(ctx, 5))
		publisher := rondo.Go(ctx, func(ctx context.Context) error { return topic.Publish(ctx, 6) })
		_ = rondo.Sleep(ctx, time.Second)
		if i := publisher.Info(); i.Waiting != "publish" || i.Of != "news" || topic.TryPublish(7) {
			t.Errorf("the publisher waits for %q of %q", i.Waiting, i.Of)
		}
		for want := 5; want <= 6; want++ {
			if v, err := wait.Next(ctx); v != want || err != nil {
				t.Errorf("Next returned %d, %v, want %d", v, err, want)
			}
		}
		must(t, publisher.Wait(ctx))
		must(t, topic.Publish(ctx, 8))
		other := rondo.Go(ctx, func(ctx context.Context) error { return topic.Publish(ctx, 9) })
		_ = rondo.Sleep(ctx, time.Second)
		wait.Close() // it is not waited for any more
		wait.Close()
		must(t, other.Wait(ctx))
		if _, err := wait.Next(ctx); err != broadcast.ErrClosed || wait.Len() != 0 {
			t.Errorf("a closed Subscription: %v, %d values", err, wait.Len())
		}
	})
}

// TestTopicInEveryOrder: two publishers, a slow reader, a cancellation. Each value that
// was published is read once, by both readers in the same order; one that was not is read
// by none.
func TestTopicInEveryOrder(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		var topic broadcast.Topic[int]
		slow, all := topic.Subscribe(1, broadcast.Wait), topic.Subscribe(9, broadcast.Drop)
		var published, got []int
		publish := func(v int) *rondo.Task {
			return rondo.Go(ctx, func(ctx context.Context) error {
				err := topic.Publish(ctx, v)
				if err == nil {
					published = append(published, v)
				}
				return nil
			})
		}
		must(t, topic.Publish(ctx, 0))
		a, b := publish(1), publish(2)
		rondo.Go(ctx, func(context.Context) error { a.Cancel(errStop); return nil })
		reader := rondo.Go(ctx, func(ctx context.Context) error {
			for {
				var v int
				if _, err := rondo.Select(ctx, slow.NextCase(&v)); err != nil {
					return nil
				}
				got = append(got, v)
			}
		})
		_, _ = a.Wait(ctx), b.Wait(ctx)
		topic.Close()
		_ = reader.Wait(ctx)
		want := append([]int{0}, published...)
		if rest := collect(ctx, all); !slices.Equal(got, want) || !slices.Equal(rest, want) {
			t.Errorf("%v were published; the readers have %v and %v", want, got, rest)
		}
		if len(published) == 0 {
			t.Error("a Publish that was not cancelled has not published")
		}
	})
}

// TestTopicGetCancelled: a value that a cancelled Next was promised is read by the next.
func TestTopicGetCancelled(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		var topic broadcast.Topic[int]
		s := topic.Subscribe(1, broadcast.Wait)
		first := rondo.Async(ctx, s.Next)
		rondo.Go(ctx, func(context.Context) error { first.Cancel(errStop); return nil })
		rondo.Go(ctx, func(ctx context.Context) error { return topic.Publish(ctx, 1) })
		v, err := first.Wait(ctx)
		if err == errStop {
			v, err = s.Next(ctx)
		}
		if v != 1 || err != nil {
			t.Errorf("Next returned %d, %v", v, err)
		}
		if !topic.TryPublish(2) {
			t.Error("there is no room, though all was read")
		}
	})
}

func TestTopicMistakes(t *testing.T) {
	var topic broadcast.Topic[int]
	panics(t, "Subscribe with a limit that is not positive", func() { topic.Subscribe(0, broadcast.Wait) })
	panics(t, "Subscribe with a Slow that is none of Wait, Skip and Drop", func() { topic.Subscribe(1, broadcast.Drop+1) })
	s := topic.Subscribe(1, broadcast.Wait)
	panics(t, "NextCase with a nil pointer", func() { s.NextCase(nil) })
	panics(t, "rondo: broadcast.Subscription.All: this ctx belongs to no running loop", func() { collect(context.Background(), s) })
	if err := topic.Publish(context.Background(), 1); err == nil || s.Len() != 0 {
		t.Errorf("Publish with a ctx of no loop: %v", err)
	}
	sim.Test(t, func(ctx context.Context) {
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Cancel(errStop)
			if err := topic.Publish(g, 1); err != errStop || s.Len() != 0 {
				t.Errorf("Publish in a cancelled scope returned %v", err)
			}
			return nil
		})
	})
}
