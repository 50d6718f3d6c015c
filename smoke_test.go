package rondo_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
)

func TestSmoke(t *testing.T) {
	var log []string
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			for i := range 3 {
				g.Go(func(ctx context.Context) error {
					for j := range 2 {
						log = append(log, fmt.Sprint(i, j))
						rondo.Yield(ctx)
					}
					return nil
				})
			}
			return nil
		})
		if err != nil {
			return err
		}
		err = rondo.Timeout(ctx, time.Millisecond, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		v, err := rondo.Offload(ctx, func(ctx context.Context) (int, error) { return 7, nil })
		if v != 7 || err != nil {
			t.Error(v, err)
		}
		return nil
	})
	t.Log(log, err)
}

func BenchmarkPull(b *testing.B) {
	next, stop := iter.Pull(func(yield func(struct{}) bool) {
		for yield(struct{}{}) {
		}
	})
	defer stop()
	for b.Loop() {
		next()
	}
}
func benchSwitch(b *testing.B, n int) {
	rondo.Run(context.Background(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			b.ReportAllocs()
			per := b.N/n + 1
			for range n {
				g.Go(func(ctx context.Context) error {
					for range per {
						rondo.Yield(ctx)
					}
					return nil
				})
			}
			b.ResetTimer()
			return nil
		})
	})
}
func BenchmarkYield1(b *testing.B)     { benchSwitch(b, 1) }
func BenchmarkSwitch2(b *testing.B)    { benchSwitch(b, 2) }
func BenchmarkSwitch1000(b *testing.B) { benchSwitch(b, 1000) }
func BenchmarkSpawnJoin(b *testing.B) {
	b.ReportAllocs()
	rondo.Run(context.Background(), func(ctx context.Context) error {
		for range b.N {
			rondo.Go(ctx, func(ctx context.Context) error { return nil }).Wait(ctx)
		}
		return nil
	})
}
func BenchmarkGoChan(b *testing.B) {
	b.ReportAllocs()
	for range b.N {
		c := make(chan struct{})
		go func() { close(c) }()
		<-c
	}
}
func BenchmarkGroup100k(b *testing.B) {
	b.ReportAllocs()
	rondo.Run(context.Background(), func(ctx context.Context) error {
		for b.Loop() {
			rondo.Group(ctx, func(g *rondo.Scope) error {
				for range 100000 {
					g.Go(func(ctx context.Context) error { return nil })
				}
				return nil
			})
		}
		return nil
	})
}
func BenchmarkSleep100k(b *testing.B) {
	b.ReportAllocs()
	rondo.Run(context.Background(), func(ctx context.Context) error {
		for b.Loop() {
			rondo.Group(ctx, func(g *rondo.Scope) error {
				for range 100000 {
					g.Go(func(ctx context.Context) error { return rondo.Sleep(ctx, time.Millisecond) })
				}
				return nil
			})
		}
		return nil
	})
}
func BenchmarkSleep100kGo(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		c := make(chan struct{})
		for range 100000 {
			go func() { time.Sleep(time.Millisecond); c <- struct{}{} }()
		}
		for range 100000 {
			<-c
		}
	}
}
func BenchmarkMutex(b *testing.B) {
	rondo.Run(context.Background(), func(ctx context.Context) error {
		var m rondo.Mutex
		for range b.N {
			m.Lock(ctx)
			m.Unlock()
		}
		return nil
	})
}
func BenchmarkOffload(b *testing.B) {
	b.ReportAllocs()
	rondo.Run(context.Background(), func(ctx context.Context) error {
		for range b.N {
			rondo.Offload(ctx, func(ctx context.Context) (int, error) { return 1, nil })
		}
		return nil
	})
}
