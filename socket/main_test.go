package socket_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/socket"
)

// TestMain holds the law that nothing is left behind: no goroutine and no file
// descriptor.
func TestMain(m *testing.M) {
	if os.Getenv(childVar) != "" {
		os.Exit(m.Run())
	}
	leak.Main(m)
}

// childVar is set in a process that a test starts for itself.
const childVar = "RONDO_SOCKET_CHILD"

// run runs main in a loop, as a test; one that hangs panics. An error that no
// task waits for fails the test, except ErrServerClosed.
func run(t testing.TB, main func(ctx context.Context) error) {
	t.Helper()
	watchdog := time.AfterFunc(2*time.Minute, func() { panic(t.Name() + " hangs") })
	defer watchdog.Stop()
	r := rondo.Runner{OnError: func(task rondo.TaskInfo, err error) {
		// A function that was offloaded and abandoned may need a moment more than the
		// loop. TestMain counts what stays.
		if !errors.Is(err, socket.ErrServerClosed) && !errors.Is(err, rondo.ErrLeftBehind) {
			t.Errorf("%s: %v", task.Name, err)
		}
	}}
	if err := r.Run(context.Background(), main); err != nil {
		t.Error(err)
	}
}

// pair returns the two ends of a connection, both for the loop's tasks. The end of the test
// closes them.
func pair(t testing.TB, ctx context.Context) (a, b *socket.Conn) {
	t.Helper()
	return pairOf(t, ctx, "tcp")
}

// pairOf is pair for a network.
func pairOf(t testing.TB, ctx context.Context, network string) (a, b *socket.Conn) {
	t.Helper()
	a, b = openPair(t, ctx, network)
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

// openPair is pairOf, but only the collector closes the ends that a test leaves open.
func openPair(t testing.TB, ctx context.Context, network string) (a, b *socket.Conn) {
	t.Helper()
	address := "127.0.0.1:0"
	if network != "tcp" {
		address = filepath.Join(t.TempDir(), "s")
	}
	l, err := socket.Listen(ctx, network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dialled := rondo.Async(ctx, func(ctx context.Context) (net.Conn, error) {
		return socket.Dial(ctx, network, l.Addr().String())
	})
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c, err := dialled.Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return accepted.(*socket.Conn), c.(*socket.Conn)
}

// listen listens on a port of this machine. The end of the test closes the listener.
func listen(t testing.TB, ctx context.Context) *socket.Listener {
	t.Helper()
	l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// both runs two functions in tasks and waits for both.
func both(ctx context.Context, fns ...func(ctx context.Context) error) error {
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		for _, fn := range fns {
			g.Go(fn)
		}
		return nil
	})
}

// waiting returns when n tasks wait for what. It looks once a turn.
func waiting(ctx context.Context, what string, n int) {
	for {
		found := 0
		for _, t := range rondo.Tasks(ctx) {
			if t.Waiting == what {
				found++
			}
		}
		if found >= n || rondo.Yield(ctx) != nil {
			return
		}
	}
}

func echo(ctx context.Context, c net.Conn) error {
	_, err := io.Copy(c, c)
	return err
}
