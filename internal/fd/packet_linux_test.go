//go:build linux && !rondo_portable

package fd_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

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
// receives. When the first has given up, other receivers are reached at once, and a function of the
// program that sends wakes for each report.
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
		tries := 0
		waiting := started(ctx, func() (int, error) {
			return 0, f.Wait(loop.Task(), driver.Writable, func(sys uintptr) bool {
				tries++
				// The attempt has the system report that the sender has room itself.
				return unix.Sendto(int(sys), []byte("hello"), 0, &unix.SockaddrUnix{Name: fullName}) == nil || tries == 3
			})
		})
		if err := turns(); err != nil || !waiting.Done() {
			t.Errorf("a function that sends was called %d times, want 3; %v", tries, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestPauses: a task whose datagram finds no room tries again after pauses that get longer, and
// reaches the receiver at the first attempt after there is room. The next datagram that finds none
// begins with a short pause again, and its deadline ends a pause.
func TestPauses(t *testing.T) {
	runLeaping(t, func(ctx context.Context, d *leaping) error {
		sys, _ := datagramSocket(t)
		full, name := datagramSocket(t)
		defer unix.Close(full)
		f := fd.New(kernel.Of(ctx), sys, nil)
		defer f.Close()
		f.Datagrams(true)
		send := func() error {
			_, err := f.SendTo(f.Task("SendTo"), []byte("hello"), fd.Peer{Name: name}, false)
			return err
		}
		fill := func() {
			for unix.Sendto(sys, []byte("x"), 0, &unix.SockaddrUnix{Name: name}) != unix.EAGAIN {
			}
		}
		ms := func(all ...time.Duration) (out []time.Duration) {
			for _, n := range all {
				out = append(out, n*time.Millisecond)
			}
			return out
		}
		for _, want := range [][]time.Duration{ms(1, 2, 4, 8, 16, 32, 64, 64), ms(1), ms(1, 2)} {
			fill()
			d.sleeps = nil
			d.slept = func() {
				if len(d.sleeps) == len(want) {
					_, _, _ = unix.Recvfrom(full, make([]byte, 1), 0)
				}
			}
			if err := send(); err != nil || !slices.Equal(d.sleeps, want) {
				t.Errorf("the pauses were %v, want %v; %v", d.sleeps, want, err)
			}
		}
		fill()
		d.sleeps, d.slept = nil, func() {}
		err := f.SetDeadline(driver.Writable, d.Time(d.Now()).Add(5*time.Millisecond))
		want := ms(1, 2, 2)
		if failed := send(); !errors.Is(failed, os.ErrDeadlineExceeded) || !slices.Equal(d.sleeps, want) {
			t.Errorf("the pauses were %v, want %v; %v", d.sleeps, want, failed)
		}
		if n := rondo.LoopOf(ctx).Stats().Timers; n != 0 {
			t.Errorf("%d timers are left", n)
		}
		return err
	})
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
