package kerneltest_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/kernel"
)

// A grudge is an error of which every method but Error panics.
type grudge struct{}

func (grudge) Error() string   { return "grudge" }
func (grudge) Is(error) bool   { panic("grudge: Is") }
func (grudge) As(any) bool     { panic("grudge: As") }
func (grudge) Unwrap() []error { panic("grudge: Unwrap") }

// A knot is an error that wraps itself.
type knot struct{ within []error }

func (*knot) Error() string     { return "knot" }
func (k *knot) Unwrap() []error { return k.within }

func tied() error {
	k := new(knot)
	k.within = []error{k, k}
	return k
}

// TestCauseOfAnother: the cause of a cancellation is the error of another task. Whatever fails
// with it calls none of its methods, which would panic in a task that has nothing to do with it.
func TestCauseOfAnother(t *testing.T) {
	endless := func(ctx context.Context) (waits map[string]func() error) {
		all := func(seq func(yield func(int) bool)) func() error {
			return func() error {
				for range seq {
				}
				return nil
			}
		}
		return map[string]func() error{
			"Queue.All": all(rondo.NewQueue[int](1).All(ctx)),
			"Every": func() error {
				_ = forever(ctx)
				return all(func(yield func(int) bool) {
					for range rondo.Every(ctx, time.Hour) {
						yield(0)
					}
				})()
			},
			"AsCompleted": func() error {
				_ = forever(ctx)
				return all(func(yield func(int) bool) {
					for range rondo.AsCompleted[int](ctx) {
						yield(0)
					}
				})()
			},
			"Race": func() error {
				_, err := rondo.Race(ctx, func(ctx context.Context) (int, error) { return 0, forever(ctx) })
				return err
			},
			"Start": func() error {
				return rondo.Group(ctx, func(g *rondo.Scope) error {
					return g.Start(ctx, func(ctx context.Context, _ func()) error { return forever(ctx) })
				})
			},
			"Map": func() error {
				for _, err := range rondo.Map(ctx, 1, rondo.NewQueue[int](1).All(ctx), func(context.Context, int) (int, error) { return 0, nil }) {
					return err
				}
				return nil
			},
		}
	}
	for kind, cause := range map[string]error{"grudge": grudge{}, "knot": tied()} {
		for name := range endless(t.Context()) {
			t.Run(kind+"/"+name, func(t *testing.T) {
				run(t, func(ctx context.Context) error {
					reached := false
					err := rondo.Group(ctx, func(g *rondo.Scope) error {
						g.Go(func(ctx context.Context) error {
							err := endless(ctx)[name]()
							reached = true
							if err != nil && fmt.Sprint(err) != kind {
								t.Errorf("it returned %v", err)
							}
							return nil
						})
						_ = rondo.Yield(g)
						return cause
					})
					if !reached || fmt.Sprint(err) != kind {
						t.Errorf("the Group returned %v; the other task went on: %v", err, reached)
					}
					return nil
				})
			})
		}
	}
}

// TestContainJudges: Contain returns the panic of a method of an error that its function returns,
// and loses no error of a task beside it.
func TestContainJudges(t *testing.T) {
	run(t, func(ctx context.Context) error {
		err := rondo.Contain(ctx, func(ctx context.Context) error {
			rondo.Go(ctx, func(context.Context) error { return errBroken })
			_ = rondo.Yield(ctx)
			return grudge{}
		})
		if p, ok := errors.AsType[*rondo.PanicError](err); !ok || fmt.Sprint(p.Value) != "grudge: Is" || !errors.Is(err, errBroken) {
			t.Errorf("Contain returned %v", err)
		}
		return nil
	})
}

// TestHandlerJudges: if a method of an error of a handler's task panics as the server compares it
// with its own cancellation, the task of the handler ends with the panic and with that error.
func TestHandlerJudges(t *testing.T) {
	r := rondo.Runner{Recover: true}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			var cancelled rondo.Event
			var helper *rondo.Task
			handler := g.Go(func(ctx context.Context) error {
				helper = rondo.Go(ctx, func(context.Context) error { return errors.Join(errBroken, grudge{}) })
				return rondo.Shield(ctx, cancelled.Wait)
			})
			kernel.Of(g).SetServing(handler)
			until(ctx, func() bool { return helper != nil && helper.Done() })
			g.Cancel(nil)
			cancelled.Set()
			err := rondo.Shield(ctx, handler.Wait)
			if !errors.Is(err, errBroken) || !strings.Contains(fmt.Sprint(err), "grudge: Is") {
				t.Errorf("the handler's task ended with %v", err)
			}
			return nil
		})
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A selfish error panics with itself, so that the panic cannot be printed either.
type selfish struct{}

