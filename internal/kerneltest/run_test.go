package kerneltest_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/internal/poll"
)

func TestRunnerIsReusable(t *testing.T) {
	r := rondo.Runner{Name: "again"}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 25 {
				err := r.Run(context.Background(), func(ctx context.Context) error {
					if name := rondo.LoopOf(ctx).Name(); name != "again" {
						return fmt.Errorf("the loop's name is %q", name)
					}
					return rondo.Sleep(ctx, time.Microsecond)
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// TestLoopsAreNumbered: a loop without a name gets a number that no other has.
func TestLoopsAreNumbered(t *testing.T) {
	seen := make(map[string]bool)
	for range 3 {
		run(t, func(ctx context.Context) error {
			name := rondo.LoopOf(ctx).Name()
			if !strings.HasPrefix(name, "loop-") || seen[name] {
				t.Errorf("the loop's name is %q; there were %v", name, seen)
			}
			seen[name] = true
			return nil
		})
	}
}

// TestRunLetsGoOfItsContext: when Run has returned nothing waits for the end of its ctx.
func TestRunLetsGoOfItsContext(t *testing.T) {
	before := runtime.NumGoroutine()
	c := hostileContext{t.Context(), "", make(chan struct{}), new(atomic.Bool)}
	if err := rondo.Run(c, rondo.Yield); err != nil {
		t.Error(err)
	}
	if left := leak.Settle(before); left > before {
		t.Errorf("%d goroutines are left", left-before)
	}
}

// A soonContext is cancelled after the first call of Err.
type soonContext struct {
	context.Context
	cancel context.CancelCauseFunc
}

func (c soonContext) Err() error {
	defer c.cancel(errBroken)
	return c.Context.Err()
}

// TestRunOfCancelledContext: if the context of Run is cancelled while the loop is set up, so is the
// main task.
func TestRunOfCancelledContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	err := rondo.Run(soonContext{ctx, cancel}, rondo.Check)
	if err != errBroken {
		t.Errorf("Run returned %v, want the cause", err)
	}
}

// TestLockThread: tasks, coroutines and Offload work on a locked thread, which is free again when
// Run returns, also with Debug.
func TestLockThread(t *testing.T) {
	before := runtime.NumGoroutine()
	locked := func() bool { return strings.Contains(string(debug.Stack()), "locked to thread") }
	for _, checked := range []bool{false, true} {
		r := rondo.Runner{LockThread: true, Debug: checked}
		err := r.Run(t.Context(), func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				for i := range 20 {
					g.Go(func(ctx context.Context) error {
						next, stop := iter.Pull(func(yield func(error) bool) {
							yield(rondo.Sleep(ctx, time.Duration(i)*time.Microsecond))
						})
						defer stop()
						if err, _ := next(); err != nil {
							return err
						}
						if !locked() {
							return errors.New("the task is on any thread")
						}
						_, err := rondo.Offload(ctx, func(context.Context) (int, error) { return 1, nil })
						return err
					})
				}
				return nil
			})
		})
		if err != nil {
			t.Errorf("Debug %v: Run returned %v", checked, err)
		}
		if locked() {
			t.Errorf("Debug %v: the goroutine of Run is still locked to its thread", checked)
		}
	}
	if left := leak.Settle(before); left > before {
		t.Errorf("%d goroutines are left", left-before)
	}
}

// A brokenDriver is the real one, but its calls of Poll and Close may fail.
type brokenDriver struct {
	driver.Driver
	poll  string // the text of the errors of Poll, which are numbered; "": it does not fail
	polls int
	close error
}

func (d *brokenDriver) Poll(until int64) error {
	if d.poll == "" {
		return d.Driver.Poll(until)
	}
	d.polls++
	return fmt.Errorf("%s %d", d.poll, d.polls)
}

func (d *brokenDriver) Close() error {
	err := d.Driver.Close()
	return cmp.Or(d.close, err)
}

// TestDriverFails: the first error of a driver is the cause with which main is cancelled, and Run
// returns it with main's own. The file of RONDO_TRACE is complete however the loop ends.
func TestDriverFails(t *testing.T) {
	errClose := errors.New("not closed")
	for _, c := range []struct {
		name              string
		poll              string
		open, close, main error
		want              string
	}{
		{name: "nothing"},
		{name: "open", open: errBroken, want: "rondo: Run: broken"},
		{name: "poll", poll: "no events", want: "no events 1"},
		{name: "poll and main", poll: "no events", main: errBroken, want: "no events 1\nbroken"},
		{name: "poll and close", poll: "no events", close: errClose, want: "no events 1"},
		{name: "close", close: errClose, want: "rondo: closing the driver: not closed"},
		{name: "close and main", close: errClose, main: errBroken, want: "rondo: closing the driver: not closed\nbroken"},
	} {
		path := filepath.Join(t.TempDir(), "trace.json")
		t.Setenv("RONDO_TRACE", path)
		ctx := driver.With(t.Context(), func() (driver.Driver, error) {
			if c.open != nil {
				return nil, c.open
			}
			d, err := poll.Open()
			return &brokenDriver{Driver: d, poll: c.poll, close: c.close}, err
		})
		err := rondo.Run(ctx, func(ctx context.Context) error {
			err := rondo.Sleep(ctx, time.Millisecond)
			if c.poll != "" {
				err = forever(ctx)
			}
			return cmp.Or(lingering(ctx), c.main, err)
		})
		if (err != nil || c.want != "") && fmt.Sprint(err) != c.want {
			t.Errorf("%s: Run returned %q, want %q", c.name, err, c.want)
		}
		if text, err := os.ReadFile(path); !strings.HasSuffix(string(text), "]\n") {
			t.Errorf("%s: the file is not complete: %v, %q", c.name, err, text)
		}
	}
}
