package shard_test

import (
	"context"
	"fmt"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/shard"
)

// Each shard owns a count, without a lock. The first shard adds to all of them.
func Example() {
	r := shard.Runner{Loops: 3}
	counts := make([]int, 3) // each element belongs to one shard
	err := r.Run(context.Background(), func(ctx context.Context, s *shard.Shard) error {
		if s.Index() != 0 {
			return nil // serves the calls that come to it
		}
		for key := range 10 {
			owner := s.At(key % s.Len())
			_, err := shard.Call(ctx, owner, func(ctx context.Context) (int, error) {
				counts[owner.Index()]++
				return counts[owner.Index()], nil
			})
			if err != nil {
				return err
			}
		}
		all, err := shard.Each(ctx, func(ctx context.Context, s *shard.Shard) (int, error) { return counts[s.Index()], nil })
		fmt.Println(all)
		return err
	})
	fmt.Println(err)
	// Output:
	// [4 3 3]
	// <nil>
}

// A value goes from shard to shard through a Chan.
func ExampleNewChan() {
	r := shard.Runner{Loops: 2}
	words := shard.NewChan[string](8)
	err := r.Run(context.Background(), func(ctx context.Context, s *shard.Shard) error {
		if s.Index() == 1 {
			for w := range words.All(ctx) {
				fmt.Println(s, "got", w)
			}
			return rondo.Check(ctx)
		}
		defer words.Close()
		for _, w := range []string{"one", "two"} {
			if err := words.Send(ctx, w); err != nil {
				return err
			}
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// shard-1 got one
	// shard-1 got two
	// <nil>
}
