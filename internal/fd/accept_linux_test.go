//go:build linux && !rondo_portable

package fd_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/poll"
)

// TestGoexitInAcceptOfSystem: what a task has accepted from the system when a callback's Goexit
// unwinds it is closed: each client has been returned, or finds its connection at an end. The clock
// stands still, so no step is long, and the callback runs on the stack of the task.
func TestGoexitInAcceptOfSystem(t *testing.T) {
	const clients = 60
	for turns := 1; turns <= 3; turns++ {
		name := filepath.Join(t.TempDir(), "s")
		socket := func() int {
			sys, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			if err != nil {
				t.Fatal(err)
			}
			unix.CloseOnExec(sys)
			return sys
		}
		sys, at := socket(), &unix.SockaddrUnix{Name: name}
		err := errors.Join(unix.SetNonblock(sys, true), unix.Bind(sys, at), unix.Listen(sys, clients))
		var conns []int
		for range clients {
			c := socket()
			defer unix.Close(c)
			err = errors.Join(err, unix.Connect(c, at), unix.SetNonblock(c, true))
			conns = append(conns, c)
		}
		if err != nil {
			t.Fatal(err)
		}
		var returned []int
		var shared atomic.Bool
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = rondo.Run(driver.With(t.Context(), func() (driver.Driver, error) {
				d, err := poll.Open()
				return frozen{d}, err
			}), func(ctx context.Context) error {
				f := fd.New(kernel.Of(ctx), sys, nil)
				defer f.Close()
				exit(rondo.LoopOf(ctx), turns)
				for {
					conn, _, err := f.Accept(f.Task("Accept"), &shared)
					if err != nil {
						return err
					}
					returned = append(returned, conn)
				}
			})
		}()
		<-done
		for _, conn := range returned {
			_ = unix.Close(conn)
		}
		for _, c := range conns {
			if n, err := unix.Read(c, make([]byte, 1)); n > 0 || err != nil && err != unix.ECONNRESET {
				t.Errorf("%d turns: a client reads %d bytes, %v", turns, n, err)
			}
		}
	}
}
