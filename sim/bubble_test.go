package sim_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/sim/internal/chance"
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

func (p *pipes) Close() error   { close(p.done); return nil }
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

// TestGoroutinesHTTP has the server and the client of net/http around a loop: they are on
// its clock, their answers come in an order that the seed chooses, and the 20 seeds that
// run twice do the same.
func TestGoroutinesHTTP(t *testing.T) {
	orders := map[string]bool{}
	sim.Config{Seeds: 30, SeedsShort: 30, Goroutines: true, Exact: true}.Test(t, func(ctx context.Context) {
		l := newPipes()
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(10 * time.Millisecond)
			_, _ = fmt.Fprint(w, "hello ", r.URL.Path)
		})}
		go func() { _ = server.Serve(l) }()
		transport := &http.Transport{DialContext: l.dial}
		client := &http.Client{Transport: transport}
		get := func(ctx context.Context, path string, d time.Duration) (string, error) {
			return rondo.Offload(ctx, func(ctx context.Context) (string, error) {
				ctx, cancel := context.WithTimeout(ctx, d)
				defer cancel()
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://x"+path, nil)
				if err != nil {
					return "", err
				}
				res, err := client.Do(req)
				if err != nil {
					return "", err
				}
				defer func() { _ = res.Body.Close() }()
				text, err := io.ReadAll(res.Body)
				return string(text), err
			})
		}
		start, order := rondo.Now(ctx), ""
		if !time.Now().Equal(start) {
			t.Error("the loop's clock shows", start, "and the goroutines'", time.Now())
		}
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			for i := range 3 {
				g.Go(func(ctx context.Context) error {
					if text, err := get(ctx, fmt.Sprint("/", i), time.Second); err != nil || text != fmt.Sprint("hello /", i) {
						t.Error(text, err)
					}
					order += fmt.Sprint(i)
					return nil
				})
			}
			return nil
		})
		orders[order] = true
		if d := rondo.Now(ctx).Sub(start); d != 10*time.Millisecond {
			t.Error("three requests at once took", d)
		}
		if _, err := get(ctx, "/slow", time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		_ = rondo.Sleep(ctx, 20*time.Millisecond) // the handler of /slow still sleeps
		transport.CloseIdleConnections()
		_ = server.Close()
	})
	if len(orders) != 6 {
		t.Error(orders)
	}
}

// TestGoroutinesClock: contexts and timers of the standard library are on the loop's
// clock, and end its waits at their time.
func TestGoroutinesClock(t *testing.T) {
	sim.Config{Seeds: 10, Goroutines: true, Exact: true}.Test(t, func(ctx context.Context) {
		start := rondo.Now(ctx)
		std, cancel := context.WithTimeout(ctx, time.Hour)
		defer cancel()
		if err := rondo.Sleep(std, 2*time.Hour); !errors.Is(err, context.DeadlineExceeded) || rondo.Now(ctx).Sub(start) != time.Hour {
			t.Error(err, rondo.Now(ctx).Sub(start))
		}
		var never rondo.Event
		std, cancel = context.WithTimeout(ctx, time.Hour)
		defer cancel()
		if err := never.Wait(std); !errors.Is(err, context.DeadlineExceeded) || rondo.Now(ctx).Sub(start) != 2*time.Hour {
			t.Error(err, rondo.Now(ctx).Sub(start))
		}
		ticks := make(chan time.Time)
		go func() {
			time.Sleep(time.Minute)
			ticks <- time.Now()
		}()
		if tick, _, err := rondo.Receive(ctx, ticks); err != nil || !tick.Equal(rondo.Now(ctx)) || tick.Sub(start) != 2*time.Hour+time.Minute {
			t.Error(tick, err)
		}
	})
}

// TestGoroutinesReceive: what comes to several tasks at one instant is taken in an order
// that the seed chooses.
func TestGoroutinesReceive(t *testing.T) {
	orders := map[string]bool{}
	sim.Config{Seeds: 60, SeedsShort: 60, Goroutines: true}.Test(t, func(ctx context.Context) {
		order := ""
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			for i := range 3 {
				ch := make(chan int)
				go func() {
					time.Sleep(time.Second)
					ch <- i
				}()
				g.Go(func(ctx context.Context) error {
					v, _, err := rondo.Receive(ctx, ch)
					order += fmt.Sprint(v)
					return err
				})
			}
			return nil
		})
		orders[order] = true
	})
	if len(orders) != 6 {
		t.Error(orders)
	}
}

