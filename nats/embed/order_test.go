package embed_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/nats"
)

// TestOrderedKeys: with a consumer for each partition of the keys, which has one job under way at a
// time, the jobs of a key are done in order by any number of workers, also where one fails. Letters
// can be given back.
func TestOrderedKeys(t *testing.T) {
	discardLogs(t)
	const partitions, keys, each = 3, 5, 8
	run(t, withStore(t), func(g *rondo.Scope, url string) error {
		c, err := nats.Connect(g, url)
		if err != nil {
			return err
		}
		js, err := jetstream.New(c.NC())
		if err != nil {
			return err
		}
		var consumers []jetstream.Consumer
		var letters jetstream.Consumer
		err = rondo.OffloadFunc(g, func(context.Context) error {
			ctx := context.Background()
			_, err := js.CreateStream(ctx, jetstream.StreamConfig{
				Name: "ORDERS", Subjects: []string{"order.*", "order.*.*"}, Retention: jetstream.WorkQueuePolicy,
				SubjectTransform: &jetstream.SubjectTransformConfig{
					Source: "order.*", Destination: fmt.Sprintf("order.{{partition(%d,1)}}.{{wildcard(1)}}", partitions),
				},
			})
			for i := 0; i < partitions && err == nil; i++ {
				var c jetstream.Consumer
				c, err = js.CreateConsumer(ctx, "ORDERS", jetstream.ConsumerConfig{
					Durable: fmt.Sprint("partition", i), FilterSubject: fmt.Sprintf("order.%d.*", i),
					AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 1,
				})
				consumers = append(consumers, c)
			}
			if err == nil {
				_, err = js.CreateStream(ctx, jetstream.StreamConfig{Name: "DEAD", Subjects: []string{"dead"}})
			}
			if err == nil {
				letters, err = js.CreateConsumer(ctx, "DEAD", jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy})
			}
			return err
		})
		if err != nil {
			return err
		}
		for n := range each {
			for k := range keys {
				if err := nats.Enqueue(g, js, fmt.Sprint("order.", k), "", fmt.Append(nil, n)); err != nil {
					return err
				}
			}
		}
		done, left := make(map[string]int), rondo.NewQueue[bool](0)
		busy, failed := make(map[string]bool), make(map[string]bool)
		do := func(ctx context.Context, m jetstream.Msg) error {
			key := m.Subject()
			if string(m.Data()) == "hopeless" {
				if !failed["hopeless"] {
					failed["hopeless"] = true
					return nats.ErrNoRetry
				}
				return left.Put(ctx, true)
			}
			if n := fmt.Sprint(done[key]); busy[key] || n != string(m.Data()) {
				t.Errorf("%s: job %s comes after %s are done, while another one runs: %v", key, m.Data(), n, busy[key])
			}
			busy[key] = true
			defer delete(busy, key)
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
			if !failed[key] {
				failed[key] = true
				return errors.New("failed once")
			}
			done[key]++
			return left.Put(ctx, true)
		}
		w := &nats.Worker{Conn: c, DeadLetters: "dead", Backoff: func(jetstream.Msg, error) time.Duration { return time.Millisecond }}
		for range 2 { // as two processes would
			for _, c := range consumers {
				if err := w.Work(g, c, 4, do); err != nil {
					return err
				}
			}
		}
		for range keys * each {
			if _, err := left.Get(g); err != nil {
				return err
			}
		}
		err = nats.Work(g, letters, 1, func(ctx context.Context, m jetstream.Msg) error {
			err := nats.Redeliver(ctx, js, m)
			if err != nil {
				g.Cancel(err)
			}
			return err
		})
		if err := errors.Join(err, nats.Enqueue(g, js, "order.0", "", []byte("hopeless"))); err != nil {
			return err
		}
		_, err = left.Get(g)
		return err
	})
}
