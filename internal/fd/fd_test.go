package fd_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
)

// The tests of package socket cover most of an FD. Here is what sockets do not
// use: descriptors that are no sockets, and the lock.

// pipe returns the two ends of a system pipe on the loop.
func pipe(t testing.TB, ctx context.Context) (r, w *fd.FD) {
	t.Helper()
	one, two, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	loop := kernel.Of(ctx)
	return fd.Adopt(loop, one), fd.Adopt(loop, two)
}

// TestPipe: data of any size, the end of the stream, and a write without a
// reader.
func TestPipe(t *testing.T) {
	run(t, func(ctx context.Context) error {
		r, w := pipe(t, ctx)
		defer r.Close()
		want := bytes.Repeat([]byte("0123456789"), 100_000)
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(context.Context) error {
				n, err := w.Write(want)
				if n != len(want) {
					t.Errorf("wrote %d", n)
				}
				return errors.Join(err, w.Close())
			})
			got, err := io.ReadAll(r)
			if !bytes.Equal(got, want) {
				t.Errorf("%d bytes came", len(got))
			}
			return err
		})
		if err != nil {
			return err
		}
		if _, err := w.Write(want); !errors.Is(err, net.ErrClosed) && !errors.Is(err, os.ErrClosed) {
			t.Errorf("Write after Close: %v", err)
		}
		return nil
	})
}

// TestSide: tasks and goroutines take turns, one at a time, and none is
// forgotten, also when some are cancelled.
func TestSide(t *testing.T) {
	const each, rounds = 4, 200
	run(t, func(ctx context.Context) error {
		loop := kernel.Of(ctx)
		var s fd.Side
		s.Begin(loop, true)
		inside, turns := 0, 0
		visit := func() {
			// The race detector checks this as well.
			inside++
			if turns++; inside != 1 {
				t.Error("two at once")
			}
			inside--
			s.Release()
		}
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			for i := range each {
				g.Go(func(ctx context.Context) error {
					for range rounds {
						if err := s.Take(loop.Task()); err != nil {
							return err
						}
						if i%2 == 0 {
							// Held over a wait, others come and queue.
							if err := rondo.Yield(ctx); err != nil {
								return err
							}
						}
						visit()
					}
					return nil
				})
				g.Go(func(ctx context.Context) error {
					_, err := rondo.Offload(ctx, func(context.Context) (int, error) {
						for range rounds {
							if err := s.Take(nil); err != nil {
								return 0, err
							}
							visit()
						}
						return 0, nil
					})
					return err
				})
				g.Go(func(ctx context.Context) error {
					for range rounds {
						task := rondo.Go(ctx, func(context.Context) error {
							err := s.Take(loop.Task())
							if err == nil {
								visit()
							}
							return err
						})
						if err := rondo.Yield(ctx); err != nil {
							return err
						}
						task.Cancel(nil)
						if err := task.Wait(ctx); err != nil && !errors.Is(err, context.Canceled) {
							return err
						}
					}
					return nil
				})
			}
			return nil
		})
	})
}

// TestSideGrantedAndCancelled: a goroutine hands over to a task that is
// cancelled before it runs. The task has the Side all the same.
func TestSideGrantedAndCancelled(t *testing.T) {
	run(t, func(ctx context.Context) error {
		loop := kernel.Of(ctx)
		var s fd.Side
		s.Begin(loop, true)
		taken, release, released := make(chan error), make(chan bool), make(chan bool)
		go func() {
			taken <- s.Take(nil)
			<-release
			s.Release()
			close(released)
		}()
		if err := <-taken; err != nil {
			return err
		}
		task := rondo.Go(ctx, func(context.Context) error {
			err := s.Take(loop.Task())
			if err == nil {
				s.Release()
			}
			return err
		})
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
		// The loop stands still until it is handed over.
		close(release)
		<-released
		task.Cancel(nil)
		if err := task.Wait(ctx); err != nil {
			t.Errorf("the task got it and returned %v", err)
		}
		return s.Take(loop.Task())
	})
}
