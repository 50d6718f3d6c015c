package kerneltest_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// TestCauseIsRemovedFromJoinedErrors: a cancelled task may join the cause with an
// error of its own in any way. The Group returns the error and, once, the cause.
func TestCauseIsRemovedFromJoinedErrors(t *testing.T) {
	errStop := errors.New("stop")
	for name, c := range map[string]struct {
		with func(cause error) error
		want string
	}{
		"cause":       {func(cause error) error { return cause }, "stop"},
		"wrapped":     {func(cause error) error { return fmt.Errorf("reading: %w", cause) }, "reading: stop"},
		"standard":    {func(error) error { return context.Canceled }, "stop"},
		"only causes": {func(cause error) error { return errors.Join(cause, fmt.Errorf("again: %w", cause)) }, "again: stop"},
		"joined":      {func(cause error) error { return errors.Join(cause, errBroken) }, "broken\nstop"},
		"deep":        {func(cause error) error { return errors.Join(errors.Join(errBroken, cause), cause) }, "broken\nstop"},
		"two":         {func(cause error) error { return errors.Join(errBroken, cause, errBroken) }, "broken\nbroken\nstop"},
		"in one text": {func(cause error) error { return fmt.Errorf("%w while %w", errBroken, cause) }, "broken while stop"},
		"around":      {func(cause error) error { return fmt.Errorf("late: %w", errors.Join(errBroken, cause)) }, "late: broken\nstop"},
	} {
		sim.Test(t, func(ctx context.Context) {
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(func(ctx context.Context) error { return c.with(forever(ctx)) })
				_ = rondo.Yield(g)
				g.Cancel(errStop)
				return nil
			})
			if fmt.Sprint(err) != c.want {
				t.Errorf("%s: Group returned %q, want %q", name, fmt.Sprint(err), c.want)
			}
		})
	}
}

// TestErrorThatSaysMore: in a scope that ends with Cancel(nil), and in one whose
// deadline has passed, an error of a clean-up is kept with its words. An error
// that only names an operation of the standard library is not.
func TestErrorThatSaysMore(t *testing.T) {
	for name, c := range map[string]struct {
		with func(cause error) error
		want string
	}{
		"words":     {func(cause error) error { return fmt.Errorf("ROLLBACK FAILED: %w", cause) }, "ROLLBACK FAILED: "},
		"operation": {func(cause error) error { return &net.OpError{Op: "read", Net: "tcp", Err: cause} }, ""},
		"request": {func(cause error) error {
			return &url.Error{Op: "Get", Err: &net.OpError{Op: "read", Net: "tcp", Err: cause}}
		}, ""},
		"both": {func(cause error) error { return &net.OpError{Op: "read", Err: fmt.Errorf("lost: %w", cause)} }, "read: lost: "},
	} {
		sim.Test(t, func(ctx context.Context) {
			silent := rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(func(ctx context.Context) error { return c.with(forever(ctx)) })
				_ = rondo.Yield(g)
				g.Cancel(nil)
				return nil
			})
			late := rondo.Timeout(ctx, 1, func(ctx context.Context) error { return c.with(forever(ctx)) })
			want := "<nil>"
			if c.want != "" {
				want = c.want + "context canceled"
			}
			if fmt.Sprint(silent) != want || fmt.Sprint(late) != c.want+"context deadline exceeded" {
				t.Errorf("%s: Group returned %q, Timeout %q", name, fmt.Sprint(silent), fmt.Sprint(late))
			}
		})
	}
}

