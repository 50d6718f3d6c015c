// Package outer waits with contexts from outside.
package outer

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/rondo-go/rondo"

	"example.com/mistakes/helper"
)

type store interface {
	Load(ctx context.Context, key string) (string, error)
}

func group(ctx context.Context, q *rondo.Queue[int]) error {
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(func(ctx context.Context) error { return rondo.Sleep(ctx, 1) })
		g.Go(func(context.Context) error { return nil })
		_, err := q.Get(ctx) // want `q.Get with ctx, a ctx from outside, which the end of this rondo.Group does not reach: use g`
		return err
	})
}

func unnamed(ctx context.Context) error {
	return rondo.Timeout(ctx, time.Second, func(context.Context) error {
		if err := rondo.Yield(ctx); err != nil { // want `rondo.Yield with ctx, a ctx from outside`
			return err
		}
		return rondo.Sleep(ctx, 1) // want `rondo.Sleep with ctx, a ctx from outside`
	})
}

func blank(ctx context.Context, s store) error {
	return rondo.Shield(ctx, func(_ context.Context) error {
		_, err := s.Load(ctx, "key") // want `s.Load with ctx, a ctx from outside, which the end of this rondo.Shield does not reach`
		return err
	})
}

func deadline(outer context.Context) error {
	return rondo.Deadline(outer, time.Now(), func(inner context.Context) error {
		if err := helper.Pause(outer); err != nil { // want `helper.Pause with outer, a ctx from outside, which the end of this rondo.Deadline does not reach: use inner`
			return err
		}
		return rondo.Sleep(inner, 1)
	})
}

func tasks(ctx context.Context) error {
	pause := func(ctx context.Context) error { return rondo.Sleep(ctx, 1) }
	_, err := rondo.Gather(ctx,
		func(c context.Context) (int, error) { return 0, rondo.Sleep(ctx, 1) }, // want `rondo.Sleep with ctx`
		func(c context.Context) (int, error) { return 1, pause(ctx) },          // want `pause with ctx`
		func(c context.Context) (int, error) { return 2, pause(c) },
	)
	return err
}

func nested(ctx context.Context) error {
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		return rondo.Timeout(g, time.Second, func(c context.Context) error {
			func() {
				_ = rondo.Sleep(g, 1) // want `rondo.Sleep with g, a ctx from outside, which the end of this rondo.Timeout does not reach: use c`
			}()
			return rondo.Sleep(c, 1)
		})
	})
}

func request(ctx context.Context) error {
	return rondo.Timeout(ctx, time.Second, func(context.Context) error {
		_, err := http.NewRequestWithContext(ctx, "GET", "http://localhost", nil) // want `http.NewRequestWithContext with ctx`
		return err
	})
}

// right has what is right, or not certain.
func right(ctx context.Context, s store, background func(ctx context.Context)) error {
	forever := context.WithoutCancel(ctx)
	rondo.Go(ctx, func(c context.Context) error { return rondo.Sleep(forever, 1) })
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		rondo.Go(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, 1) }) // outlives the group
		slog.InfoContext(ctx, "begins", "at", rondo.Now(ctx))
		background(ctx)
		if _, err := s.Load(ctx, "key"); err != nil {
			return err
		}
		if err := rondo.Sleep(context.WithoutCancel(ctx), 1); err != nil {
			return err
		}
		_ = rondo.Sleep(ctx, 1) //rondovet:ignore the group must not end this
		for range rondo.Every(g, time.Second) {
			return rondo.Sleep(g, 1)
		}
		return nil
	})
}

// handed puts the inner ctx into a variable from outside.
func handed(ctx context.Context) error {
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		ctx = g
		return rondo.Sleep(ctx, 1)
	})
}

func nowhere() error {
	return rondo.Run(context.Background(), func(ctx context.Context) error {
		return rondo.Timeout(context.TODO(), 1, helper.Pause) // want `rondo.Timeout with context.TODO\(\), which belongs to no loop`
	})
}
