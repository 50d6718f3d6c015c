package shard_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/shard"
)

// TestCall: fn runs on the other shard while the caller's goes on; its result and its
// error come back.
func TestCall(t *testing.T) {
	onFirst(t, 2, func(ctx context.Context, s *shard.Shard) error {
		turns := 0
		ticker := rondo.Go(ctx, func(ctx context.Context) error {
			for rondo.Yield(ctx) == nil {
				turns++
			}
			return nil
		})
		got, err := shard.Call(ctx, s.At(1), func(ctx context.Context) (string, error) {
			if err := rondo.Sleep(ctx, time.Millisecond); err != nil {
				return "", err
			}
			return shard.Of(ctx).Name(), errBad
		})
		if got != "shard-1" || err != errBad {
			t.Errorf("%q, %v", got, err)
		}
		if turns == 0 {
			t.Error("the caller's shard stood still")
		}
		ticker.Cancel(nil)
		own, err := shard.Call(ctx, s, func(inner context.Context) (bool, error) {
			return rondo.Current(inner) == rondo.Current(ctx), nil
		})
		if !own || err != nil {
			t.Errorf("on the caller's own shard: %v, %v", own, err)
		}
		return nil
	})
}

// TestCallCancelled: the cancellation reaches fn with the cause, and Call returns when
// fn has ended, clean-up included.
func TestCallCancelled(t *testing.T) {
	onFirst(t, 2, func(ctx context.Context, s *shard.Shard) error {
		cleaned := make(chan bool, 1)
		started := rondo.NewFuture[int](ctx)
		var cause error
		caller := rondo.Go(ctx, func(ctx context.Context) error {
			_, err := shard.Call(ctx, s.At(1), func(ctx context.Context) (int, error) {
				started.Set(1)
				cause = rondo.WaitCanceled(ctx)
				_ = rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, 2*time.Millisecond) })
				cleaned <- true
				return 0, cause
			})
			if len(cleaned) != 1 {
				t.Error("Call returned before fn has ended")
			}
			return err
		})
		if _, err := started.Wait(ctx); err != nil {
			return err
		}
		caller.Cancel(errBad)
		if err := caller.Wait(ctx); err != errBad || cause != errBad {
			t.Errorf("Call: %v; the cause in fn: %v", err, cause)
		}
		err := rondo.Timeout(ctx, time.Millisecond, func(ctx context.Context) error {
			_, err := shard.Call(ctx, s.At(1), func(ctx context.Context) (int, error) { return 0, rondo.WaitCanceled(ctx) })
			return err
		})
		if !errors.Is(err, context.DeadlineExceeded) || !rondo.TimedOut(ctx, err) {
			t.Errorf("by a deadline: %v", err)
		}
		return nil
	})
}

// TestCallOfCancelled: when the other shard is cancelled, so is fn, and Call returns
// what fn does.
func TestCallOfCancelled(t *testing.T) {
	fnEnded := errors.New("fn was cancelled")
	err := run(t, 2, func(ctx context.Context, s *shard.Shard) error {
		if s.Index() == 1 {
			return rondo.WaitCanceled(ctx)
		}
		_, err := shard.Call(ctx, s.At(1), func(ctx context.Context) (int, error) {
			fn := rondo.Current(ctx)
			rondo.Go(ctx, func(context.Context) error { fn.Cancel(errBad); return nil })
			return 0, fmt.Errorf("%w: %w", fnEnded, rondo.WaitCanceled(ctx))
		})
		if !errors.Is(err, fnEnded) || !errors.Is(err, errBad) {
			t.Errorf("Call: %v", err)
		}
		return err
	})
	if !errors.Is(err, fnEnded) {
		t.Errorf("Run: %v", err)
	}
}

// TestCallPanics: a panic in fn comes out of Call, and both shards go on; Goexit ends
// everything.
func TestCallPanics(t *testing.T) {
	onFirst(t, 2, func(ctx context.Context, s *shard.Shard) error {
		func() {
			defer func() {
				p, ok := recover().(*rondo.PanicError)
				if !ok || p.Value != "on purpose" || !strings.Contains(string(p.Stack), "panicsOnPurpose") {
					t.Errorf("it came out: %+v", p)
				}
			}()
			_, _ = shard.Call(ctx, s.At(1), panicsOnPurpose)
		}()
		if n, err := shard.Call(ctx, s.At(1), one); n != 1 || err != nil {
			t.Errorf("the shard does not go on: %d, %v", n, err)
		}
		return nil
	})
	var err error
	done := make(chan bool)
	go func() {
		defer close(done)
		_ = run(t, 2, func(ctx context.Context, s *shard.Shard) error {
			if s.Index() == 0 {
				_, err = shard.Call(ctx, s.At(1), func(context.Context) (int, error) { runtime.Goexit(); return 0, nil })
			}
			return nil
		})
		t.Error("Run returned")
	}()
	<-done
	if err == nil || !strings.Contains(err.Error(), "Goexit") {
		t.Errorf("Call of Goexit: %v", err)
	}
}

