// Command limiter is cookbook/limiter with goroutines.
package main

import (
	"context"
	"fmt"
	"log"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
)

func limited(ctx context.Context, n int, do func(i int, after time.Duration)) error {
	l, start := rate.NewLimiter(100, 5), time.Now()
	g, ctx := errgroup.WithContext(ctx)
	var mu sync.Mutex // do is for one caller at a time
	for i := range n {
		g.Go(func() error {
			if err := l.Wait(ctx); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			do(i, time.Since(start))
			return nil
		})
	}
	return g.Wait()
}

func main() {
	err := limited(context.Background(), 20, func(i int, after time.Duration) { fmt.Println(i, after.Round(10*time.Millisecond)) })
	if err != nil {
		log.Fatal(err)
	}
}
