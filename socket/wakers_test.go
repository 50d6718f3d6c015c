//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package socket_test

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/poll"
	"github.com/rondo-go/rondo/socket"
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

// later returns a channel that is closed when the loop has looked several times whether anything
// may wake it.
func (s *sleeper) later() <-chan struct{} {
	others, slept := make(chan struct{}), 0
	s.asleep = func() {
		if slept++; slept < 5 {
			s.Wake()
			return
		}
		s.asleep = nil
		close(others)
	}
	return others
}

// TestWhatMayWake: while a task waits at a descriptor, the loop is not in deadlock, and afterwards
// it is.
func TestWhatMayWake(t *testing.T) {
	for name, wait := range map[string]func(ctx context.Context, d *sleeper) error{
		"Read": func(ctx context.Context, d *sleeper) error {
			a, b := pair(t, ctx)
			others := d.later()
			go func() { <-others; io.WriteString(b, "x") }()
			_, err := a.Read(make([]byte, 1))
			return err
		},
		"Accept": func(ctx context.Context, d *sleeper) error {
			l := listen(t, ctx)
			others := d.later()
			go func() {
				<-others
				if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
					c.Close()
				}
			}()
			c, err := l.Accept()
			if err != nil {
				return err
			}
			return c.Close()
		},
		"WaitRead": func(ctx context.Context, d *sleeper) error {
			r, w := plainPipe(t)
			defer syscall.Close(r)
			defer syscall.Close(w)
			others := d.later()
			go func() { <-others; syscall.Write(w, []byte("x")) }()
			return socket.WaitRead(ctx, uintptr(r))
		},
		"WatchRead": func(ctx context.Context, d *sleeper) error {
			r, w := plainPipe(t)
			defer syscall.Close(r)
			defer syscall.Close(w)
			var e rondo.Event
			defer socket.WatchRead(ctx, uintptr(r), e.Set)()
			others := d.later()
			go func() { <-others; syscall.Write(w, []byte("x")) }()
			return e.Wait(ctx)
		},
	} {
		d := new(sleeper)
		ctx := driver.With(t.Context(), func() (_ driver.Driver, err error) {
			d.Driver, err = poll.Open()
			return d, err
		})
		r, waited := rondo.Runner{EndDeadlock: 1, OnError: func(rondo.TaskInfo, error) {}}, false
		err := r.Run(ctx, func(ctx context.Context) error {
			if err := wait(ctx, d); err != nil {
				return err
			}
			waited = true
			return new(rondo.Event).Wait(ctx)
		})
		if !waited || !errors.Is(err, rondo.ErrDeadlock) {
			t.Errorf("%s: %v; the wait has ended: %v", name, err, waited)
		}
	}
}