func panicsOnPurpose(context.Context) (int, error) { panic("on purpose") }

// TestCallAtTheEnd: when main has returned on every shard, calls end, and new ones fail.
func TestCallAtTheEnd(t *testing.T) {
	var late error
	onFirst(t, 2, func(ctx context.Context, s *shard.Shard) error {
		rondo.Go(ctx, func(ctx context.Context) error {
			err := rondo.WaitCanceled(ctx)
			_ = rondo.Shield(ctx, func(ctx context.Context) error {
				for !errors.Is(late, rondo.ErrLoopClosed) {
					_, late = shard.Call(ctx, s.At(1), one)
				}
				return nil
			})
			return err
		})
		return rondo.Yield(ctx)
	})
	if !errors.Is(late, rondo.ErrLoopClosed) || !strings.Contains(late.Error(), "shard.Call of shard-1") {
		t.Errorf("Call at the end: %v", late)
	}
}

// TestCallOfEnding: a shard whose main has returned, as all others have, takes no new calls, also
// if its tasks take their time to end.
func TestCallOfEnding(t *testing.T) {
	ending, late := shard.NewChan[bool](1), shard.NewChan[error](1)
	mustRun(t, 2, func(ctx context.Context, s *shard.Shard) error {
		rondo.Go(ctx, func(ctx context.Context) error {
			_ = rondo.WaitCanceled(ctx)
			return rondo.Shield(ctx, func(ctx context.Context) error {
				if s.Index() == 1 {
					ending.TrySend(true)
					err, failure := late.Recv(ctx)
					if !errors.Is(err, rondo.ErrLoopClosed) {
						t.Errorf("Call: %v", err)
					}
					return failure
				}
				if _, err := ending.Recv(ctx); err != nil {
					return err
				}
				_, err := shard.Call(ctx, s.At(1), one)
				return late.Send(ctx, err)
			})
		})
		return rondo.Yield(ctx)
	})
}

// TestCallOwnsTasks: what fn has started with its ctx is cancelled, and has ended when Call returns
// its error.
func TestCallOwnsTasks(t *testing.T) {
	onFirst(t, 2, func(ctx context.Context, s *shard.Shard) error {
		for i := range s.Len() {
			ended := false
			_, err := shard.Call(ctx, s.At(i), func(ctx context.Context) (int, error) {
				rondo.Go(ctx, func(ctx context.Context) error {
					defer func() { ended = true }()
					_ = rondo.WaitCanceled(ctx)
					return errBad
				})
				return 7, rondo.Yield(ctx)
			})
			if !errors.Is(err, errBad) || !ended {
				t.Errorf("Call of shard %d: %v; the task of fn has ended: %v", i, err, ended)
			}
		}
		return nil
	})
}

// TestCallPanicsBesideTasks: if fn has panicked, the errors of what it has started go to OnError.
func TestCallPanicsBesideTasks(t *testing.T) {
	var noticed []string // one call at a time
	r := shard.Runner{Loops: 2, Loop: rondo.Runner{OnError: func(task rondo.TaskInfo, err error) {
		noticed = append(noticed, fmt.Sprint(task.Name, ": ", err))
	}}}
	err := r.Run(t.Context(), func(ctx context.Context, s *shard.Shard) error {
		if s.Index() != 0 {
			return nil
		}
		for i := range s.Len() {
			func() {
				defer func() {
					if p, ok := recover().(*rondo.PanicError); !ok || p.Value != "on purpose" {
						t.Errorf("it came out: %+v", p)
					}
				}()
				_, _ = shard.Call(ctx, s.At(i), func(ctx context.Context) (int, error) {
					rondo.Go(ctx, func(ctx context.Context) error { _ = rondo.WaitCanceled(ctx); return errBad })
					_ = rondo.Yield(ctx)
					return panicsOnPurpose(ctx)
				})
			}()
		}
		return nil
	})
	if want := []string{"a call of shard-0: bad", "a call of shard-1: bad"}; err != nil || !slices.Equal(noticed, want) {
		t.Errorf("Run: %v; OnError got %q, want %q", err, noticed, want)
	}
}

