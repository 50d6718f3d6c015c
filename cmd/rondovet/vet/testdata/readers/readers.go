// Package readers reads connections.
package readers

import (
	"bufio"
	"context"
	"io"
	"net"

	"github.com/rondo-go/rondo"
)

func two(ctx context.Context, c net.Conn) error {
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(func(context.Context) error { _, err := io.Copy(io.Discard, c); return err })
		g.Go(func(context.Context) error {
			for s := bufio.NewScanner(c); s.Scan(); { // want `a second task reads c, as the one in line 15 does: each gets a part of the input: let one task read`
			}
			return nil
		})
		return nil
	})
}

func one(ctx context.Context, a, b net.Conn) error {
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(func(context.Context) error { _, err := io.Copy(a, b); return err })
		g.Go(func(context.Context) error { _, err := io.Copy(b, a); return err })
		return nil
	})
}

// turns has one task read a greeting, and another the rest when the first says so.
func turns(ctx context.Context, c net.Conn) error {
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		var greeted rondo.Event
		g.Go(func(context.Context) error {
			_, err := io.ReadFull(c, make([]byte, 5))
			greeted.Set()
			return err
		})
		if err := greeted.Wait(g); err != nil {
			return err
		}
		g.Go(func(context.Context) error { _, err := io.Copy(io.Discard, c); return err })
		return nil
	})
}

// called waits between two readers in a function of the program.
func called(ctx context.Context, c net.Conn) {
	var greeted rondo.Event
	rondo.Go(ctx, func(context.Context) error {
		_, err := io.ReadFull(c, make([]byte, 5))
		greeted.Set()
		return err
	})
	if until(ctx, &greeted) != nil {
		return
	}
	rondo.Go(ctx, func(context.Context) error { _, err := io.Copy(io.Discard, c); return err })
}

func until(ctx context.Context, e *rondo.Event) error { return e.Wait(ctx) }
