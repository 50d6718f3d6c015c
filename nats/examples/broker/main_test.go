package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/nats"
)

// TestNode: a node hears what is said to it, counts it, and ends when it is cancelled.
func TestNode(t *testing.T) {
	*client, *cluster = "127.0.0.1:0", "127.0.0.1:0"
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		ready := rondo.NewFuture[string](ctx)
		started = func(url string) { ready.Set(url) }
		running := rondo.Go(ctx, node)
		url, err := ready.Wait(ctx)
		if err != nil {
			return err
		}
		*client = strings.TrimPrefix(url, "nats://")
		*say = "hello"
		if err := errors.Join(rondo.Group(ctx, talk), rondo.Group(ctx, ask)); err != nil {
			return err
		}
		err = rondo.Group(ctx, func(g *rondo.Scope) error {
			c, err := nats.Connect(g, url)
			if err != nil {
				return err
			}
			for answer := ""; answer != "a heard 1"; {
				if answer, err = nats.Call[struct{}, string](g, c, "count", struct{}{}); err != nil {
					return err
				}
			}
			return nil
		})
		running.Cancel(nil)
		if err := running.Wait(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("the node ended with %v", err)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestFlags: what cannot be an address is refused in a sentence.
func TestFlags(t *testing.T) {
	for _, c := range []struct{ client, routes, want string }{
		{"nowhere", "", `the address "nowhere" is not like host:port`},
		{"host:port", "", `the address "host:port" is not like host:port`},
		{"host:1", "host:6222", "flag -routes"},
		{"host:1", "6222", `flag -routes: "6222" is not like nats://host:port`},
	} {
		*client, *routes = c.client, c.routes
		if _, err := options(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v", c.client, c.routes, err)
		}
	}
	*routes = ""
}
