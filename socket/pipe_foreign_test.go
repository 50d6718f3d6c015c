package socket_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/poll"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// virtual is the real driver, which says that it is a simulated one. So it can
// have goroutines, which no seed repeats.
type virtual struct{ driver.Driver }

func (virtual) Simulation() driver.Simulation { return inOrder{} }

// inOrder is a simulation in which everything is as in the real world.
type inOrder struct{}

func (inOrder) Choose(int, func(i int) uint64) (int, bool) { return 0, true }
func (inOrder) Until() int64                               { return 0 }
func (inOrder) Punctual() bool                             { return true }
func (inOrder) DrawsShares() bool                          { return false }
func (inOrder) EndsShare(uint64) bool                      { return false }
func (inOrder) Refused()                                   {}
func (inOrder) Alone() bool                                { return false }
func (inOrder) Awaits() bool                               { return false }
func (inOrder) Settles() bool                              { return false }
func (inOrder) HandsOver(any)                              {}
func (inOrder) Prompt() bool                               { return false }
func (inOrder) Within() bool                               { return false }
func (inOrder) Offload(uintptr, func(), func()) bool       { return false }
func (inOrder) Host() driver.Host                          { return nil }

func openVirtual() (driver.Driver, error) {
	d, err := poll.Open()
	return virtual{d}, err
}

// TestPipeRefuses: a goroutine that a simulation does not wait for must not use a
// pipe: its error says so, before the loop's end and after it.
func TestPipeRefuses(t *testing.T) {
	refused := func(what string, err error) {
		if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "rondo.Offload") {
			t.Errorf("%s of a goroutine in a simulation: %v", what, err)
		}
	}
	var late net.Conn
	err := rondo.Run(driver.With(context.Background(), openVirtual), func(ctx context.Context) error {
		a, b := socket.Pipe(ctx)
		late = b
		done := make(chan bool)
		go func() {
			defer close(done)
			_, err := b.Write([]byte("x"))
			refused("Write", err)
			_, err = b.Read(make([]byte, 1))
			refused("Read", err)
		}()
		for {
			if err := a.SetReadDeadline(rondo.Now(ctx).Add(time.Millisecond)); err != nil {
				return err
			}
			if n, err := a.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the refused goroutine has written: %d, %v", n, err)
				return nil
			}
			select {
			case <-done:
				return nil
			default:
			}
		}
	})
	if err != nil {
		t.Error(err)
	}
	_, err = late.Write([]byte("x"))
	refused("late Write", err)
}

// TestPipeOffload: a function that Offload runs may use the pipe of a
// simulation, and no time passes meanwhile.
func TestPipeOffload(t *testing.T) {
	sim.Config{Exact: true}.Test(t, func(ctx context.Context) {
		a, b := socket.Pipe(ctx)
		start := rondo.Now(ctx)
		written := rondo.Async(ctx, func(ctx context.Context) (int, error) {
			return rondo.Offload(ctx, func(context.Context) (int, error) { return io.WriteString(b, "abc") })
		})
		err := rondo.Timeout(ctx, time.Second, func(context.Context) error {
			_, err := io.ReadFull(a, make([]byte, 3))
			return err
		})
		if n, err2 := written.Wait(ctx); n != 3 || errors.Join(err, err2) != nil {
			t.Errorf("wrote %d; %v, %v", n, err, err2)
		}
		if now := rondo.Now(ctx); !now.Equal(start) {
			t.Errorf("%v have passed", now.Sub(start))
		}
	})
}
