package main

// Rows of shards, which pass each other a call with its result, and a
// value through a Chan. Both sides use two processors.

import (
	"context"
	"sync"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/shard"
)

func shardRows() []comparison {
	const why = "A call starts a task on the other loop, which has a stack and can wait, be cancelled and be named; the goroutine that answers here only answers."
	return []comparison{
		{
			name: "call-64", what: "shard.Call, 64 callers at once, 2 CPUs",
			rival: "two channels and a goroutine that answers", limit: 1600 * time.Nanosecond, allowed: 5, procs: 2,
			mine: shardCall(64), theirs: channelCall(64),
			why: why,
		},
		{
			name: "chan-64", what: "a value through a shard.Chan of 64, 2 CPUs",
			rival: "a channel of 64", budget: 2, allowed: 0, procs: 2,
			mine: shardChan, theirs: channel,
			why: "A task checks at each operation that it runs on its loop and is not cancelled, and counts it, so that others have their turn.",
		},
	}
}

// onShards runs main on the first of two shards.
func onShards(main func(ctx context.Context, other *shard.Shard) error) {
	r := shard.Runner{Loops: 2}
	err := r.Run(context.Background(), func(ctx context.Context, s *shard.Shard) error {
		if s.Index() > 0 {
			return nil
		}
		return main(ctx, s.At(1))
	})
	if err != nil {
		panic(err)
	}
}

// shardCall makes each operation a call of one of so many tasks.
func shardCall(callers int) func(options) side {
	return func(options) side {
		return func(c clock, n int) {
			onShards(func(ctx context.Context, other *shard.Shard) error {
				call := func(left int) error {
					return rondo.Group(ctx, func(g *rondo.Scope) error {
						for range callers {
							g.Go(func(ctx context.Context) error {
								for left > 0 {
									left--
									if _, err := shard.Call(ctx, other, seven); err != nil {
										return err
									}
								}
								return nil
							})
						}
						return nil
					})
				}
				return warmed(c, n, call)
			})
		}
	}
}

// channelCall is shardCall for goroutines that each ask one other.
func channelCall(callers int) func(options) side {
	type question struct{ answer chan int }
	return func(options) side {
		return func(c clock, n int) {
			questions := make(chan question)
			go func() {
				for q := range questions {
					q.answer <- 7
				}
			}()
			call := func(n int) {
				var wg sync.WaitGroup
				for i := range callers {
					wg.Go(func() {
						q := question{make(chan int, 1)}
						for range (n + i) / callers {
							questions <- q
							<-q.answer
						}
					})
				}
				wg.Wait()
			}
			infallible(c, n, call)
			close(questions)
		}
	}
}

func shardChan(options) side {
	return func(c clock, n int) {
		values, done := shard.NewChan[int](64), shard.NewChan[bool](1)
		onShards(func(ctx context.Context, other *shard.Shard) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(func(ctx context.Context) error {
					_, err := shard.Call(ctx, other, func(ctx context.Context) (bool, error) {
						for v := range values.All(ctx) {
							if v < 0 {
								if err := done.Send(ctx, true); err != nil {
									return false, err
								}
							}
						}
						return true, rondo.Check(ctx)
					})
					return err
				})
				send := func(n int) error {
					for i := range n {
						if err := values.Send(g, i); err != nil {
							return err
						}
					}
					if err := values.Send(g, -1); err != nil {
						return err
					}
					_, err := done.Recv(g)
					return err
				}
				err := warmed(c, n, send)
				values.Close()
				return err
			})
		})
	}
}

func channel(options) side {
	return func(c clock, n int) {
		values, done := make(chan int, 64), make(chan bool, 1)
		go func() {
			for v := range values {
				if v < 0 {
					done <- true
				}
			}
		}()
		send := func(n int) {
			for i := range n {
				values <- i
			}
			values <- -1
			<-done
		}
		infallible(c, n, send)
		close(values)
	}
}
