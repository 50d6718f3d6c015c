package socket

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/kernel"
)

// TestCountersAreShown: while a Server serves, readers from outside find its counters, once, by the
// name of the first of its listeners; and those of each Serve of a Protocol.
func TestCountersAreShown(t *testing.T) {
	server := &Server{Handler: func(context.Context, net.Conn) error { return nil }}
	protocol := new(Protocol)
	for name, row := range map[string]struct {
		serve   func(ctx context.Context, l net.Listener) error
		serving func() (calls int, counters []*counts)
		shown   int // how many of two listeners, from the first on
	}{
		"Server":   {server.Serve, func() (int, []*counts) { return len(server.serving), []*counts{&server.counts} }, 1},
		"Protocol": {protocol.Serve, func() (int, []*counts) { return len(protocol.serving), protocol.serving }, 2},
	} {
		err := rondo.Run(t.Context(), func(ctx context.Context) error {
			var addrs []string
			var tasks []*rondo.Task
			for i := range 2 {
				l, err := Listen(ctx, "tcp", "127.0.0.1:0")
				if err != nil {
					return err
				}
				addrs = append(addrs, l.Addr().String())
				tasks = append(tasks, rondo.Go(ctx, func(ctx context.Context) error { return row.serve(ctx, l) }))
				for n := 0; n <= i; n, _ = row.serving() {
					if err := rondo.Yield(ctx); err != nil {
						return err
					}
				}
			}
			_, counters := row.serving()
			counters = slices.Clone(counters)
			if got := shown(counters); !slices.Equal(got, addrs[:row.shown]) {
				t.Errorf("%s: shown are %q, want %q", name, got, addrs[:row.shown])
			}
			for _, task := range tasks {
				task.Cancel(nil)
				if err := task.Wait(ctx); !errors.Is(err, context.Canceled) {
					t.Errorf("%s: Serve: %v", name, err)
				}
			}
			if got := shown(counters); len(got) > 0 {
				t.Errorf("%s: after the end %q are shown", name, got)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// shown returns the names of the counters that readers from outside find.
func shown(all []*counts) (names []string) {
	for _, c := range all {
		if s := (*kernel.Server)(c); s.Self == s {
			names = append(names, c.Name)
		}
	}
	return names
}
