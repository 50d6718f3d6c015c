package socket

import (
	"context"
	"net"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/rondo-go/rondo"
)

// A countedConn counts how often it is closed.
type countedConn struct {
	net.Conn
	closed int
}

func (c *countedConn) Close() error { c.closed++; return nil }

// TestGoexitAtTheLimit: a connection that has come while another listener's was the last one that
// MaxConns allows waits to be served. It is closed if its task is cancelled, or if a callback's
// Goexit unwinds the task.
func TestGoexitAtTheLimit(t *testing.T) {
	for _, goexit := range []bool{false, true} {
		c, s := new(countedConn), &Server{MaxConns: 1}
		s.counts.Open.Store(1)
		hold := func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error { return s.hold(g, c) })
		}
		var run sync.WaitGroup
		run.Go(func() {
			_ = rondo.Run(t.Context(), func(ctx context.Context) error {
				task := rondo.Go(ctx, hold)
				if goexit {
					s.unwind(rondo.LoopOf(ctx))
					return task.Wait(ctx)
				}
				if err := rondo.Yield(ctx); err != nil || c.closed != 0 {
					t.Errorf("%v; it was closed %d times when it waits", err, c.closed)
				}
				task.Cancel(nil)
				return task.Wait(ctx)
			})
			if goexit {
				t.Error("Run has returned")
			}
		})
		run.Wait()
		if c.closed != 1 {
			t.Errorf("Goexit %v: it was closed %d times", goexit, c.closed)
		}
	}
}

// unwind calls Goexit on the stack of the task that waits for room: what is queued behind a task
// runs there when the task waits. If another one has the loop, it wakes that task once more.
func (s *Server) unwind(l *rondo.Loop) {
	l.CallSoon(func() {
		if strings.Contains(string(debug.Stack()), "hold") {
			runtime.Goexit()
		}
		s.room.WakeAll()
		s.unwind(l)
	})
}
