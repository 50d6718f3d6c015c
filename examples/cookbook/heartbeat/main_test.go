package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/examples/internal/program"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

func TestMain(m *testing.M) { program.Main(m, main) }

// TestPatience has a client that answers for longer than it may be silent, and then is silent.
func TestPatience(t *testing.T) {
	sim.Config{Exact: true}.Test(t, func(ctx context.Context) {
		client, server := socket.Pipe(ctx)
		served := rondo.Go(ctx, func(ctx context.Context) error {
			defer server.Close()
			return serve(ctx, server)
		})
		start, in := rondo.Now(ctx), bufio.NewScanner(client)
		for rondo.Now(ctx).Sub(start) < 3*patience/2 {
			if !in.Scan() || in.Text() != "ping" {
				t.Fatalf("after %v it says %q: %v", rondo.Now(ctx).Sub(start), in.Text(), in.Err())
			}
			if _, err := fmt.Fprintln(client, "pong"); err != nil {
				t.Fatal(err)
			}
		}
		last := rondo.Now(ctx)
		err := served.Wait(ctx)
		if lasted := rondo.Now(ctx).Sub(last); lasted != patience || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a client that is silent is left after %v: %v", lasted, err)
		}
	})
}