// TestCallIsNoDeadlock: a cancelled call waits for an answer, which comes.
func TestCallIsNoDeadlock(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	r := shard.Runner{Loops: 2, Loop: rondo.Runner{EndDeadlock: time.Millisecond}}
	err := r.Run(ctx, func(ctx context.Context, s *shard.Shard) error {
		if s.Index() != 0 {
			return nil
		}
		_, err := shard.Call(ctx, s.At(1), func(ctx context.Context) (int, error) {
			cancel(errBad)
			return 0, rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, 30*time.Millisecond) })
		})
		return errors.Join(err, rondo.WaitCanceled(ctx))
	})
	if !errors.Is(err, errBad) || errors.Is(err, rondo.ErrDeadlock) {
		t.Errorf("Run: %v", err)
	}
}

// TestCallMisuse: a ctx that belongs to no shard, or a goroutine that is no task.
func TestCallMisuse(t *testing.T) {
	onFirst(t, 2, func(ctx context.Context, s *shard.Shard) error {
		if _, err := shard.Call(t.Context(), s.At(1), one); !errors.Is(err, rondo.ErrNoLoop) {
			t.Errorf("without a loop: %v", err)
		}
		err := rondo.OffloadFunc(ctx, func(context.Context) error { _, err := shard.Call(ctx, s.At(1), one); return err })
		if text := fmt.Sprint(err); !errors.Is(err, rondo.ErrNoLoop) || !strings.Contains(text, "shard.Call from a goroutine") || !strings.Contains(text, "call_test.go:") {
			t.Errorf("from another goroutine: %v", err)
		}
		err = rondo.OffloadFunc(ctx, func(context.Context) error {
			return rondo.Run(t.Context(), func(ctx context.Context) error {
				if _, err := shard.Each(ctx, func(context.Context, *shard.Shard) (int, error) { return 0, nil }); !errors.Is(err, rondo.ErrNoLoop) {
					t.Errorf("Each on a loop that is no shard: %v", err)
				}
				_, err := shard.Call(ctx, s.At(1), one)
				return err
			})
		})
		if !errors.Is(err, rondo.ErrNoLoop) || !strings.Contains(err.Error(), "belongs to no shard") {
			t.Errorf("from a loop that is no shard: %v", err)
		}
		err = rondo.OffloadFunc(ctx, func(context.Context) error {
			return shard.Run(t.Context(), func(ctx context.Context, _ *shard.Shard) error {
				_, err := shard.Call(ctx, s.At(1), one)
				return err
			})
		})
		if !errors.Is(err, rondo.ErrNoLoop) || !strings.Contains(err.Error(), "shard-1 belongs to another Run") {
			t.Errorf("from a shard of another Run: %v", err)
		}
		return nil
	})
}

// TestEach: results in the order of the shards; the first error cancels the rest.
func TestEach(t *testing.T) {
	onFirst(t, 4, func(ctx context.Context, s *shard.Shard) error {
		got, err := shard.Each(ctx, func(ctx context.Context, s *shard.Shard) (int, error) {
			if shard.Of(ctx) != s {
				t.Errorf("fn of %v runs on %v", s, shard.Of(ctx))
			}
			return 10 * s.Index(), nil
		})
		if !slices.Equal(got, []int{0, 10, 20, 30}) || err != nil {
			t.Errorf("%v, %v", got, err)
		}
		got, err = shard.Each(ctx, func(ctx context.Context, s *shard.Shard) (int, error) {
			if s.Index() == 2 {
				return 0, errBad
			}
			return 0, rondo.WaitCanceled(ctx)
		})
		if got != nil || err != errBad {
			t.Errorf("with an error: %v, %v", got, err)
		}
		return nil
	})
}

// TestCallMany: many callers on all shards call each other, and each count is right
// without a lock.
func TestCallMany(t *testing.T) {
	const shards, callers, calls = 4, 20, 50
	counts := make([]int, shards)
	mustRun(t, shards, func(ctx context.Context, s *shard.Shard) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			for i := range callers {
				g.Go(func(ctx context.Context) error {
					for j := range calls {
						to := (i + j) % shards
						if _, err := shard.Call(ctx, s.At(to), func(context.Context) (int, error) { counts[to]++; return 0, nil }); err != nil {
							return err
						}
					}
					return nil
				})
			}
			return nil
		})
	})
	for i, n := range counts {
		if n != shards*callers*calls/shards {
			t.Errorf("shard %d counted %d", i, n)
		}
	}
}
