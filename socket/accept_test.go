package socket_test

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
	"github.com/rondo-go/rondo/socket"
)

// failing is a listener whose Accept returns the given errors, and then ends.
type failing struct {
	net.Listener
	errs  []error
	tried []time.Time
	ctx   context.Context
}

func (f *failing) Accept() (net.Conn, error) {
	f.tried = append(f.tried, rondo.Now(f.ctx))
	if len(f.errs) == 0 {
		return nil, net.ErrClosed
	}
	err := f.errs[0]
	f.errs = f.errs[1:]
	return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", err)}
}

// TestAcceptBacksOff: after temporary errors Serve waits, longer each time, and
// reports them.
func TestAcceptBacksOff(t *testing.T) {
	run(t, func(ctx context.Context) error {
		l := listen(t, ctx)
		f := &failing{Listener: l, ctx: ctx, errs: []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ECONNABORTED, syscall.ENOMEM}}
		want := f.errs
		var reported []error
		s := &socket.Server{Handler: echo, OnError: func(c net.Conn, err error) {
			if c != nil {
				t.Error("OnError with a connection")
			}
			reported = append(reported, err)
		}}
		if err := s.Serve(ctx, f); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Serve returned %v", err)
		}
		if len(reported) != len(want) {
			t.Fatalf("reported %v", reported)
		}
		for i, err := range reported {
			delay := 5 * time.Millisecond << i
			if !errors.Is(err, want[i]) || !strings.Contains(err.Error(), delay.String()) {
				t.Errorf("error %d is %v", i, err)
			}
			if waited := f.tried[i+1].Sub(f.tried[i]); waited < delay {
				t.Errorf("the wait after error %d took %v", i, waited)
			}
		}
		return nil
	})
}

// TestAcceptFails: any other error ends Serve.
func TestAcceptFails(t *testing.T) {
	run(t, func(ctx context.Context) error {
		l := listen(t, ctx)
		f := &failing{Listener: l, ctx: ctx, errs: []error{syscall.EINVAL}}
		if err := socket.Serve(ctx, f, echo); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("Serve returned %v", err)
		}
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("the listener was not closed: %v", err)
		}
		return nil
	})
}
