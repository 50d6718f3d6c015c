package httptask_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/internal/leak"
)

// underRace says that the race detector watches the tests.
var underRace bool

func TestMain(m *testing.M) { leak.Main(m) }

// run runs main in a loop, as a test; one that hangs panics.
func run(t testing.TB, main func(ctx context.Context) error) {
	t.Helper()
	watchdog := time.AfterFunc(5*time.Minute, func() { panic(t.Name() + " hangs") })
	defer watchdog.Stop()
	r := rondo.Runner{OnError: func(task rondo.TaskInfo, err error) { t.Errorf("%s: %v", task.Name, err) }}
	if err := r.Run(context.Background(), main); err != nil {
		t.Error(err)
	}
}

// away runs fn on a goroutine, where it may block.
func away(ctx context.Context, fn func() error) error {
	_, err := rondo.Offload(ctx, func(context.Context) (struct{}, error) { return struct{}{}, fn() })
	return err
}

// A logbook is what a server has logged. Any goroutine may use it.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logbook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logbook) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func newLog(to *logbook) *log.Logger { return log.New(to, "", 0) }

// silent is the log of a server whose clients misbehave.
var silent = newLog(new(logbook))

// listen listens on a port of this machine. The end of the test closes the listener.
func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// connect connects to a server, for which the caller closes the connection: a Server that shuts
// down waits for it.
func connect(t testing.TB, address string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// inTasks serves h in tasks, and calls use in a task while it does.
func inTasks(t testing.TB, s *httptask.Server, use func(ctx context.Context, address string) error) {
	t.Helper()
	run(t, func(ctx context.Context) error { return serving(ctx, s, use) })
}

// serving is inTasks for a loop that runs. A Server with a TLSConfig serves TLS.
func serving(ctx context.Context, s *httptask.Server, use func(ctx context.Context, address string) error) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	served := rondo.Go(ctx, func(ctx context.Context) error {
		if s.HTTP.TLSConfig != nil {
			return s.ServeTLS(ctx, l, "", "")
		}
		return s.Serve(ctx, l)
	})
	err = use(ctx, l.Addr().String())
	err = errors.Join(err, rondo.Timeout(ctx, time.Minute, s.Shutdown))
	if end := served.Wait(ctx); !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	return err
}

// plainly serves h as net/http does, and calls use while it does.
func plainly(t testing.TB, s *http.Server, use func(address string) error) {
	t.Helper()
	l := listen(t)
	ended := make(chan error, 1)
	go func() {
		if s.TLSConfig != nil {
			ended <- s.ServeTLS(l, "", "")
		} else {
			ended <- s.Serve(l)
		}
	}()
	if err := use(l.Addr().String()); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}

// until waits, in a task, until a condition holds that tasks or goroutines bring about.
func until(ctx context.Context, done func() bool) error {
	for !done() {
		if err := rondo.Sleep(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// lines joins the lines of a request.
func lines(ls ...string) string { return strings.Join(ls, "\r\n") + "\r\n" }

// echo answers with the body of the request. It reads all of it first: with HTTP/1.1,
// net/http drops what is unread when the answer begins.
func echo(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	_, _ = w.Write(b)
}
