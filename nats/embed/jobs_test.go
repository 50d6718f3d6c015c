package embed_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/nats"
)

// stream makes a work queue, with a consumer.
func stream(ctx context.Context, c *nats.Conn, wait time.Duration) (js jetstream.JetStream, consumer jetstream.Consumer, err error) {
	err = rondo.OffloadFunc(ctx, func(context.Context) (err error) {
		ctx := context.Background()
		if js, err = jetStream(c); err != nil {
			return err
		}
		_, err = js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
			Name: "JOBS", Subjects: []string{"job.>"}, Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage,
		})
		if err != nil {
			return err
		}
		consumer, err = js.CreateOrUpdateConsumer(ctx, "JOBS", jetstream.ConsumerConfig{
			Durable: "workers", AckPolicy: jetstream.AckExplicitPolicy, AckWait: wait,
		})
		return err
	})
	return js, consumer, err
}

// withStore are the options of a server that stores.
func withStore(t *testing.T) server.Options {
	return server.Options{JetStream: true, StoreDir: t.TempDir()}
}

// left returns how many jobs are stored.
func left(ctx context.Context, js jetstream.JetStream) (uint64, error) {
	return rondo.Offload(ctx, func(ctx context.Context) (uint64, error) {
		s, err := js.Stream(ctx, "JOBS")
		if err != nil {
			return 0, err
		}
		return s.CachedInfo().State.Msgs, nil
	})
}

// TestJobs: each job is done once, limit at once, and one that fails again later. A job with an
// id is stored once.
func TestJobs(t *testing.T) {
	t.Parallel()
	run(t, withStore(t), func(g *rondo.Scope, url string) error {
		c := connect(t, g, url)
		js, consumer, err := stream(g, c, time.Hour)
		if err != nil {
			return err
		}
		const n, limit = 50, 4
		for i := range n {
			for range 2 {
				if err := nats.Enqueue(g, js, "job.a", fmt.Sprint("id ", i), fmt.Append(nil, i)); err != nil {
					return err
				}
			}
		}
		if stored, err := left(g, js); stored != n || err != nil {
			t.Errorf("%d jobs are stored, %v; want %d", stored, err, n)
		}
		runs := make(map[string]int)
		running, most := 0, 0
		var full rondo.Event // the first ones wait until limit run
		done := rondo.NewQueue[string](0)
		err = nats.Work(g, consumer, limit, func(ctx context.Context, m jetstream.Msg) error {
			id := string(m.Data())
			runs[id]++
			running++
			most = max(most, running)
			defer func() { running-- }()
			if running == limit && !full.IsSet() {
				for range 10 { // meanwhile too many may come
					if _, err := left(ctx, js); err != nil {
						return err
					}
				}
				full.Set()
			}
			if err := full.Wait(ctx); err != nil {
				return err
			}
			if name := rondo.Current(ctx).Name(); name != "job.a" {
				t.Errorf("the task is called %s", name)
			}
			if id == "7" && runs[id] < 3 {
				return errors.New("not today")
			}
			return done.Put(ctx, id)
		})
		if err != nil {
			return err
		}
		for range n {
			if _, err := done.Get(g); err != nil {
				return err
			}
		}
		for {
			stored, err := left(g, js)
			if err != nil {
				return err
			}
			if stored == 0 {
				break
			}
		}
		for i := range n {
			want := 1
			if i == 7 {
				want = 3
			}
			if got := runs[fmt.Sprint(i)]; got != want {
				t.Errorf("job %d ran %d times, want %d", i, got, want)
			}
		}
		if most != limit {
			t.Errorf("%d ran at once, want %d", most, limit)
		}
		return nil
	})
}

// TestJobsCancelled: what a worker has begun when it ends is delivered to another at
// once, however long AckWait is; and a consumer that is gone fails its worker.
func TestJobsCancelled(t *testing.T) {
	run(t, withStore(t), func(g *rondo.Scope, url string) error {
		c := connect(t, g, url)
		js, consumer, err := stream(g, c, time.Hour)
		if err != nil {
			return err
		}
		for i := range 5 {
			if err := nats.Enqueue(g, js, "job.b", "", fmt.Append(nil, i)); err != nil {
				return err
			}
		}
		err = rondo.Group(g, func(g *rondo.Scope) error {
			begun := 0
			return nats.Work(g, consumer, 3, func(ctx context.Context, m jetstream.Msg) error {
				if begun++; begun == 3 {
					g.Cancel(nil)
				}
				return rondo.Sleep(ctx, time.Hour)
			})
		})
		if err != nil {
			return err
		}
		err = rondo.Group(g, func(g *rondo.Scope) error {
			done := 0
			return nats.Work(g, consumer, 3, func(ctx context.Context, m jetstream.Msg) error {
				if done++; done == 5 {
					return rondo.OffloadFunc(ctx, func(ctx context.Context) error { return js.DeleteConsumer(ctx, "JOBS", "workers") })
				}
				return nil
			})
		})
		if !errors.Is(err, jetstream.ErrConsumerDeleted) && !errors.Is(err, jetstream.ErrConsumerNotFound) {
			t.Errorf("without a consumer Work ended with %v", err)
		}
		// Now no request was on its way when the consumer was deleted, and nothing answers.
		err = rondo.Group(g, func(g *rondo.Scope) error {
			return nats.Work(g, consumer, 3, func(context.Context, jetstream.Msg) error { return nil })
		})
		if !errors.Is(err, jetstream.ErrConsumerNotFound) {
			t.Errorf("with a consumer that was deleted before, Work ended with %v", err)
		}
		return nil
	})
}
