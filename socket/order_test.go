package socket_test

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/rondo-go/rondo"
)

// TestWritersNotMixed: tasks and goroutines write frames larger than the
// socket's buffer at once, and each frame arrives whole.
func TestWritersNotMixed(t *testing.T) {
	const writers, frames, size = 6, 20, 300_000
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		write := func(id byte) error {
			for range frames {
				if _, err := a.Write(bytes.Repeat([]byte{id}, size)); err != nil {
					return err
				}
			}
			return nil
		}
		var counts [writers]int
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			for id := range byte(writers) {
				g.Go(func(ctx context.Context) error {
					if id%2 == 0 {
						return write(id)
					}
					_, err := rondo.Offload(ctx, func(context.Context) (int, error) { return 0, write(id) })
					return err
				})
			}
			frame := make([]byte, size)
			for range writers * frames {
				if _, err := io.ReadFull(b, frame); err != nil {
					return err
				}
				id := frame[0]
				if !bytes.Equal(frame, bytes.Repeat([]byte{id}, size)) {
					t.Fatal("frames are mixed")
				}
				counts[id]++
			}
			for id, n := range counts {
				if n != frames {
					t.Errorf("writer %d: %d frames", id, n)
				}
			}
			return nil
		})
	})
}

// TestFairness: a task whose reads and writes never wait lets the others run
// after 16 of them, or 256 KiB.
func TestFairness(t *testing.T) {
	for what, c := range map[string]struct{ size, times, perTurn int }{
		"many": {10, 1600, 16},
		"big":  {32 << 10, 50, 6},
	} {
		run(t, func(ctx context.Context) error {
			a, b := pair(t, ctx)
			turns, stop := 0, false
			rondo.Go(ctx, func(ctx context.Context) error {
				for ; !stop; turns++ {
					if err := rondo.Yield(ctx); err != nil {
						return err
					}
				}
				return nil
			})
			p := make([]byte, c.size)
			for range c.times {
				// What is written fits into the socket, and is there to be read.
				if _, err := a.Write(p); err != nil {
					return err
				}
				if _, err := io.ReadFull(b, p); err != nil {
					return err
				}
			}
			if want := 2*c.times/c.perTurn - 1; turns < want {
				t.Errorf("%s: the other task had %d turns, want %d", what, turns, want)
			}
			stop = true
			return nil
		})
	}
}
