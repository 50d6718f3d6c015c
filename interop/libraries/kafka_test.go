package libraries

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rondo-go/rondo"
)

// newKafka starts a broker with a topic of two partitions, and returns a function that makes
// clients of it.
func newKafka(t *testing.T) (newClient func(...kgo.Opt) *kgo.Client) {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "orders"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	return func(opts ...kgo.Opt) *kgo.Client {
		client, err := kgo.NewClient(append(opts, kgo.SeedBrokers(cluster.ListenAddrs()...))...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.CloseAllowingRebalance)
		return client
	}
}

var group = []kgo.Opt{kgo.ConsumerGroup("shop"), kgo.ConsumeTopics("orders"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll()}

// TestKafka: records of many tasks are stored; those of a partition are handled in their order,
// each once; those that failed come again, to the next consumer.
func TestKafka(t *testing.T) {
	const orders = 200
	newClient := newKafka(t)
	producer := newClient(kgo.DefaultProduceTopic("orders"), kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)))
	fault, enough := errors.New("fault"), errors.New("enough")
	seen, last := make(map[string]int), make(map[int32]int64)
	run(t, func(ctx context.Context) error {
		err := all(ctx, orders, func(ctx context.Context, i int) error {
			return produce(ctx, producer, &kgo.Record{Key: []byte(strconv.Itoa(i)), Value: []byte("order")})
		})
		if err != nil {
			return err
		}
		first := newClient(group...)
		err = consume(ctx, first, func(context.Context, *kgo.Record) error { return fault })
		if !errors.Is(err, fault) {
			t.Error("a handler that fails ended it with", err)
		}
		if err := rondo.OffloadFunc(ctx, func(context.Context) error { first.CloseAllowingRebalance(); return nil }); err != nil {
			return err
		}
		consuming := rondo.Go(ctx, func(ctx context.Context) error {
			return consume(ctx, newClient(group...), func(ctx context.Context, r *kgo.Record) error {
				if before, ok := last[r.Partition]; ok && r.Offset != before+1 {
					t.Errorf("partition %d: %d after %d", r.Partition, r.Offset, before)
				}
				last[r.Partition] = r.Offset
				seen[string(r.Key)]++
				return rondo.Yield(ctx)
			})
		})
		if err := until(ctx, func() bool { return len(seen) == orders || consuming.Done() }); err != nil {
			return err
		}
		consuming.Cancel(enough)
		if err := consuming.Wait(ctx); !errors.Is(err, enough) {
			t.Error("a consumer that was cancelled returned", err)
		}
		return nil
	})
	for key, n := range seen {
		if n != 1 {
			t.Errorf("order %s was handled %d times", key, n)
		}
	}
	if len(last) != 2 {
		t.Errorf("%d partitions were read, not 2", len(last))
	}
}

// TestKafkaFull: a producer whose buffer is full fails, and does not stop the loop.
func TestKafkaFull(t *testing.T) {
	producer := newKafka(t)(kgo.DefaultProduceTopic("orders"), kgo.MaxBufferedRecords(1), kgo.ProducerLinger(0))
	run(t, func(ctx context.Context) error {
		full := 0
		err := all(ctx, 20, func(ctx context.Context, _ int) error {
			err := produce(ctx, producer, kgo.StringRecord("order"))
			if errors.Is(err, kgo.ErrMaxBuffered) {
				full++
				return nil
			}
			return err
		})
		if full == 0 {
			t.Error("a buffer for one record took 20")
		}
		return err
	})
}
