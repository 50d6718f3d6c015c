// Command limiter lets 20 tasks do something 100 times a second, with a burst of 5.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"golang.org/x/time/rate"

	"github.com/rondo-go/rondo"
)

func limited(ctx context.Context, n int, do func(i int, after time.Duration)) error {
	l, start := rate.NewLimiter(100, 5), rondo.Now(ctx)
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		for i := range n {
			g.Go(func(ctx context.Context) error {
				// l.Wait would stop the loop: reserve a time by the loop's clock, and sleep.
				if err := rondo.Sleep(ctx, l.ReserveN(rondo.Now(ctx), 1).DelayFrom(rondo.Now(ctx))); err != nil {
					return err
				}
				do(i, rondo.Now(ctx).Sub(start))
				return nil
			})
		}
		return nil
	})
}

func main() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		return limited(ctx, 20, func(i int, after time.Duration) { fmt.Println(i, after.Round(10*time.Millisecond)) })
	})
	if err != nil {
		log.Fatal(err)
	}
}
