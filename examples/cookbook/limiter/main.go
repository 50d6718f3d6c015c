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

// wait waits until l lets one more event happen. l.Wait itself would stop the loop, so
// this reserves a time, by the loop's clock, and sleeps until then.
func wait(ctx context.Context, l *rate.Limiter) error {
	now := rondo.Now(ctx)
	event := l.ReserveN(now, 1)
	err := rondo.Sleep(ctx, event.DelayFrom(now))
	if err != nil {
		event.CancelAt(rondo.Now(ctx)) // others may have its place
	}
	return err
}

func limited(ctx context.Context, n int, do func(i int, after time.Duration)) error {
	l, start := rate.NewLimiter(100, 5), rondo.Now(ctx)
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		for i := range n {
			g.Go(func(ctx context.Context) error {
				if err := wait(ctx, l); err != nil {
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
