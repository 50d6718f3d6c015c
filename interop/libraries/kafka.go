package libraries

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rondo-go/rondo"
)

// consume has handle called with each record, in a task for each partition, and commits what
// has been handled. The client has the options DisableAutoCommit and BlockRebalanceOnPoll.
func consume(ctx context.Context, client *kgo.Client, handle func(ctx context.Context, r *kgo.Record) error) error {
	for {
		fetches, err := rondo.Offload(ctx, func(ctx context.Context) (kgo.Fetches, error) {
			fetches := client.PollRecords(ctx, 1000)
			return fetches, fetches.Err()
		})
		if err != nil {
			return err
		}
		err = rondo.Group(ctx, func(g *rondo.Scope) error {
			for _, records := range partitions(fetches) {
				g.Go(func(ctx context.Context) error {
					for _, r := range records {
						if err := handle(ctx, r); err != nil {
							return err
						}
					}
					return nil
				})
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := rondo.OffloadFunc(ctx, client.CommitUncommittedOffsets); err != nil {
			return err
		}
		client.AllowRebalance()
	}
}

// partitions returns the records of each partition.
func partitions(fetches kgo.Fetches) (list [][]*kgo.Record) {
	fetches.EachPartition(func(p kgo.FetchTopicPartition) { list = append(list, p.Records) })
	return list
}

// produce suspends the task until the record is stored. Records of tasks that wait at the same
// time go out together.
func produce(ctx context.Context, client *kgo.Client, r *kgo.Record) error {
	stored := rondo.NewFuture[*kgo.Record](ctx)
	client.TryProduce(ctx, r, func(r *kgo.Record, err error) {
		if err != nil {
			stored.Fail(err)
			return
		}
		stored.Set(r)
	})
	_, err := stored.Wait(ctx)
	return err
}
