package socket_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// TestMain holds the law that nothing is left behind: no goroutine and no file
// descriptor.
func TestMain(m *testing.M) {
	if os.Getenv(childVar) != "" {
		os.Exit(m.Run())
	}
	// The runtime's own poller has descriptors too, which the first pipe makes
	// it open once.
	r, w, err := os.Pipe()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	r.Close()
	w.Close()

	goroutines, fds := runtime.NumGoroutine(), descriptors()
	code := m.Run()
	// A goroutine that has done its work may still be about to end.
	for range 100_000 {
		if runtime.NumGoroutine() <= goroutines && descriptors() <= fds {
			break
		}
		runtime.Gosched()
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		fmt.Fprintf(os.Stderr, "%d goroutines before the tests, %d after\n", goroutines, n)
		buf := make([]byte, 1<<20)
		fmt.Fprintf(os.Stderr, "%s\n", buf[:runtime.Stack(buf, true)])
		code = 1
	}
	if n := descriptors(); n > fds {
		fmt.Fprintf(os.Stderr, "%d descriptors before the tests, %d after\n", fds, n)
		code = 1
	}
	os.Exit(code)
}

// childVar is set in a process that a test starts to be alone in.
const childVar = "RONDO_SOCKET_CHILD"

// descriptors counts what the process has open, or gives 0 where /proc does not
// tell.
func descriptors() int {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(names)
}

// run runs main in a loop, as a test; one that hangs panics. An error for which
// nobody waited fails the test, unless it says that a server was shut down.
func run(t testing.TB, main func(ctx context.Context) error) {
	t.Helper()
	watchdog := time.AfterFunc(2*time.Minute, func() { panic(t.Name() + " hangs") })
	defer watchdog.Stop()
	r := rondo.Runner{OnError: func(task rondo.TaskInfo, err error) {
		if !errors.Is(err, socket.ErrServerClosed) {
			t.Errorf("%s: %v", task.Name, err)
		}
	}}
	if err := r.Run(context.Background(), main); err != nil {
		t.Error(err)
	}
}

// pair gives the two ends of a connection, both for the loop's tasks.
func pair(t testing.TB, ctx context.Context) (a, b *socket.Conn) {
	t.Helper()
	l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dialled := rondo.Async(ctx, func(ctx context.Context) (net.Conn, error) {
		return socket.Dial(ctx, "tcp", l.Addr().String())
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

// both runs two functions in tasks and waits for both.
func both(ctx context.Context, fns ...func(ctx context.Context) error) error {
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		for _, fn := range fns {
			g.Go(fn)
		}
		return nil
	})
}

// waiting waits until as many tasks as given wait for what is named: each turn
// it looks again.
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