// TestErrorOfAnotherEvent: in a scope whose deadline has passed, the deadline of another scope is
// kept although it reads the same, and so is a panic with the cause; joined with others too.
func TestErrorOfAnotherEvent(t *testing.T) {
	events := map[string]func(ctx context.Context) error{
		"a deadline": func(ctx context.Context) error {
			return rondo.Timeout(ctx, time.Nanosecond, forever)
		},
		"a panic": func(ctx context.Context) error {
			return rondo.Go(ctx, func(ctx context.Context) error { panic(context.DeadlineExceeded) }).Wait(ctx)
		},
	}
	for name, event := range events {
		r := rondo.Runner{Recover: true}
		err := r.Run(t.Context(), func(ctx context.Context) error {
			other := event(ctx)
			for _, joined := range []bool{false, true} {
				err := rondo.Timeout(ctx, time.Nanosecond, func(ctx context.Context) error {
					cause := forever(ctx)
					if joined {
						return errors.Join(cause, other)
					}
					return other
				})
				if !errors.Is(err, other) {
					t.Errorf("%s, joined %t: Timeout returned %v without %v", name, joined, err, other)
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestPanicWithTheCauseIsReported: a task that panics with the error of its
// cancelled wait has failed, and its error is not taken for the cause.
func TestPanicWithTheCauseIsReported(t *testing.T) {
	err := (&rondo.Runner{Recover: true}).Run(t.Context(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			for range 2 {
				g.Go(func(ctx context.Context) error { panic(forever(ctx)) })
			}
			_ = rondo.Yield(g)
			return errBroken
		})
	})
	if n := strings.Count(fmt.Sprint(err), "rondo: panic in"); n != 2 || !errors.Is(err, errBroken) {
		t.Errorf("Run returned %d of 2 panics: %v", n, err)
	}
}

// TestPanicOfBodyLosesNoErrors: if the body of a group panics and the panic is
// recovered, the errors of the group's tasks go to the scope around it, and to
// OnError if there is none.
func TestPanicOfBodyLosesNoErrors(t *testing.T) {
	panics := func(ctx context.Context) {
		defer func() {
			if v := recover(); v != "oops" {
				t.Errorf("recovered %v", v)
			}
		}()
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(context.Context) error { return errBroken })
			_ = rondo.Yield(g)
			panic("oops")
		})
	}
	var unobserved error
	r := rondo.Runner{OnError: func(_ rondo.TaskInfo, err error) { unobserved = err }}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		err := rondo.Group(ctx, func(g *rondo.Scope) error { panics(g); return nil })
		if err != errBroken || unobserved != nil {
			t.Errorf("the Group around it returned %v, OnError got %v", err, unobserved)
		}
		panics(ctx)
		return nil
	})
	if err != nil || unobserved != errBroken {
		t.Errorf("Run returned %v, OnError got %v", err, unobserved)
	}
}

// TestPanicOfBodyReportsSoon: nobody can wait for these errors, so they do not pile up until the
// end of the loop.
func TestPanicOfBodyReportsSoon(t *testing.T) {
	reported := 0
	r := rondo.Runner{OnError: func(_ rondo.TaskInfo, err error) {
		if reported++; err != errBroken {
			t.Errorf("OnError got %v", err)
		}
	}}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		for round := 1; round <= 100; round++ {
			func() {
				defer func() { _ = recover() }()
				_ = rondo.Group(ctx, func(g *rondo.Scope) error {
					g.Go(breaks)
					_ = rondo.Yield(g)
					panic("oops")
				})
			}()
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
			if reported != round {
				return fmt.Errorf("after %d rounds OnError has got %d errors", round, reported)
			}
		}
		return nil
	})
	if err != nil || reported != 100 {
		t.Errorf("Run returned %v; OnError got %d errors, want 100", err, reported)
	}
}

// TestPanicOfBodyKeepsHostileErrors: errors of such a group's tasks are kept whole if they cannot
// be compared with the cancellation of the scope around it, because a method of theirs panics.
func TestPanicOfBodyKeepsHostileErrors(t *testing.T) {
	for kind, hostile := range hostile {
		run(t, func(ctx context.Context) error {
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Cancel(errStop)
				defer func() { _ = recover() }()
				return rondo.Shield(g, func(ctx context.Context) error {
					rondo.Go(ctx, func(context.Context) error { return hostile() })
					_ = rondo.Yield(ctx)
					panic("oops")
				})
			})
			if got, want := fmt.Sprint(err), hostile().Error()+"\nstop"; got != want {
				t.Errorf("%s: the Group around it returned %q, want %q", kind, got, want)
			}
			return nil
		})
	}
}

// TestUncomparableCause: an error whose type cannot be compared may cancel a scope,
// and is taken off as the cause.
func TestUncomparableCause(t *testing.T) {
	for _, cause := range []error{several{errBroken}, holding{[]int{1}}} {
		sim.Test(t, func(ctx context.Context) {
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(forever)
				g.Go(func(ctx context.Context) error { _ = rondo.Yield(ctx); return cause })
				return forever(g)
			})
			if fmt.Sprint(err) != cause.Error() {
				t.Errorf("Group returned %v", err)
			}
		})
	}
}

