package main

// Hand-over rows: what tasks pass to each other and to goroutines, a lock, a
// value through a queue, and a function that runs on a goroutine.

import (
	"context"
	"errors"
	"sync"

	"github.com/rondo-go/rondo"
)

// lockTask makes each operation a Lock, a count and an Unlock.
func lockTask(options) side {
	return func(c clock, n int) {
		inLoop(func(ctx context.Context) error {
			var m rondo.Mutex
			held := 0
			lock := func(n int) error {
				for range n {
					if err := m.Lock(ctx); err != nil {
						return err
					}
					held++
					m.Unlock()
				}
				return nil
			}
			return warmed(c, n, lock)
		})
	}
}

func lockGoroutine(options) side {
	return func(c clock, n int) {
		var m sync.Mutex
		held := 0
		lock := func(n int) {
			for range n {
				m.Lock()
				held++
				m.Unlock()
			}
		}
		infallible(c, n, lock)
	}
}

// queuePingPong makes each operation a value sent to another task and its
// answer. The queues, like the rival's channels, hold one value.
func queuePingPong(options) side {
	return func(c clock, n int) {
		inLoop(func(ctx context.Context) error {
			ping, pong := rondo.NewQueue[int](1), rondo.NewQueue[int](1)
			other := rondo.Go(ctx, func(ctx context.Context) error {
				for v := range ping.All(ctx) {
					if err := pong.Put(ctx, v); err != nil {
						return err
					}
				}
				return nil
			})
			play := func(n int) error {
				for i := range n {
					if err := ping.Put(ctx, i); err != nil {
						return err
					}
					if _, err := pong.Get(ctx); err != nil {
						return err
					}
				}
				return nil
			}
			err := warmed(c, n, play)
			ping.Close()
			return errors.Join(err, other.Wait(ctx))
		})
	}
}

func channelPingPong(options) side {
	return func(c clock, n int) {
		ping, pong := make(chan int, 1), make(chan int, 1)
		go func() {
			for v := range ping {
				pong <- v
			}
			close(pong)
		}()
		play := func(n int) {
			for i := range n {
				ping <- i
				<-pong
			}
		}
		infallible(c, n, play)
		close(ping)
		<-pong
	}
}

// offload makes each operation a function that runs on a goroutine while the
// task waits for its result.
func offload(options) side {
	return func(c clock, n int) {
		inLoop(func(ctx context.Context) error {
			send := func(n int) error {
				for range n {
					if _, err := rondo.Offload(ctx, seven); err != nil {
						return err
					}
				}
				return nil
			}
			return warmed(c, n, send)
		})
	}
}

// answered passes n functions on, most of which count, and waits after each 255 for one that
// answers. So the other side neither falls behind nor is idle for long.
func answered(n int, pass func(fn func())) {
	counted, answer := 0, make(chan int)
	count, reply := func() { counted++ }, func() { answer <- counted }
	for n > 0 {
		some := min(n, 255)
		for range some {
			pass(count)
		}
		pass(reply)
		<-answer
		n -= some
	}
}

// postToLoop makes each operation a function that a goroutine posts to a loop.
func postToLoop(options) side {
	return func(c clock, n int) {
		inLoop(func(ctx context.Context) error {
			l := rondo.LoopOf(ctx)
			return rondo.OffloadFunc(ctx, func(context.Context) error {
				infallible(c, n, func(n int) {
					answered(n, func(fn func()) {
						if err := l.Post(fn); err != nil {
							panic(err)
						}
					})
				})
				return nil
			})
		})
	}
}

func sendToGoroutine(options) side {
	return func(c clock, n int) {
		functions := make(chan func(), 256)
		go func() {
			for fn := range functions {
				fn()
			}
		}()
		infallible(c, n, func(n int) { answered(n, func(fn func()) { functions <- fn }) })
		close(functions)
	}
}

func seven(context.Context) (int, error) { return 7, nil }

func goroutineAndBack(options) side {
	return func(c clock, n int) {
		send := func(n int) {
			for range n {
				result := make(chan int)
				go func() { result <- 7 }()
				<-result
			}
		}
		infallible(c, n, send)
	}
}
