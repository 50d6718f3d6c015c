//go:build !rondo_portable

package socket_test

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/rondo-go/rondo"
)

// TestRelayPipe: a copy between connections has a kernel pipe from the first piece that fills a
// buffer until 16 small ones have come. The copy goes on all the while.
func TestRelayPipe(t *testing.T) {
	run(t, func(ctx context.Context) error {
		in, from := pairOf(t, ctx, "unix") // a write puts all of it before the reader at once
		to, out := pairOf(t, ctx, "unix")
		before := pipeEnds(t)
		var copied int64
		relay := rondo.Go(ctx, func(context.Context) (err error) {
			copied, err = io.Copy(to, from)
			return err
		})
		total := 0
		for i, step := range []struct{ pieces, size, pipes int }{{20, 1, 0}, {1, 64 << 10, 1}, {15, 1, 1}, {1, 1, 0}, {3, 1, 0}, {1, 64 << 10, 1}} {
			for range step.pieces {
				if relay.Done() {
					t.Fatalf("step %d: the copy has ended after %d bytes", i, total)
				}
				if _, err := in.Write(make([]byte, step.size)); err != nil {
					return err
				}
				if _, err := io.ReadFull(out, make([]byte, step.size)); err != nil {
					return err
				}
				if err := until(ctx, func() bool { return relay.Done() || relay.Info().Waiting == "read" }); err != nil {
					return err
				}
				total += step.size
			}
			if n := pipeEnds(t) - before; n != 2*step.pipes {
				t.Errorf("step %d: the ends of pipes are %d more than before, want %d", i, n, 2*step.pipes)
			}
		}
		if err := in.CloseWrite(); err != nil {
			return err
		}
		if err := relay.Wait(ctx); err != nil || copied != int64(total) {
			t.Errorf("Copy returned %d, %v; want %d", copied, err, total)
		}
		return nil
	})
}

// pipeEnds returns how many descriptors of the process are ends of pipes.
func pipeEnds(t *testing.T) (n int) {
	t.Helper()
	const dir = "/proc/self/fd/"
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if to, err := os.Readlink(dir + name.Name()); err == nil && strings.HasPrefix(to, "pipe:") {
			n++
		}
	}
	return n
}
