//go:build unix

package embed_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
	"testing"

	natsgo "github.com/nats-io/nats.go"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/nats"
)

// TestStoppedServer: while the server is stopped and reads nothing, tasks that publish fill
// what lies between, and then wait. None of them holds the loop: another task goes on. When
// the server continues, nothing that was published is lost.
func TestStoppedServer(t *testing.T) {
	p := start(t)
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			var gate sync.Mutex // while it is locked, the client's writes block
			c := connect(t, g, p.url, natsgo.SetCustomDialer(gatedDialer{&gate}))
			counter := connect(t, g, p.url)
			const size = 64 << 10
			sub, err := counter.Subscribe(g, "bulk", 10_000)
			if err != nil {
				return err
			}
			if err := counter.Flush(g); err != nil {
				return err
			}
			if err := p.stop(); err != nil {
				return err
			}
			gate.Lock()
			open := sync.OnceFunc(gate.Unlock)
			defer open()
			published := 0
			publishers := rondo.Go(g, func(ctx context.Context) error {
				return rondo.Group(ctx, func(g *rondo.Scope) error {
					for range 3 {
						g.Go(func(ctx context.Context) error {
							for {
								if err := c.Publish(ctx, "bulk", make([]byte, size)); err != nil {
									return err
								}
								published++
							}
						})
					}
					return nil
				})
			})
			// The other task runs at each turn, until all buffers are full.
			for !waitForRoom(ctx, 3) {
				if err := rondo.Yield(g); err != nil {
					return err
				}
			}
			// Whatever needs the server waits, and can be cancelled.
			asking := g.Go(func(ctx context.Context) error {
				_, err := c.Request(ctx, "bulk", nil)
				return err
			})
			subscribing := g.Go(func(ctx context.Context) error {
				_, err := c.Subscribe(ctx, "more", 1)
				return err
			})
			for range 100 {
				if err := rondo.Yield(g); err != nil {
					return err
				}
			}
			for _, task := range []*rondo.Task{asking, subscribing, publishers} {
				if task.Done() {
					t.Errorf("%s has ended: %v", task.Name(), task.Err())
				}
				task.Cancel(nil)
				if err := task.Wait(g); !errors.Is(err, context.Canceled) {
					t.Errorf("cancelled, %s ended with %v", task.Name(), err)
				}
			}
			open()
			if err := p.Process.Signal(syscall.SIGCONT); err != nil {
				return err
			}
			for range published {
				if _, err := sub.Next(g); err != nil {
					return err
				}
			}
			if sub.Dropped() > 0 {
				t.Errorf("%d messages were dropped", sub.Dropped())
			}
			g.Cancel(nil)
			return nil
		})
	})
	if err != nil {
		t.Error(err)
	}
}

// A gatedDialer makes connections whose writes block while the gate is locked, as they do when the
// kernel's buffers are full. How much these take is chance.
type gatedDialer struct{ gate *sync.Mutex }

func (d gatedDialer) Dial(network, address string) (net.Conn, error) {
	c, err := net.Dial(network, address)
	return gatedConn{c, d.gate}, err
}

type gatedConn struct {
	net.Conn
	gate *sync.Mutex
}

func (c gatedConn) Write(b []byte) (int, error) {
	c.gate.Lock()
	defer c.gate.Unlock()
	return c.Conn.Write(b)
}

// waitForRoom reports whether n tasks wait for room in the outbox.
func waitForRoom(ctx context.Context, n int) bool {
	for _, i := range rondo.Tasks(ctx) {
		if i.Waiting == "nats publish" {
			n--
		}
	}
	return n <= 0
}

// TestStoppedServerEnd: a scope whose server is stopped ends: when the time to drain is
// over, the connection is cut off.
func TestStoppedServerEnd(t *testing.T) {
	p := start(t)
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		var c *nats.Conn
		err := rondo.Group(ctx, func(g *rondo.Scope) (err error) {
			if c, err = nats.Connect(g, p.url, natsgo.DrainTimeout(1)); err != nil {
				return err
			}
			if err := p.Process.Signal(syscall.SIGSTOP); err != nil {
				return err
			}
			g.Go(func(ctx context.Context) error {
				for !waitForRoom(ctx, 1) {
					if err := rondo.Yield(ctx); err != nil {
						return err
					}
				}
				g.Cancel(nil)
				return nil
			})
			for err == nil {
				err = c.Publish(g, "bulk", make([]byte, 64<<10))
			}
			return err
		})
		if !c.NC().IsClosed() {
			t.Error("the connection is open")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestHungServer: a server that hangs is left with the options as they are, so calls to a
// worker at another server of the list go on. The client's defaults would wait for minutes.
func TestHungServer(t *testing.T) {
	t.Parallel()
	hangs, works := start(t), start(t)
	first, second := hangs.url, works.url
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			worker := connect(t, g, second)
			if err := nats.Serve(g, worker, "double", 1, func(_ context.Context, n int) (int, error) { return 2 * n, nil }); err != nil {
				return err
			}
			if err := worker.Flush(g); err != nil {
				return err
			}
			c, err := nats.Connect(g, first+","+second, natsgo.DontRandomize())
			if err != nil {
				return err
			}
			if err := hangs.stop(); err != nil {
				return err
			}
			for {
				n, err := nats.Call[int, int](g, c, "double", 21)
				switch {
				case err == nil && n == 42 && c.NC().ConnectedUrl() == second:
					g.Cancel(nil)
					return nil
				case !errors.Is(err, nats.ErrLost) && !errors.Is(err, nats.ErrNoWorker):
					t.Errorf("%d, %v, connected to %s of %s, %s; reconnects %d", n, err, c.NC().ConnectedUrl(), first, second, c.NC().Stats().Reconnects)
					return err
				}
			}
		})
	})
	if err != nil {
		t.Error(err)
	}
}

// stop stops a process, and waits until it stands.
func (p *peer) stop() error {
	if err := p.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	var status syscall.WaitStatus
	for {
		if _, err := syscall.Wait4(p.Process.Pid, &status, syscall.WUNTRACED, nil); err != syscall.EINTR {
			return err
		}
	}
}
