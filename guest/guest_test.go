package guest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/guest"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/socket"
)

func TestMain(m *testing.M) { leak.Main(m) }

// A host with frames: each calls Step, and draws what the tasks have done.
func Example() {
	x := 0
	l := guest.New(context.Background(), nil, nil, func(ctx context.Context) error {
		for range rondo.Every(ctx, time.Millisecond) {
			if x++; x == 3 {
				break
			}
		}
		return nil
	})
	defer l.Close()
	for range time.Tick(time.Millisecond) {
		if l.Step(time.Millisecond) == guest.Ended {
			break
		}
	}
	fmt.Println(x)
	// Output: 3
}

// host runs a loop as a host does that sleeps until wake is called, and returns the error of
// Run.
func host(t *testing.T, r *rondo.Runner, main func(ctx context.Context) error) error {
	t.Helper()
	events := make(chan struct{}, 1)
	l := guest.New(t.Context(), r, tell(events), main)
	for {
		switch l.Step(time.Millisecond) {
		case guest.Sleeping:
			<-events
		case guest.Ended:
			return l.Close()
		}
	}
}

// tell returns a wake that sends an event.
func tell(events chan<- struct{}) func() {
	return func() {
		select {
		case events <- struct{}{}:
		default: // there is one already
		}
	}
}

// TestWakes: timers, sockets, Offload, Post and goroutines wake the host.
func TestWakes(t *testing.T) {
	var did []string
	err := host(t, nil, func(ctx context.Context) error {
		if err := rondo.Sleep(ctx, time.Millisecond); err != nil {
			return err
		}
		did = append(did, "timer")
		if _, err := rondo.Offload(ctx, func(context.Context) (int, error) { return 1, nil }); err != nil {
			return err
		}
		did = append(did, "offload")
		var posted rondo.Event
		loop := rondo.LoopOf(ctx)
		go loop.Post(posted.Set)
		if err := posted.Wait(ctx); err != nil {
			return err
		}
		did = append(did, "post")
		if err := echoes(ctx); err != nil {
			return err
		}
		did = append(did, "socket")
		return nil
	})
	if want := []string{"timer", "offload", "post", "socket"}; err != nil || !slices.Equal(did, want) {
		t.Errorf("%v, %v; want %v", did, err, want)
	}
}

// echoes sends and receives on a connection of two tasks.
func echoes(ctx context.Context) error {
	l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(func(ctx context.Context) error {
			defer l.Close()
			c, err := l.Accept()
			if err != nil {
				return err
			}
			defer c.Close()
			_, err = io.Copy(c, c)
			return err
		})
		c, err := socket.Dial(ctx, "tcp", l.Addr().String())
		if err != nil {
			return err
		}
		defer c.Close()
		b := make([]byte, 1)
		for range 1000 {
			if _, err := c.Write([]byte("x")); err != nil {
				return err
			}
			if _, err := io.ReadFull(c, b); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestOnlyInStep: tasks and a Tracer's hooks run only while the host is in Step.
func TestOnlyInStep(t *testing.T) {
	inside, hooks := false, 0 // the race detector sees a use outside Step as well
	check := func() {
		if hooks++; !inside {
			t.Error("code of the loop ran outside Step")
		}
	}
	r := &rondo.Runner{Tracer: &rondo.Tracer{
		Woken: func(_, _ *rondo.Task, _ time.Time) { check() },
	}}
	events := make(chan struct{}, 1)
	l := guest.New(t.Context(), r, tell(events), func(ctx context.Context) error {
		check()
		return echoes(ctx)
	})
	for {
		inside = true
		state := l.Step(0)
		inside = false
		switch state {
		case guest.Sleeping:
			<-events
		case guest.Ended:
			if err := l.Close(); err != nil || hooks < 1000 {
				t.Errorf("%v, after %d hooks", err, hooks)
			}
			return
		}
	}
}

// TestBudget: a loop that is never idle gives the host its turns, from whichever task has the
// baton then.
func TestBudget(t *testing.T) {
	turns, done := 0, false
	l := guest.New(t.Context(), nil, nil, func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			for range 10 {
				g.Go(func(ctx context.Context) error {
					for !done {
						if err := rondo.Yield(ctx); err != nil {
							return err
						}
						turns++
					}
					return nil
				})
			}
			return nil
		})
	})
	for steps := 0; steps < 100; {
		before := turns
		if state := l.Step(0); state != guest.Ready {
			t.Fatalf("Step returned %v after %d turns", state, turns-before)
		}
		if turns > before { // a Step may have been over before a task had a turn
			steps++
		}
	}
	done = true
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// TestBudgetOfShortSleeps: a loop that would sleep again and again, for no time, gives the host
// its turns too.
func TestBudgetOfShortSleeps(t *testing.T) {
	done := false
	l := guest.New(t.Context(), nil, nil, func(ctx context.Context) error {
		for !done {
			if err := rondo.Sleep(ctx, 1); err != nil {
				return err
			}
		}
		return nil
	})
	for ready := 0; ready < 10; {
		if l.Step(0) == guest.Ready {
			ready++
		}
	}
	done = true
	if err := l.Close(); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestRunWithin: a function that a task offloads may run a loop of its own with the task's ctx.
func TestRunWithin(t *testing.T) {
	within := 0
	err := host(t, nil, func(ctx context.Context) error {
		_, err := rondo.Offload(ctx, func(ctx context.Context) (int, error) {
			return 0, rondo.Run(ctx, func(ctx context.Context) error {
				for ; within < 100; within++ {
					if err := rondo.Sleep(ctx, time.Microsecond); err != nil {
						return err
					}
				}
				return nil
			})
		})
		return err
	})
	if err != nil || within != 100 {
		t.Errorf("%v after %d turns", err, within)
	}
}

// TestClose: Close cancels what runs, waits for its clean-up, and leaves nothing behind; also
// before the first Step, and twice.
func TestClose(t *testing.T) {
	for steps := range 3 {
		before, cleaned := runtime.NumGoroutine(), 0
		l := guest.New(context.Background(), nil, nil, func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(func(ctx context.Context) error {
					err := rondo.WaitCanceled(ctx)
					clean := func(ctx context.Context) error { return rondo.Sleep(ctx, time.Millisecond) }
					err = errors.Join(err, rondo.Shield(ctx, clean))
					cleaned++
					return err
				})
				return rondo.Sleep(ctx, time.Hour)
			})
		})
		for range steps {
			if state := l.Step(-1); state != guest.Sleeping {
				t.Errorf("Step returned %v", state)
			}
		}
		for range 2 {
			if err := l.Close(); !errors.Is(err, context.Canceled) {
				t.Errorf("after %d steps Close returned %v", steps, err)
			}
		}
		if steps > 0 && cleaned != 1 {
			t.Errorf("cleaned up %d times", cleaned)
		}
		if left := leak.Settle(before); left > before {
			t.Errorf("%d goroutines are left", left-before)
		}
	}
}

