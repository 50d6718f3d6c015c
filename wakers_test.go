package rondo

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/poll"
)

// A sleeper is a driver that calls asleep before it sleeps.
type sleeper struct {
	driver.Driver
	asleep func()
}

func (s *sleeper) Poll(until int64) error {
	if until >= 0 && s.asleep != nil {
		s.asleep()
	}
	return s.Driver.Poll(until)
}

// mayWake has a wait for each kind of thing that may wake a loop from outside: it ends some time
// after other goroutines go on.
var mayWake = map[string]func(ctx context.Context, others <-chan struct{}) error{
	"an offloaded function": func(ctx context.Context, others <-chan struct{}) error {
		return OffloadFunc(ctx, func(context.Context) error { <-others; return nil })
	},
	"a channel": func(ctx context.Context, others <-chan struct{}) error {
		_, _, err := Receive(ctx, others)
		return err
	},
	"a Future": func(ctx context.Context, others <-chan struct{}) error {
		_, err := setLater(ctx, others).Wait(ctx)
		return err
	},
	"a Future of a Select": func(ctx context.Context, others <-chan struct{}) error {
		_, err := Select(ctx, setLater(ctx, others).WaitCase())
		return err
	},
	"callbacks of a Future": func(ctx context.Context, others <-chan struct{}) error {
		var e Event
		f := setLater(ctx, others)
		f.OnDone(e.Set)
		for range 3 {
			if !f.OnDone(func() {})() {
				return errors.New("a callback was not stopped")
			}
		}
		return e.Wait(ctx)
	},
	"a Future after callbacks that came too late to be counted": func(ctx context.Context, others <-chan struct{}) error {
		f := NewFuture[int](ctx)
		stop := f.OnDone(func() {})
		if !f.OnDone(func() {})() {
			return errors.New("a callback was not stopped before")
		}
		f.Set(1)
		if !stop() {
			return errors.New("a callback was not stopped")
		}
		_, err := setLater(ctx, others).Wait(ctx)
		return err
	},
	"a context with a deadline": func(ctx context.Context, others <-chan struct{}) error {
		with, cancel := context.WithTimeout(ctx, time.Hour)
		go func() { <-others; cancel() }()
		if err := new(Event).Wait(with); err != context.Canceled {
			return err
		}
		return nil
	},
	"a task of another loop": func(ctx context.Context, others <-chan struct{}) error {
		return besideLoop(ctx, others, func(t *Task) error { return t.Wait(ctx) })
	},
	"a task of another loop in a Select": func(ctx context.Context, others <-chan struct{}) error {
		return besideLoop(ctx, others, func(t *Task) error { _, err := Select(ctx, t.WaitCase()); return err })
	},
}

// setLater returns a Future that a goroutine sets.
func setLater(ctx context.Context, others <-chan struct{}) *Future[int] {
	f := NewFuture[int](ctx)
	go func() { <-others; f.Set(1) }()
	return f
}

// besideLoop calls wait with a task of another loop.
func besideLoop(ctx context.Context, others <-chan struct{}, wait func(t *Task) error) error {
	begun, ended := make(chan *Task, 1), make(chan error, 1)
	go func() {
		ended <- Run(context.Background(), func(ctx context.Context) error {
			begun <- Current(ctx)
			_, _, err := Receive(ctx, others)
			return err
		})
	}()
	return errors.Join(wait(<-begun), <-ended)
}

// TestWhatMayWake: while a task waits for something that may come from outside, the loop does not
// count as dead, and afterwards it does.
func TestWhatMayWake(t *testing.T) {
	for name, wait := range mayWake {
		d := new(sleeper)
		ctx := driver.With(t.Context(), func() (_ driver.Driver, err error) {
			d.Driver, err = poll.Open()
			return d, err
		})
		slept := 0
		err := Run(ctx, func(ctx context.Context) error {
			l, others := scopeOf(ctx).loop, make(chan struct{})
			d.asleep = func() {
				if slept++; slept == 1 {
					close(others)
				}
				if !l.canBeWoken() {
					t.Errorf("%s: nothing may wake the loop", name)
				}
			}
			if err := wait(ctx, others); err != nil {
				return err
			}
			var e Event
			d.asleep = func() {
				if l.canBeWoken() || l.still.reported {
					t.Errorf("%s: something may still wake the loop afterwards, or a deadlock is reported too soon", name)
				}
				d.asleep = nil
				_ = l.post(e.Set)
			}
			return e.Wait(ctx)
		})
		if err != nil || slept == 0 {
			t.Errorf("%s: %v, after %d sleeps", name, err, slept)
		}
	}
}

// TestIdle: the time of a sleep is idle time, and none of it is busy time.
func TestIdle(t *testing.T) {
	onStepClock(t, func(ctx context.Context, d *stepClock) error {
		d.now += 1000
		for range 3 {
			if err := Sleep(ctx, time.Second); err != nil {
				return err
			}
		}
		if s := scopeOf(ctx).loop.Stats(); s.Idle != 3*time.Second || s.Busy != 1000 {
			t.Errorf("idle %v, busy %v; want 3s and 1µs", s.Idle, s.Busy)
		}
		return nil
	})
}
