package shard_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/shard"
)

// BenchmarkCall calls a function of another shard, from one task and from 64.
func BenchmarkCall(b *testing.B) {
	for _, callers := range []int{1, 64} {
		b.Run(map[int]string{1: "alone", 64: "64 callers"}[callers], func(b *testing.B) {
			b.ReportAllocs()
			onFirst(b, 2, func(ctx context.Context, s *shard.Shard) error {
				to := s.At(1)
				left := b.N
				b.ResetTimer()
				return rondo.Group(ctx, func(g *rondo.Scope) error {
					for range callers {
						g.Go(func(ctx context.Context) error {
							for left > 0 {
								left--
								if _, err := shard.Call(ctx, to, func(context.Context) (int, error) { return 1, nil }); err != nil {
									return err
								}
							}
							return nil
						})
					}
					return nil
				})
			})
		})
	}
}

// BenchmarkChan sends values from one shard to another, beside a channel of Go
// between two goroutines.
func BenchmarkChan(b *testing.B) {
	for _, n := range []int{1, 64} {
		b.Run(fmt.Sprint("rondo ", n), func(b *testing.B) {
			c := shard.NewChan[int](n)
			mustRun(b, 2, func(ctx context.Context, s *shard.Shard) error {
				if s.Index() == 1 {
					for range c.All(ctx) {
					}
					return nil
				}
				for i := range b.N {
					if err := c.Send(ctx, i); err != nil {
						return err
					}
				}
				c.Close()
				return nil
			})
		})
		b.Run(fmt.Sprint("go ", n), func(b *testing.B) {
			c := make(chan int, n)
			done := make(chan bool)
			go func() {
				for range c {
				}
				close(done)
			}()
			for i := range b.N {
				c <- i
			}
			close(c)
			<-done
		})
	}
}