type several []error

func (s several) Error() string { return "several" }

type holding struct{ v any }

func (h holding) Error() string { return "holding" }

// TestPanicOfOnError: if OnError panics, the log has the panic with its stack and the error
// that OnError was called with, once, and the loop goes on.
func TestPanicOfOnError(t *testing.T) {
	r := rondo.Runner{OnError: func(rondo.TaskInfo, error) { panic("OnError is broken") }}
	log := logs(func() {
		err := r.Run(context.Background(), func(ctx context.Context) error {
			rondo.Go(ctx, func(context.Context) error { return errBroken })
			return rondo.Yield(ctx)
		})
		if err != nil {
			t.Errorf("Run returned %v", err)
		}
	})
	if strings.Count(log, "err=broken") != 1 || !strings.Contains(log, "OnError is broken") || !strings.Contains(log, "TestPanicOfOnError") {
		t.Errorf("the log is %q", log)
	}
}

// TestErrorOfMain: if Run panics or calls Goexit, what main returns beyond the cancellation goes to
// OnError, once, and otherwise it is what Run returns. The panic itself does not.
func TestErrorOfMain(t *testing.T) {
	var cancel context.CancelCauseFunc // of the ctx of Run
	words := func(err error) error { return fmt.Errorf("clean-up: %w", err) }
	same := func(err error) error { return err }
	for name, c := range map[string]struct {
		end      func(ctx context.Context)
		result   func(err error) error // of main, which gets the cause
		returns  bool
		reported string
	}{
		"a panic":                            {func(ctx context.Context) { rondo.Go(ctx, func(context.Context) error { panic("oops") }) }, words, false, "main"},
		"a panic, and nothing more":          {func(ctx context.Context) { rondo.Go(ctx, func(context.Context) error { panic("oops") }) }, same, false, ""},
		"a panic of a callback":              {func(ctx context.Context) { rondo.LoopOf(ctx).CallSoon(func() { panic("oops") }) }, words, false, "main"},
		"a Goexit":                           {func(ctx context.Context) { rondo.Go(ctx, func(context.Context) error { runtime.Goexit(); return nil }) }, words, false, "main"},
		"a Goexit, and nothing more":         {func(ctx context.Context) { rondo.Go(ctx, func(context.Context) error { runtime.Goexit(); return nil }) }, same, false, ""},
		"a panic of main that was cancelled": {func(context.Context) { cancel(errStop) }, func(error) error { panic("oops") }, false, ""},
		"a panic of a task that was cancelled": {func(ctx context.Context) {
			rondo.Go(ctx, func(ctx context.Context) error { _ = forever(ctx); panic("oops") })
			cancel(errStop)
		}, func(error) error { return nil }, false, ""},
		"a cancellation": {func(ctx context.Context) { rondo.Current(ctx).Cancel(errStop) }, words, true, ""},
		"a panic, for a task that waits for main": {func(ctx context.Context) {
			main := rondo.Current(ctx)
			rondo.Go(ctx, func(ctx context.Context) error {
				return rondo.Shield(ctx, func(ctx context.Context) error { _ = main.Wait(ctx); return nil })
			})
			rondo.Go(ctx, func(context.Context) error { panic("oops") })
		}, words, false, ""},
	} {
		var reported []string
		returned, ended := false, make(chan struct{})
		go func() {
			defer close(ended)
			defer func() { _ = recover() }()
			r := rondo.Runner{OnError: func(task rondo.TaskInfo, _ error) {
				reported = append(reported, task.Name)
			}}
			var ctx context.Context
			ctx, cancel = context.WithCancelCause(t.Context())
			defer cancel(nil)
			err := r.Run(ctx, func(ctx context.Context) error {
				c.end(ctx)
				return c.result(forever(ctx))
			})
			returned = err != nil
		}()
		<-ended
		if got := strings.Join(reported, " "); returned != c.returns || got != c.reported {
			t.Errorf("%s: Run returned an error: %v; OnError got that of %q, want %q", name, returned, got, c.reported)
		}
	}
}