func (e selfish) Error() string { panic(e) }

// TestUnprintable: an error that cannot be printed is reported all the same, and ends nobody.
func TestUnprintable(t *testing.T) {
	for name, fn := range map[string]func(context.Context) error{
		"returned": func(context.Context) error { return selfish{} },
		"panic":    func(context.Context) error { panic(selfish{}) },
		"joined":   func(context.Context) error { return errors.Join(errBroken, selfish{}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("RONDO_TRACE", filepath.Join(t.TempDir(), "trace")) // which has the errors as well
			cleaned, hooks := false, 0
			r := rondo.Runner{Recover: true, Tracer: &rondo.Tracer{Ended: func(*rondo.Task, error, time.Time) { hooks++ }}}
			err := r.Run(t.Context(), func(ctx context.Context) error {
				rondo.Go(ctx, func(ctx context.Context) error {
					defer func() { cleaned = true }()
					return forever(ctx)
				})
				rondo.Go(ctx, fn)
				return rondo.Yield(ctx)
			})
			if err != nil || !cleaned || hooks != 3 {
				t.Errorf("Run returned %T; another task has cleaned up: %v; %d hooks ran", err, cleaned, hooks)
			}
		})
	}
	p := &rondo.PanicError{Task: "t", Value: selfish{}}
	for _, text := range []string{p.Error(), fmt.Sprintf("%v", p), fmt.Sprintf("%+v", p)} {
		if want := "rondo: panic in t: (a kerneltest_test.selfish that cannot be printed: its methods panic)"; !strings.HasPrefix(text, want) {
			t.Errorf("a PanicError with it prints %q", text)
		}
	}
}

// TestDeadlockOfHostile: the error of a loop in deadlock is joined to that of main, whatever the
// methods of that one do.
func TestDeadlockOfHostile(t *testing.T) {
	for kind, cause := range map[string]error{"grudge": grudge{}, "knot": tied()} {
		r := rondo.Runner{Recover: true, EndDeadlock: 1}
		err := r.Run(t.Context(), func(ctx context.Context) error { _ = forever(ctx); return cause })
		if !errors.Is(err, rondo.ErrDeadlock) || !strings.Contains(fmt.Sprint(err), kind) {
			t.Errorf("Run returned %v", err)
		}
	}
}

// TestWaitNeedsCtx: a task that waits for something of another loop with a ctx that is not of its
// own loop would hold its loop. The call fails.
func TestWaitNeedsCtx(t *testing.T) {
	type theirs struct {
		ctx    context.Context
		task   *rondo.Task
		future *rondo.Future[int]
	}
	given, end := make(chan theirs, 1), make(chan bool)
	ended := otherLoop(func(ctx context.Context) error {
		f := rondo.Async(ctx, func(ctx context.Context) (int, error) { _, _, err := rondo.Receive(ctx, end); return 1, err })
		given <- theirs{ctx, f.Task(), f}
		_, err := f.Wait(ctx)
		return err
	})
	they := <-given
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		for name, c := range map[string]struct {
			ctx  context.Context
			want string
		}{
			"no loop":         {context.Background(), "this ctx belongs to no running loop"},
			"the other loop":  {they.ctx, "from a goroutine that is not a task of loop-"},
			"a cancelled ctx": {cancelledContext(), "this ctx belongs to no running loop"},
		} {
			err := they.task.Wait(c.ctx)
			_, failed := they.future.Wait(c.ctx)
			for call, err := range map[string]error{"Task.Wait": err, "Future.Wait": failed} {
				if text := fmt.Sprint(err); !strings.Contains(text, call) || !strings.Contains(text, c.want) {
					t.Errorf("%s with a ctx of %s returned %v", call, name, err)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	close(end)
	if err := they.task.Wait(context.Background()); err != nil { // of a goroutine, which blocks alone
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func cancelledContext() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
