//go:build unix

package process_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
)

// TestAnyOrder: in whatever order a child ends, is cancelled and killed, and its
// pipes are read, written and closed, nothing is left of it: no zombie, no
// descriptor, no task. What is tried is the seed's choice.
func TestAnyOrder(t *testing.T) {
	parts := [][]string{{"exit", "0"}, {"exit", "5"}, {"echo"}, {"hang"}, {"deaf"}, {"polite"}, {"say", strings.Repeat("x", 70_000), "y"}}
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		part := parts[r.IntN(len(parts))]
		run(t, func(ctx context.Context) error {
			before := leak.Descriptors()
			why := errors.New("why")
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				c := child(g, part...)
				c.WaitDelay = time.Duration(r.IntN(20)+1) * time.Millisecond
				var acts []func() error
				if r.IntN(2) == 0 {
					in, err := c.StdinPipe()
					if err != nil {
						return err
					}
					write := func() error { _, err := in.Write(make([]byte, 200_000)); return err }
					acts = append(acts, write, in.Close)
				} else if r.IntN(2) == 0 {
					c.Stdin = strings.NewReader(strings.Repeat("x", 200_000))
				}
				for _, pipe := range []func() (io.ReadCloser, error){c.StdoutPipe, c.StderrPipe} {
					if r.IntN(3) == 0 {
						continue
					}
					out, err := pipe()
					if err != nil {
						return err
					}
					read := func() error { _, err := out.Read(make([]byte, 10)); return err }
					all := func() error { _, err := io.Copy(io.Discard, out); return err }
					acts = append(acts, [][]func() error{{read, out.Close}, {all}, {read, all, out.Close}, {}}[r.IntN(4)]...)
				}
				if c.Stdout == nil {
					c.Stdout = new(strings.Builder)
				}
				if err := c.Start(); err != nil {
					return err
				}
				acts = append(acts, func() error { return c.Process.Kill() },
					func() error { return c.Process.Signal(syscall.SIGTERM) },
					func() error { return rondo.Sleep(g, time.Duration(r.IntN(30))*time.Millisecond) },
					func() error { g.Cancel(why); return nil }, c.Wait)
				r.Shuffle(len(acts), func(i, j int) { acts[i], acts[j] = acts[j], acts[i] })
				for i, act := range acts[:r.IntN(len(acts))+1] {
					if r.IntN(2) == 0 || i == 0 {
						// What they return is not the question here.
						g.Go(func(context.Context) error { _ = act(); return nil })
						continue
					}
					g.Go(func(ctx context.Context) error {
						_, _ = rondo.Offload(ctx, func(context.Context) (int, error) { return 0, act() })
						return nil
					})
				}
				// Whatever has not ended by then is ended.
				_ = rondo.Sleep(g, time.Duration(r.IntN(40))*time.Millisecond)
				g.Cancel(why)
				return nil
			})
			noChildren(t)
			for range 100_000 {
				if leak.Descriptors() <= before {
					break
				}
				if err := rondo.Yield(ctx); err != nil {
					return err
				}
			}
			if n := leak.Descriptors(); n > before || !errors.Is(err, why) {
				t.Errorf("seed %d, %s: %d descriptors are open, %d were; %v", seed, part[0], n, before, err)
			}
			return nil
		})
		if t.Failed() {
			return
		}
	}
}
