package rondo_test

import (
	"context"
	"fmt"
	"time"

	"github.com/rondo-go/rondo"
)

// At most two of five requests are under way at any time.
func ExampleSemaphore() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		s := rondo.NewSemaphore(2)
		now, most := 0, 0
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			for range 5 {
				g.Go(func(ctx context.Context) error {
					if err := s.Acquire(ctx); err != nil {
						return err
					}
					defer s.Release()
					now++
					most = max(most, now)
					err := rondo.Sleep(ctx, time.Millisecond) // the request
					now--
					return err
				})
			}
			return nil
		})
		fmt.Println("at most", most, err)
		return nil
	})
	// Output: at most 2 <nil>
}

// A Cond waits for what a Mutex guards, here for money enough.
func ExampleCond() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		var mu rondo.Mutex
		paid := rondo.Cond{L: &mu}
		balance := 0
		buyer := rondo.Go(ctx, func(ctx context.Context) error {
			if err := mu.Lock(ctx); err != nil {
				return err
			}
			defer mu.Unlock()
			for balance < 50 {
				if err := paid.Wait(ctx); err != nil {
					return err
				}
			}
			balance -= 50
			return nil
		})
		for range 3 {
			if err := mu.Lock(ctx); err != nil {
				return err
			}
			balance += 20
			paid.Signal()
			mu.Unlock()
		}
		err := buyer.Wait(ctx)
		fmt.Println(balance, err)
		return nil
	})
	// Output: 10 <nil>
}

// Three workers finish a phase before any of them begins the next.
func ExampleBarrier() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		b := rondo.NewBarrier(3)
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			for range 3 {
				g.Go(func(ctx context.Context) error {
					for phase := range 2 {
						fmt.Println("phase", phase)
						if _, err := b.Wait(ctx); err != nil {
							return err
						}
					}
					return nil
				})
			}
			return nil
		})
	})
	// Output:
	// phase 0
	// phase 0
	// phase 0
	// phase 1
	// phase 1
	// phase 1
}

func ExampleNewPriorityQueue() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		q := rondo.NewPriorityQueue(0, func(a, b string) bool { return len(a) < len(b) })
		for _, word := range []string{"episode", "theme", "coda", "rondo"} {
			if err := q.Put(ctx, word); err != nil {
				return err
			}
		}
		q.Close()
		for word := range q.All(ctx) {
			fmt.Println(word)
		}
		return nil
	})
	// Output:
	// coda
	// theme
	// rondo
	// episode
}

// Readers read together, also where they wait; a writer is alone.
func ExampleRWMutex() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		var mu rondo.RWMutex
		price, readers := 1, 0
		read := func(ctx context.Context) error {
			if err := mu.RLock(ctx); err != nil {
				return err
			}
			defer mu.RUnlock()
			readers++
			before := price
			err := rondo.Sleep(ctx, time.Millisecond)
			fmt.Println(readers, "read together; changed meanwhile:", price != before)
			return err
		}
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(read)
			g.Go(read)
			g.Go(func(ctx context.Context) error {
				if err := mu.Lock(ctx); err != nil {
					return err
				}
				defer mu.Unlock()
				price++
				fmt.Println("price", price)
				return nil
			})
			return nil
		})
	})
	// Output:
	// 2 read together; changed meanwhile: false
	// 2 read together; changed meanwhile: false
	// price 2
}

// A stack gives what was put last first, here for a walk that goes deep.
func ExampleNewStack() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		q := rondo.NewStack[string](0)
		for _, word := range []string{"theme", "episode", "coda"} {
			q.TryPut(word)
		}
		q.Close()
		for word := range q.All(ctx) {
			fmt.Println(word)
		}
		return nil
	})
	// Output:
	// coda
	// episode
	// theme
}
