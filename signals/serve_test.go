//go:build unix

package signals_test

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/signals"
)

var (
	errClosed = errors.New("server closed")
	errBroken = errors.New("broken")
)

// A service is a server with one client, who needs some time to end after Shutdown.
type service struct {
	serving    func(ctx context.Context) error // called when it serves
	needs      time.Duration
	stuck      error // of Shutdown
	down, over rondo.Event
	cut        bool
	asked      os.Signal
}

func (s *service) Serve(ctx context.Context, _ net.Listener) error {
	if s.serving != nil {
		if err := s.serving(ctx); err != nil {
			return err
		}
	}
	if err := s.down.Wait(ctx); err != nil {
		return err
	}
	defer s.over.Set()
	_ = rondo.Timeout(ctx, s.needs, rondo.WaitCanceled)
	return errClosed
}

func (s *service) Shutdown(ctx context.Context) error {
	s.asked = signals.Received(ctx)
	s.down.Set()
	if err := s.over.Wait(ctx); err != nil {
		s.cut = true
		s.needs = 0
		return err
	}
	return s.stuck
}

// TestServe: a signal that was asked for is no error, whether or not the grace was
// enough; what fails besides is one.
func TestServe(t *testing.T) {
	signal := func(context.Context) error { return raise(syscall.SIGTERM) }
	for name, c := range map[string]struct {
		service *service
		grace   time.Duration
		want    error
		cut     bool
	}{
		"in time":          {&service{serving: signal, needs: time.Millisecond}, time.Minute, nil, false},
		"grace is over":    {&service{serving: signal, needs: 20 * time.Millisecond}, time.Millisecond, nil, true},
		"no grace":         {&service{serving: signal, needs: 20 * time.Millisecond}, 0, nil, true},
		"Shutdown fails":   {&service{serving: signal, stuck: errBroken}, time.Minute, errBroken, false},
		"Serve fails":      {&service{serving: func(context.Context) error { return errBroken }}, time.Minute, errBroken, false},
		"cancelled inside": {&service{serving: func(ctx context.Context) error { return context.Canceled }}, time.Minute, context.Canceled, false},
	} {
		run(t, func(ctx context.Context) error {
			if err := signals.Serve(ctx, c.service, nil, c.grace); err != c.want || c.service.cut != c.cut {
				t.Errorf("%s: Serve returned %v, cut off: %v", name, err, c.service.cut)
			}
			if asked := c.service.asked; c.service.down.IsSet() && asked != syscall.SIGTERM || signals.Received(ctx) != nil {
				t.Errorf("%s: the signal was %v", name, asked)
			}
			return nil
		})
	}
}

// TestServeCancelled: a cancellation from above is returned, without any grace.
func TestServeCancelled(t *testing.T) {
	why := errors.New("why")
	run(t, func(ctx context.Context) error {
		var s service
		s.serving = func(ctx context.Context) error { return rondo.Yield(ctx) }
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			rondo.Go(ctx, func(context.Context) error { g.Cancel(why); return nil })
			return signals.Serve(g, &s, nil, time.Minute)
		})
		if err != why || s.down.IsSet() {
			t.Errorf("Serve returned %v, shut down: %v", err, s.down.IsSet())
		}
		return nil
	})
}

// TestServeCancelledBefore: a listener is closed also if ctx is cancelled already.
func TestServeCancelledBefore(t *testing.T) {
	why := errors.New("why")
	run(t, func(ctx context.Context) error {
		for _, l := range []net.Listener{nil, new(listener)} {
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Cancel(why)
				return signals.Serve(g, new(service), l, time.Minute)
			})
			if l, is := l.(*listener); err != why || is && l.closed != 1 {
				t.Errorf("Serve returned %v; the listener: %v", err, l)
			}
		}
		return nil
	})
}

// A listener counts how often it was closed.
type listener struct {
	net.Listener
	closed int
}

func (l *listener) Close() error { l.closed++; return nil }

func TestServeMistakes(t *testing.T) {
	run(t, func(ctx context.Context) error {
		for want, call := range map[string]func(){
			"rondo: signals.Serve with a nil Server":                     func() { _ = signals.Serve(ctx, nil, nil, 0) },
			"rondo: signals.Serve of \"killed\", which cannot be caught": func() { _ = signals.Serve(ctx, new(service), nil, 0, syscall.SIGKILL) },
		} {
			if err := panicOf(call); err == nil || err.Error() != want {
				t.Errorf("panic %v, want %q", err, want)
			}
		}
		if err := signals.Serve(context.Background(), new(service), nil, 0); !errors.Is(err, rondo.ErrNoLoop) || !strings.HasPrefix(err.Error(), "rondo: signals.Serve: ") {
			t.Errorf("with a ctx of no loop: %v", err)
		}
		return nil
	})
}
