package embed_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/nats"
)

// TestCall: results, errors and cancellations travel, and so do deadlines.
func TestCall(t *testing.T) {
	t.Parallel()
	run(t, server.Options{}, func(g *rondo.Scope, url string) error {
		worker := connect(t, g, url)
		type division struct{ A, B int }
		err := nats.Serve(g, worker, "divide", 4, func(_ context.Context, d division) (int, error) {
			if d.B == 0 {
				return 0, errors.New("division by zero")
			}
			return d.A / d.B, nil
		})
		if err != nil {
			return err
		}
		var cause error
		left := make(chan time.Duration, 1)
		ended := rondo.Event{Name: "ended"}
		err = nats.Serve(g, worker, "sleep", 4, func(ctx context.Context, _ struct{}) (int, error) {
			defer ended.Set()
			if deadline, ok := ctx.Deadline(); ok {
				left <- deadline.Sub(rondo.Now(ctx))
			}
			cause = rondo.Sleep(ctx, time.Hour)
			return 0, cause
		})
		if err != nil {
			return err
		}
		if err := worker.Flush(g); err != nil {
			return err
		}
		c := connect(t, g, url)
		if n, err := nats.Call[division, int](g, c, "divide", division{42, 7}); n != 6 || err != nil {
			t.Errorf("42/7 is %d, %v", n, err)
		}
		_, err = nats.Call[division, int](g, c, "divide", division{1, 0})
		if e, ok := errors.AsType[*nats.RemoteError](err); !ok || e.Name != "divide" || e.Text != "division by zero" || e.Panic {
			t.Errorf("1/0: %v", err)
		}
		_, err = nats.Call[string, int](g, c, "divide", "a word")
		if e, ok := errors.AsType[*nats.RemoteError](err); !ok || !strings.HasPrefix(e.Text, "the argument: json:") {
			t.Errorf("a word: %v", err)
		}
		if _, err := nats.Call[division, string](g, c, "divide", division{1, 1}); err == nil || !strings.Contains(err.Error(), "the result: json:") {
			t.Errorf("a result of another type: %v", err)
		}
		if _, err := nats.Call[int, int](g, c, "nobody", 1); !errors.Is(err, nats.ErrNoWorker) {
			t.Errorf("nobody: %v", err)
		}
		// A plain request of any client is answered by the result alone.
		m, err := c.Request(g, "divide", []byte(`{"A":9,"B":3}`))
		if err != nil {
			return err
		}
		if string(m.Data) != "3" || len(m.Header) > 0 {
			t.Errorf("a plain request: %s, %v", m.Data, m.Header)
		}
		// A deadline travels as a duration, and a cancellation reaches the function.
		err = rondo.Timeout(g, time.Hour, func(ctx context.Context) error {
			call := rondo.Async(ctx, func(ctx context.Context) (int, error) { return nats.Call[struct{}, int](ctx, c, "sleep", struct{}{}) })
			if d, _, err := rondo.Receive(ctx, left); err != nil || d <= 0 || d > time.Hour {
				t.Errorf("the function has %v left, %v", d, err)
			}
			call.Cancel(nil)
			if _, err := call.Wait(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("the cancelled call: %v", err)
			}
			return ended.Wait(ctx)
		})
		if cause == nil || !strings.Contains(cause.Error(), "no longer waits") {
			t.Errorf("the function was cancelled by %v", cause)
		}
		return err
	})
}

// TestLargestLimit: a limit may be as large as a number can be.
func TestLargestLimit(t *testing.T) {
	run(t, server.Options{}, func(g *rondo.Scope, url string) error {
		c := connect(t, g, url)
		err := c.Handle(g, "same", "", math.MaxInt, func(ctx context.Context, m *natsgo.Msg) error {
			return c.Publish(ctx, m.Reply, m.Data)
		})
		if err != nil {
			return err
		}
		err = nats.Serve(g, c, "double", math.MaxInt, func(_ context.Context, n int) (int, error) { return 2 * n, nil })
		if err := errors.Join(err, c.Flush(g)); err != nil {
			return err
		}
		n, err := nats.Call[int, int](g, c, "double", 21)
		if err := errors.Join(err, equal(n, 42)); err != nil {
			return err
		}
		return rondo.Timeout(g, time.Minute, func(ctx context.Context) error {
			_, err := c.Request(ctx, "same", nil)
			return err
		})
	})
}

// TestPanic: a panic is told to the caller, and its stack if the caller asks for it. The
// worker serves the next call.
func TestPanic(t *testing.T) {
	run(t, server.Options{}, func(g *rondo.Scope, url string) error {
		c := connect(t, g, url)
		for _, ask := range []bool{false, true} {
			ready := rondo.NewFuture[struct{}](g)
			alive, end := context.WithCancel(context.Background())
			defer end()
			worker := rondo.Async(g, func(ctx context.Context) (error, error) {
				return rondo.Offload(ctx, func(context.Context) (error, error) {
					return rondo.Run(alive, func(ctx context.Context) error {
						return rondo.Group(ctx, func(g *rondo.Scope) error {
							c := connect(t, g, url)
							err := nats.Serve(g, c, "lose", 1, func(_ context.Context, n int) (int, error) {
								if n == 1 {
									panic("lost\nmy way")
								}
								return n, nil
							})
							err = errors.Join(err, c.Flush(g))
							ready.Set(struct{}{})
							return err
						})
					}), nil
				})
			})
			if _, err := ready.Wait(g); err != nil {
				return err
			}
			var ctx context.Context = g
			if ask {
				ctx = nats.WithRemoteStack(g)
			}
			_, err := nats.Call[int, int](ctx, c, "lose", 1)
			e, ok := errors.AsType[*nats.RemoteError](err)
			if !ok || !e.Panic || e.Text != "lost\nmy way" || strings.Contains(e.Stack, "TestPanic") != ask {
				t.Errorf("asked for the stack: %v: %#v, %v", ask, e, err)
			}
			if n, err := nats.Call[int, int](ctx, c, "lose", 2); n != 2 || err != nil {
				t.Errorf("the next call returned %d, %v", n, err)
			}
			end()
			failed, err := worker.Wait(g)
			if err != nil {
				return err
			}
			if failed != context.Canceled {
				t.Errorf("the worker ended with %v", failed)
			}
		}
		return nil
	})
}

// TestWorkerEnds: the caller of a function whose worker ends learns that the call is lost.
func TestWorkerEnds(t *testing.T) {
	run(t, server.Options{}, func(g *rondo.Scope, url string) error {
		c := connect(t, g, url)
		var call *rondo.Future[int]
		err := rondo.Group(g, func(inner *rondo.Scope) error {
			worker := connect(t, inner, url)
			running := rondo.Event{Name: "running"}
			err := nats.Serve(inner, worker, "wait", 1, func(ctx context.Context, _ int) (int, error) {
				running.Set()
				return 0, rondo.Sleep(ctx, time.Hour)
			})
			if err != nil {
				return err
			}
			if err := errors.Join(err, worker.Flush(inner)); err != nil {
				return err
			}
			call = rondo.Async(g, func(ctx context.Context) (int, error) {
				n, err := nats.Call[int, int](ctx, c, "wait", 1)
				if errors.Is(err, nats.ErrLost) {
					return 1, nil
				}
				return n, err
			})
			if err := running.Wait(inner); err != nil {
				return err
			}
			inner.Cancel(nil)
			return nil
		})
		if err != nil {
			return err
		}
		if n, err := call.Wait(g); n != 1 {
			t.Errorf("the call was not lost: %v", err)
		}
		return nil
	})
}
