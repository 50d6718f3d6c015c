package main

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/examples/internal/program"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

func TestMain(m *testing.M) { program.Main(m, main) }

// TestTopicsEnd has clients that read some topics, publish to another, and leave.
func TestTopicsEnd(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		join := func(lines ...string) (leave func()) {
			client, server := socket.Pipe(ctx)
			served := rondo.Go(ctx, func(ctx context.Context) error { return serve(ctx, server) })
			in := bufio.NewScanner(client)
			for _, line := range lines {
				if _, err := fmt.Fprintln(client, line); err != nil || !in.Scan() || in.Text() != "OK" {
					t.Fatalf("%s: %q, %v", line, in.Text(), err)
				}
			}
			return func() {
				client.Close()
				if err := served.Wait(ctx); err != nil {
					t.Error(err)
				}
			}
		}
		want := func(names ...string) {
			if are := slices.Sorted(maps.Keys(topics)); !slices.Equal(are, names) {
				t.Errorf("the topics are %q, not %q", are, names)
			}
		}
		ann := join("SUB news", "SUB sports", "SUB news", "PUB weather rain")
		bob := join("SUB news")
		want("news", "sports")
		ann()
		want("news")
		bob()
		want()
	})
}
