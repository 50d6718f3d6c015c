//go:build amd64 && !race && !rondo_portable

package socket_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"runtime/metrics"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// TestStackOfReader holds a limit: a task that waits in Read has a stack of
// 2 KiB, the smallest that a goroutine has, also if its handler keeps 96 bytes
// of variables, and if it writes before it waits. A stack that is too small by one
// byte is 4 KiB, so a server with many idle connections needs twice the memory. A
// failure means that functions between the handler and the switch have larger frames than before,
// or that there are more of them.
//
// The measurement runs in a process of its own, without garbage collection and
// without the runtime's choice of a larger first stack, so nothing else moves
// the figure.
func TestStackOfReader(t *testing.T) {
	handlers := map[string]func(c net.Conn, p []byte){"reads": readAll, "echoes": echoAll}
	if name := os.Getenv(childVar); name != "" {
		readers(t, 400, handlers[name])
		return
	}
	for name := range handlers {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestStackOfReader$")
			cmd.Env = append(os.Environ(), childVar+"="+name, "GOGC=off", "GODEBUG=adaptivestackstart=0")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// readers measures the stacks of n handlers that wait in their second Read.
func readers(t *testing.T, n int, handle func(c net.Conn, p []byte)) {
	run(t, func(ctx context.Context) error {
		l := listen(t, ctx)
		s := &socket.Server{Handler: func(_ context.Context, c net.Conn) error {
			handle(c, make([]byte, 64))
			return nil
		}}
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			before := stacks()
			g.Go(func(ctx context.Context) error {
				_ = s.Serve(ctx, l) // ErrServerClosed
				return nil
			})
			var clients []net.Conn
			for range n {
				c, err := socket.Dial(ctx, "tcp", l.Addr().String())
				if err != nil {
					return err
				}
				clients = append(clients, c)
				if _, err := c.Write([]byte("x")); err != nil {
					return err
				}
			}
			waiting(ctx, "read", n)
			// The quarter is for the stacks that are free, which come by 32 KiB.
			if each := (stacks() - before) / n; each > 2<<10+512 {
				t.Errorf("the stack of a task that waits in Read has %d bytes, want 2048", each)
			}
			for _, c := range clients {
				c.Close()
			}
			return s.Shutdown(ctx)
		})
	})
}

// readAll reads until an error, and has 96 bytes of variables.
//
//go:noinline
func readAll(c net.Conn, p []byte) {
	var sizes [96]byte
	for {
		n, err := c.Read(p)
		if err != nil {
			return
		}
		sizes[n%len(sizes)]++
	}
}

// echoAll sends back what it reads until an error, and has 96 bytes of variables.
//
//go:noinline
func echoAll(c net.Conn, p []byte) {
	var sizes [96]byte
	for {
		n, err := c.Read(p)
		if err != nil {
			return
		}
		sizes[n%len(sizes)]++
		if _, err := c.Write(p[:n]); err != nil {
			return
		}
	}
}

// stacks returns the bytes of all stacks of goroutines.
func stacks() int {
	s := []metrics.Sample{{Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(s)
	return int(s[0].Value.Uint64())
}
