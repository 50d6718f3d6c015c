//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package containment_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/socket"
)

// A broken is a context that ends when done is closed, and whose Err and Value panic from then on.
type broken struct {
	context.Context
	done chan struct{}
}

func newBroken(ctx context.Context) broken { return broken{ctx, make(chan struct{})} }

func (b broken) Done() <-chan struct{} { return b.done }

func (b broken) Err() error {
	b.mayPanic()
	return nil
}

func (b broken) Value(key any) any {
	b.mayPanic()
	return b.Context.Value(key)
}

func (b broken) mayPanic() {
	select {
	case <-b.done:
		panic("broken")
	default:
	}
}

// TestBrokenContext: a watch of a descriptor ends with its context, whose methods panic then. That
// ends no goroutine, nor the loop.
func TestBrokenContext(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	err = (&rondo.Runner{EndDeadlock: 1}).Run(t.Context(), func(ctx context.Context) error {
		b := newBroken(ctx)
		socket.WatchRead(b, r.Fd(), func() { t.Error("called") })
		close(b.done)
		return new(rondo.Event).Wait(ctx) // a deadlock, when the watch has ended
	})
	if !errors.Is(err, rondo.ErrDeadlock) {
		t.Error(err)
	}
}

// TestBrokenBaseContext: the base of a request whose methods panic cancels the request. The panic
// is the cause.
func TestBrokenBaseContext(t *testing.T) {
	defer http.DefaultClient.CloseIdleConnections()
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		b := newBroken(context.Background())
		s := &httptask.Server{HTTP: http.Server{
			BaseContext: func(net.Listener) context.Context { return b },
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				close(b.done)
				_ = rondo.WaitCanceled(r.Context())
				fmt.Fprint(w, rondo.Check(r.Context()))
			}),
		}}
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error { return s.Serve(ctx, l) })
			text, err := rondo.Offload(g, func(context.Context) (string, error) {
				answer, err := http.Get("http://" + l.Addr().String())
				if err != nil {
					return "", err
				}
				defer answer.Body.Close()
				text, err := io.ReadAll(answer.Body)
				return string(text), err
			})
			if !strings.Contains(text, "broken") {
				t.Errorf("the request was cancelled with %q", text)
			}
			g.Cancel(nil)
			return err
		})
	})
	if err != nil {
		t.Error(err)
	}
}
