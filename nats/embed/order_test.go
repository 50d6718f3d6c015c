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
	"github.com/rondo-go/rondo/shard"
)

// partitioned makes a stream that puts jobs into partitions by their key, with a consumer for each.
func partitioned(ctx context.Context, js jetstream.JetStream, partitions int) (consumers []jetstream.Consumer, err error) {
	_, err = js.CreateStream(ctx, jetstream.StreamConfig{
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
	return consumers, err
}

// TestOrderedKeys: with a consumer for each partition of the keys, which has one job under way at a
// time, the jobs of a key are done in order by any number of workers, also where one fails. Letters
// can be given back.
func TestOrderedKeys(t *testing.T) {
	const partitions, keys, each = 3, 5, 8
	run(t, withStore(t), func(g *rondo.Scope, url string) error {
		c := connect(t, g, url)
		js, err := jetStream(c)
		if err != nil {
			return err
		}
		var consumers []jetstream.Consumer
		var letters jetstream.Consumer
		err = rondo.OffloadFunc(g, func(context.Context) (err error) {
			ctx := context.Background()
			consumers, err = partitioned(ctx, js, partitions)
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

// TestKeysOfShard: if each shard of each worker does partitions of its own, the jobs of a key run
// on one shard of one worker, which keeps the state of its keys without a lock.
func TestKeysOfShard(t *testing.T) {
	const partitions, workers, loops, keys, each = 8, 2, 2, 12, 5
	run(t, withStore(t), func(g *rondo.Scope, url string) error {
		c := connect(t, g, url)
		js, err := jetStream(c)
		if err == nil {
			err = rondo.OffloadFunc(g, func(ctx context.Context) error {
				_, err := partitioned(ctx, js, partitions)
				return err
			})
		}
		if err != nil {
			return err
		}
		type done struct {
			key, by string
			n       int
		}
		all := make(chan done, keys*each)
		work := func(me int) func(ctx context.Context, s *shard.Shard) error {
			return func(ctx context.Context, s *shard.Shard) error {
				return rondo.Group(ctx, func(g *rondo.Scope) error {
					c := connect(t, g, url)
					js, err := jetStream(c)
					if err != nil {
						return err
					}
					counts := make(map[string]int) // of the shard
					for p := range partitions {
						if p%workers != me || p/workers%s.Len() != s.Index() {
							continue
						}
						consumer, err := rondo.Offload(g, func(ctx context.Context) (jetstream.Consumer, error) {
							return js.Consumer(ctx, "ORDERS", fmt.Sprint("partition", p))
						})
						if err != nil {
							return err
						}
						err = nats.Work(g, consumer, 1, func(ctx context.Context, m jetstream.Msg) error {
							counts[m.Subject()]++
							all <- done{m.Subject(), fmt.Sprint("worker ", me, " shard ", s.Index()), counts[m.Subject()]}
							return nil
						})
						if err != nil {
							return err
						}
					}
					return rondo.WaitCanceled(g)
				})
			}
		}
		return rondo.Group(g, func(g *rondo.Scope) error {
			for me := range workers {
				g.Go(func(ctx context.Context) error {
					return rondo.OffloadFunc(ctx, func(ctx context.Context) error {
						return (&shard.Runner{Loops: loops}).Run(ctx, work(me))
					})
				})
			}
			for range each {
				for k := range keys {
					if err := nats.Enqueue(g, js, fmt.Sprint("order.", k), "", nil); err != nil {
						return err
					}
				}
			}
			owner, counts := make(map[string]string), make(map[string]int)
			for range keys * each {
				d, _, err := rondo.Receive(g, all)
				if err != nil {
					return err
				}
				if counts[d.key]++; d.n != counts[d.key] || owner[d.key] != "" && owner[d.key] != d.by {
					t.Errorf("job %d of %s is the %d of %s, which did not do those before", counts[d.key], d.key, d.n, d.by)
				}
				owner[d.key] = d.by
			}
			by := make(map[string]bool)
			for _, name := range owner {
				by[name] = true
			}
			if len(by) < 3 {
				t.Errorf("all keys are those of %v", by)
			}
			g.Cancel(nil)
			return nil
		})
	})
}

// TestResults: a job stores its result under its id in a bucket, where the one who has enqueued it
// waits for it. A job that runs twice writes it twice.
func TestResults(t *testing.T) {
	withSite(t, 0, time.Hour, func(g *rondo.Scope, _ string, s *site) error {
		results, err := rondo.Offload(g, func(ctx context.Context) (jetstream.KeyValue, error) {
			return s.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "results", TTL: time.Hour})
		})
		if err != nil {
			return err
		}
		runs := 0
		w := &nats.Worker{Conn: s.Conn, Backoff: func(jetstream.Msg, error) time.Duration { return 0 }}
		err = w.Work(g, s.consumer, 1, func(ctx context.Context, m jetstream.Msg) error {
			runs++
			err := rondo.OffloadFunc(ctx, func(ctx context.Context) error {
				_, err := results.Put(ctx, m.Headers().Get(jetstream.MsgIDHeader), append([]byte("result of "), m.Data()...))
				return err
			})
			if runs == 1 {
				return errors.New("after the result")
			}
			return err
		})
		if err != nil {
			return err
		}
		for _, late := range []bool{false, true} { // the result is there before anyone waits for it
			id := fmt.Sprint("report-", late)
			if err := nats.Enqueue(g, s.js, "job.a", id, []byte(id)); err != nil {
				return err
			}
			if late {
				if err := s.count(g, "JOBS", 0); err != nil {
					return err
				}
			}
			result, err := resultOf(g, results, id)
			if err != nil || result != "result of "+id {
				t.Errorf("the result is %q: %v", result, err)
			}
		}
		return s.count(g, "JOBS", 0)
	})
}

// resultOf waits until a job has stored its result under its id.
func resultOf(ctx context.Context, results jetstream.KeyValue, id string) (string, error) {
	return rondo.Offload(ctx, func(ctx context.Context) (string, error) {
		w, err := results.Watch(ctx, id)
		if err != nil {
			return "", err
		}
		defer w.Stop()
		for {
			select {
			case e := <-w.Updates():
				if e != nil { // nil: there was none so far
					return string(e.Value()), nil
				}
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		}
	})
}
