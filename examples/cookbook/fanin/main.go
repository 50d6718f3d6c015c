// Command fanin merges what several sources send, each at its own pace, until all have
// ended or nothing has come for a second.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/rondo-go/rondo"
)

// source puts n values into a queue, one every d.
func source(ctx context.Context, name string, n int, d time.Duration, to *rondo.Queue[string]) error {
	for i := range n {
		if err := rondo.Sleep(ctx, d); err != nil {
			return err
		}
		if err := to.Put(ctx, fmt.Sprint(name, i)); err != nil {
			return err
		}
	}
	return nil
}

func merge(ctx context.Context, take func(v string)) error {
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		merged := rondo.NewQueue[string](0)
		g.Go(func(ctx context.Context) error {
			defer merged.Close() // when all sources have ended
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(func(ctx context.Context) error { return source(ctx, "a", 3, 20*time.Millisecond, merged) })
				g.Go(func(ctx context.Context) error { return source(ctx, "b", 2, 31*time.Millisecond, merged) })
				return nil
			})
		})
		for {
			var v string
			switch i, err := rondo.Select(g, merged.GetCase(&v), rondo.After(time.Second)); {
			case errors.Is(err, rondo.ErrQueueClosed):
				return nil
			case err != nil:
				return err
			case i == 1:
				return errors.New("a second without a value")
			}
			take(v)
		}
	})
}

func main() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		return merge(ctx, func(v string) { fmt.Println(v) })
	})
	if err != nil {
		log.Fatal(err)
	}
}