// TestGoroutinesErrors: what cannot be had is said.
func TestGoroutinesErrors(t *testing.T) {
	c := sim.Config{Goroutines: true}
	for _, run := range []func(testing.TB, func(ctx context.Context)){c.Test, c.Explore} {
		func() {
			defer func() { contains(t, fmt.Sprint(recover()), "sim: Config.Goroutines needs Test with a *testing.T") }()
			run(&tester{}, func(ctx context.Context) {})
		}()
	}
	contains(t, runVictim(t, "left", "1"), "seed 1: ", "blocked goroutines remain: end what the body has started")
	contains(t, runVictim(t, "nothing comes", "1"), "seed 1: sim: nothing can come from the goroutines around the loop any more")
	contains(t, runVictim(t, "waits at the end", "1"), "seed 1: sim: nothing can come from the goroutines around the loop any more")
	contains(t, runVictim(t, "deadlock in bubble", "1"), "seed 1: rondo: deadlock", "main waits for event", "after 1h0m0s of virtual time")
}

// TestGoroutinesOfOthers: a goroutine that the rest of the process starts during a run, in another
// bubble, is no goroutine of the run, whose own then end with it.
func TestGoroutinesOfOthers(t *testing.T) {
	start, started, end := make(chan bool), make(chan bool), make(chan bool)
	var others sync.WaitGroup
	others.Go(func() {
		synctest.Test(t, func(*testing.T) {
			for range start {
				go func() { <-end }()
				started <- true
			}
		})
	})
	sim.Config{Seeds: 2, SeedsShort: 2, Goroutines: true}.Cluster(t, func(context.Context, *sim.World) {
		start <- true
		<-started
	})
	close(start)
	close(end)
	others.Wait()
}

// TestGoroutinesChoices: in a cluster the seed makes also the choices of the runtime, where it can:
// both runs of a seed hand over the same numbers of math/rand/v2.
func TestGoroutinesChoices(t *testing.T) {
	if !chance.Works() {
		return
	}
	seen := map[uint64]bool{}
	sim.Config{Seeds: 20, SeedsShort: 20, Goroutines: true}.Cluster(t, func(ctx context.Context, w *sim.World) {
		numbers := make(chan uint64)
		go func() { numbers <- rand.Uint64() }()
		n, _, err := rondo.Receive(ctx, numbers)
		if err != nil {
			t.Error(err)
		}
		rondo.Handed(n)
		rondo.Handed(rand.Uint64())
		seen[n] = true
	})
	if len(seen) < 20 {
		t.Errorf("20 seeds have %d numbers", len(seen))
	}
}

// TestErrandsOfProgramThatEnds: when a program has returned, what its goroutines want of the
// network is refused at once, although a task still tidies up behind a Shield. At the instant at
// which it returns that may be so or not.
func TestErrandsOfProgramThatEnds(t *testing.T) {
	sim.Config{Seeds: 20, SeedsShort: 20, Goroutines: true, Exact: true}.Cluster(t, func(ctx context.Context, w *sim.World) {
		var errs []error
		w.Host("a", func(ctx context.Context) error {
			host := driver.HostOf(kernel.Of(ctx).Driver())
			rondo.Go(ctx, func(ctx context.Context) error {
				_ = rondo.WaitCanceled(ctx)
				return rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) })
			})
			go func() {
				for i := range 2 {
					<-time.After(time.Second)
					start, ran := time.Now(), false
					_, err := host.Run(driver.Errand{Kind: driver.Opens, Do: func(context.Context) { ran = true }})
					if d := time.Since(start); d != 0 || ran != (err == nil) {
						t.Errorf("errand %d ran: %v; it took %v: %v", i, ran, d, err)
					}
					errs = append(errs, err)
				}
			}()
			return rondo.Sleep(ctx, time.Second)
		})
		_ = rondo.Sleep(ctx, time.Second) // so that errands are let in before the other sleep ends
		if err := w.Eventually(ctx, time.Minute, func() bool { return len(errs) == 2 }); err != nil || !errors.Is(errs[1], net.ErrClosed) {
			t.Fatalf("%v: %v", errs, err)
		}
		sim.Sometimes(ctx, errs[0] == nil, "it runs before the program returns")
		sim.Sometimes(ctx, errors.Is(errs[0], net.ErrClosed), "the program has returned before it runs")
	})
}
