package httptask_test

// Simulations: in a bubble a server and its clients are a part of what a seed repeats; on
// a host of a cluster they are refused.

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/sim"
)

// pipes is a net.Listener whose connections are pipes.
type pipes struct {
	calls chan net.Conn
	done  chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.calls:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	select {
	case <-p.done:
	default:
		close(p.done)
	}
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.IPAddr{} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.calls <- far:
		return near, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestGoroutines has a server and three clients in tasks of one loop, and net/http's
// goroutines around it. Handlers share a counter and sleep on the simulated clock. The
// seeds that run twice do the same both times.
func TestGoroutines(t *testing.T) {
	sim.Config{Seeds: 30, Goroutines: true, Exact: true}.Test(t, func(ctx context.Context) {
		l, inside, most := newPipes(), 0, 0
		server := &httptask.Server{HTTP: http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			inside++
			most = max(most, inside)
			_ = rondo.Sleep(r.Context(), time.Hour)
			inside--
			_, _ = io.Copy(w, r.Body)
		})}}
		start := rondo.Now(ctx)
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error {
				if err := server.Serve(ctx, l); err != http.ErrServerClosed {
					return err
				}
				return nil
			})
			base := &http.Transport{DialContext: l.dial}
			client := &http.Client{Transport: httptask.Transport(ctx, base)}
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				for i := range 3 {
					g.Go(func(ctx context.Context) error {
						// Of requests at one instant the runtime chooses which is first.
						if err := rondo.Sleep(ctx, time.Duration(i)*time.Millisecond); err != nil {
							return err
						}
						return sendBack(ctx, client, fmt.Sprint("hello ", i))
					})
				}
				return nil
			})
			base.CloseIdleConnections()
			// Of connections that end at the instant of the Shutdown it may still find some.
			if err := cmp.Or(err, rondo.Sleep(ctx, time.Millisecond)); err != nil {
				return err
			}
			return server.Shutdown(g)
		})
		if err != nil || most != 3 || rondo.Now(ctx).Sub(start) != time.Hour+3*time.Millisecond {
			t.Errorf("%v; %d handlers at once, after %v", err, most, rondo.Now(ctx).Sub(start))
		}
	})
}

// sendBack sends a text and wants it back.
func sendBack(ctx context.Context, client *http.Client, text string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://x/", strings.NewReader(text))
	if err != nil {
		return err
	}
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	back, err := io.ReadAll(answer.Body)
	if err == nil && string(back) != text {
		err = fmt.Errorf("%q came back as %q", text, back)
	}
	return err
}

// TestCluster has a server and a client on simulated hosts refused with a sentence, before
// they use the network of the machine.
func TestCluster(t *testing.T) {
	const want = "no part of a sim.Cluster"
	sim.Config{Seeds: 2}.Cluster(t, func(ctx context.Context, w *sim.World) {
		w.Host("server", func(ctx context.Context) error {
			l := newPipes()
			if err := httptask.Serve(ctx, l, http.NotFoundHandler()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Serve returned %v", err)
			}
			if _, err := l.Accept(); err != net.ErrClosed {
				t.Error("Serve has not closed the listener:", err)
			}
			s := httptask.Server{HTTP: http.Server{Addr: "127.0.0.1:0"}}
			if err := s.ListenAndServe(ctx); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("ListenAndServe returned %v", err)
			}
			return nil
		})
		_, err := httptask.Client(ctx).Get("http://server:8080/")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Get returned %v", err)
		}
		_ = rondo.Sleep(ctx, time.Second)
	})
}
