//go:build linux && !rondo_portable

package fd_test

import (
	"context"
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/poll"
)

// A frozen driver has a clock that stands still, so no timer fires.
type frozen struct{ driver.Driver }

func (frozen) Now() int64 { return 1 << 40 }

// datagramSocket returns a Unix socket with a name.
func datagramSocket(t *testing.T) (sys int, name string) {
	t.Helper()
	sys, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Bind(sys, &unix.SockaddrUnix{}) // the system chooses one
	}
	if err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(sys)
	if err != nil {
		t.Fatal(err)
	}
	return sys, at.(*unix.SockaddrUnix).Name
}

// TestNoRoom: a task pauses because the receiver of its datagram has no room. Meanwhile another one
// receives, and when the first has given up, other receivers are reached at once.
func TestNoRoom(t *testing.T) {
	ctx := driver.With(context.Background(), func() (driver.Driver, error) {
		d, err := poll.Open()
		return frozen{d}, err
	})
	err := rondo.Run(ctx, func(ctx context.Context) error {
		sys, name := datagramSocket(t)
		full, fullName := datagramSocket(t)
		defer unix.Close(full)
		other, otherName := datagramSocket(t)
		defer unix.Close(other)
		for unix.Sendto(other, []byte("x"), 0, &unix.SockaddrUnix{Name: fullName}) != unix.EAGAIN {
		}
		loop := kernel.Of(ctx)
		f := fd.New(loop, sys, nil)
		defer f.Close()
		f.Datagrams(true)
		turns := func() error {
			for range 200 {
				if err := rondo.Yield(ctx); err != nil {
					return err
				}
			}
			return nil
		}
		send := func(name string) *rondo.Future[int] {
			return started(ctx, func() (int, error) {
				return f.SendTo(loop.Task(), []byte("hello"), fd.Peer{Name: name}, false)
			})
		}
		sending := send(fullName)
		receiving := started(ctx, func() (int, error) {
			n, _, err := f.Receive(loop.Task(), make([]byte, 10))
			return n, err
		})
		err := errors.Join(turns(), unix.Sendto(other, []byte("hello"), 0, &unix.SockaddrUnix{Name: name}), turns())
		if err != nil || !receiving.Done() {
			t.Errorf("nothing was received, %v", err)
		}
		if sending.Done() {
			t.Error("the receiver has room")
		}
		sending.Task().Cancel(nil)
		if _, err := sending.Wait(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("SendTo: %v", err)
		}
		sending = send(otherName)
		if err := turns(); err != nil || !sending.Done() {
			t.Errorf("another receiver was not reached, %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestPacketsShare: a task that sends, or receives, and need not wait gives the others their turns.
func TestPacketsShare(t *testing.T) {
	run(t, func(ctx context.Context) error {
		sys, name := datagramSocket(t)
		other, otherName := datagramSocket(t)
		defer unix.Close(other)
		f := fd.New(kernel.Of(ctx), sys, nil)
		defer f.Close()
		f.Datagrams(true)
		p := make([]byte, 1)
		for what, op := range map[string]func() error{
			"SendTo": func() error {
				_, err := f.SendTo(f.Task("SendTo"), p, fd.Peer{Name: otherName}, false)
				_, _, read := unix.Recvfrom(other, p, 0)
				return errors.Join(err, read)
			},
			"Receive": func() error {
				sent := unix.Sendto(other, p, 0, &unix.SockaddrUnix{Name: name})
				_, _, err := f.Receive(f.Task("Receive"), p)
				return errors.Join(sent, err)
			},
		} {
			task := rondo.Go(ctx, func(context.Context) error { return nil })
			for range 1000 {
				if err := op(); err != nil {
					return err
				}
			}
			if !task.Done() {
				t.Errorf("%s: the other task has had no turn", what)
			}
		}
		return nil
	})
}