// TestCancelled: the end of the ctx of New wakes a host that sleeps.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the window was closed")
	events := make(chan struct{}, 1)
	l := guest.New(ctx, nil, tell(events), func(ctx context.Context) error {
		return rondo.WaitCanceled(ctx)
	})
	if state := l.Step(-1); state != guest.Sleeping {
		t.Fatalf("Step returned %v", state)
	}
	cancel(why)
	for l.Step(-1) != guest.Ended {
		<-events
	}
	if err := l.Close(); !errors.Is(err, why) {
		t.Error(err)
	}
}

// TestPanics: a panic of a task is a panic of Step, and the Loop has ended then.
func TestPanics(t *testing.T) {
	l := guest.New(t.Context(), nil, nil, func(ctx context.Context) error { panic("broken") })
	func() {
		defer func() {
			var p *rondo.PanicError
			if err, _ := recover().(error); !errors.As(err, &p) || p.Value != "broken" {
				t.Errorf("Step panicked with %v", err)
			}
		}()
		l.Step(-1)
	}()
	if state := l.Step(0); state != guest.Ended {
		t.Errorf("after it, Step returned %v", state)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// TestMisuse: each mistake is named, with its cure.
func TestMisuse(t *testing.T) {
	main := func(context.Context) error { return nil }
	panics(t, "guest: New with a nil function: give it the main task", func() {
		guest.New(t.Context(), nil, nil, nil)
	})
	panics(t, "guest: New with a nil context: use context.Background() if there is no other", func() {
		var none context.Context
		guest.New(none, nil, nil, main)
	})
	panics(t, "guest: New with LockThread: call runtime.LockOSThread on the host's goroutine before New, and leave LockThread unset", func() {
		guest.New(t.Context(), &rondo.Runner{LockThread: true}, nil, main)
	})
	var l *guest.Loop
	l = guest.New(t.Context(), nil, nil, func(context.Context) error {
		panics(t, "guest: Step inside a Step: a task must not run the loop that it runs on", func() { l.Step(0) })
		panics(t, "guest: Close inside a Step: cancel the ctx of New, or return from main", func() { _ = l.Close() })
		return nil
	})
	for l.Step(0) != guest.Ended {
		runtime.Gosched()
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// panics fails the test if fn does not panic with text.
func panics(t *testing.T, text string, fn func()) {
	t.Helper()
	defer func() {
		if v := recover(); v != text {
			t.Errorf("panic %v, want %q", v, text)
		}
	}()
	fn()
}

// TestLockedThread: a host that is locked to its thread runs all tasks on it.
func TestLockedThread(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := host(t, nil, echoes); err != nil {
		t.Error(err)
	}
}
