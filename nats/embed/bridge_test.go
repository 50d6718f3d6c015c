package embed_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/nats"
	"github.com/rondo-go/rondo/nats/embed"
)

// TestPublish: messages arrive in the order in which they were published, with the data
// that they had then, also if the caller uses its buffer again.
func TestPublish(t *testing.T) {
	run(t, server.Options{}, func(g *rondo.Scope, url string) error {
		c := connect(t, g, url)
		const n = 5000
		s, err := c.Subscribe(g, "count.*", n)
		if err != nil {
			return err
		}
		buffer := make([]byte, 0, 16)
		for i := range n {
			buffer = fmt.Appendf(buffer[:0], "%d", i)
			if err := c.Publish(g, "count.up", buffer); err != nil {
				return err
			}
		}
		i := 0
		for m, err := range s.All(g) {
			if err != nil {
				return err
			}
			if string(m.Data) != fmt.Sprint(i) || m.Subject != "count.up" {
				t.Fatalf("message %d is %q of %s", i, m.Data, m.Subject)
			}
			if i++; i == n {
				break
			}
		}
		if s.Dropped() != 0 || s.Len() != 0 {
			t.Errorf("%d dropped, %d left", s.Dropped(), s.Len())
		}
		return nil
	})
}

// TestRequest: many tasks ask at once, and each gets its own answer.
func TestRequest(t *testing.T) {
	run(t, server.Options{}, func(g *rondo.Scope, url string) error {
		c := connect(t, g, url)
		err := c.Handle(g, "double", "workers", 8, func(ctx context.Context, m *natsgo.Msg) error {
			if name := rondo.Current(ctx).Name(); name != "double" {
				t.Errorf("the task is called %s", name)
			}
			return c.Publish(ctx, m.Reply, slices.Concat(m.Data, m.Data))
		})
		if err != nil {
			return err
		}
		err = rondo.Group(g, func(g *rondo.Scope) error {
			for i := range 200 {
				g.Go(func(ctx context.Context) error {
					m, err := c.Request(ctx, "double", fmt.Append(nil, i))
					if err == nil && string(m.Data) != strings.Repeat(fmt.Sprint(i), 2) {
						t.Errorf("the answer to %d is %s", i, m.Data)
					}
					return err
				})
			}
			return nil
		})
		if err != nil {
			return err
		}
		if _, err := c.Request(g, "nobody", nil); !errors.Is(err, natsgo.ErrNoResponders) {
			t.Errorf("a request to nobody: %v", err)
		}
		return nil
	})
}

// TestRequestWait: a task that waits for a reply says so, with the subject, and ends by
// its deadline.
func TestRequestWait(t *testing.T) {
	run(t, server.Options{}, func(g *rondo.Scope, url string) error {
		c := connect(t, g, url)
		silent, err := c.Subscribe(g, "silent", 10)
		if err != nil {
			return err
		}
		var asking *rondo.Scope
		task := g.Go(func(ctx context.Context) error {
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				asking = g
				_, err := c.Request(g, "silent", nil)
				return err
			})
			if !rondo.TimedOut(ctx, err) {
				t.Errorf("the request ended with %v", err)
			}
			return nil
		})
		if _, err := silent.Next(g); err != nil {
			return err
		}
		if i := task.Info(); i.Waiting != "nats reply" || i.Of != "silent" {
			t.Errorf("the task waits for %q of %q", i.Waiting, i.Of)
		}
		asking.SetDeadline(rondo.Now(g))
		return task.Wait(g)
	})
}

// TestGap: a reader that is too slow learns of it where the gap is, and goes on.
func TestGap(t *testing.T) {
	run(t, server.Options{}, func(g *rondo.Scope, url string) error {
		c := connect(t, g, url)
		s, err := c.Subscribe(g, "fast", 3)
		if err != nil {
			return err
		}
		publish := func(texts ...string) error {
			for _, text := range texts {
				if err := c.Publish(g, "fast", []byte(text)); err != nil {
					return err
				}
			}
			return c.Flush(g)
		}
		if err := publish("1", "2", "3", "4", "5"); err != nil {
			return err
		}
		var got []string
		next := func(n int) {
			for range n {
				m, err := s.Next(g)
				if err != nil {
					got = append(got, err.Error())
				} else {
					got = append(got, string(m.Data))
				}
			}
		}
		next(2)
		if err := publish("6"); err != nil {
			return err
		}
		next(3)
		want := []string{"1", "2", "3", natsgo.ErrSlowConsumer.Error(), "6"}
		if !slices.Equal(got, want) || s.Dropped() != 2 {
			t.Errorf("got %q and %d dropped, want %q and 2", got, s.Dropped(), want)
		}
		s.Close()
		if _, err := s.Next(g); err != natsgo.ErrBadSubscription {
			t.Errorf("after Close: %v", err)
		}
		return nil
	})
}

// TestTooLarge: what the server would not accept is refused before it is sent, and the
// connection goes on.
func TestTooLarge(t *testing.T) {
	run(t, server.Options{MaxPayload: 1000}, func(g *rondo.Scope, url string) error {
		c := connect(t, g, url)
		if err := c.Flush(g); err != nil { // Connect may return before the server has said its limit
			return err
		}
		if c.MaxPayload() != 1000 {
			t.Errorf("MaxPayload is %d", c.MaxPayload())
		}
		if err := c.Publish(g, "a", make([]byte, 1001)); !errors.Is(err, natsgo.ErrMaxPayload) {
			t.Errorf("1001 bytes: %v", err)
		}
		long := strings.Repeat("x", 900)
		m := &natsgo.Msg{Subject: "a", Header: natsgo.Header{"Long": {long}}, Data: make([]byte, 99)}
		if err := c.PublishMsg(g, m); !errors.Is(err, natsgo.ErrMaxPayload) {
			t.Errorf("a long header: %v", err)
		}
		if err := c.Publish(g, "two words", nil); !errors.Is(err, natsgo.ErrBadSubject) {
			t.Errorf("a bad subject: %v", err)
		}
		if _, err := nats.Call[string, string](g, c, "echo", strings.Repeat("x", 1000)); !errors.Is(err, natsgo.ErrMaxPayload) {
			t.Errorf("a call: %v", err)
		}
		err := nats.Serve(g, c, "repeat", 1, func(_ context.Context, n int) (string, error) { return strings.Repeat("x", n), nil })
		if err != nil {
			return err
		}
		_, err = nats.Call[int, string](g, c, "repeat", 2000)
		if e, ok := errors.AsType[*nats.RemoteError](err); !ok || !strings.Contains(e.Text, "2002 bytes") {
			t.Errorf("a large result: %v", err)
		}
		_, err = nats.Call[int, string](g, c, "repeat", 500)
		return err
	})
}

// TestSmallMessages: a server may accept so little that an answer has hardly room. One that is too
// long is the error of its call.
func TestSmallMessages(t *testing.T) {
	run(t, server.Options{MaxPayload: 100}, func(g *rondo.Scope, url string) error {
		c := connect(t, g, url)
		if err := c.Flush(g); err != nil {
			return err
		}
		err := nats.Serve(g, c, "repeat", 1, func(_ context.Context, n int) (string, error) { return strings.Repeat("x", n), nil })
		if err != nil {
			return err
		}
		for _, n := range []int{200, 1} {
			var e *nats.RemoteError
			if _, err := nats.Call[int, string](g, c, "repeat", n); errors.As(err, &e) != (n > 1) || err != nil && e == nil {
				t.Errorf("a result of %d bytes: %v", n, err)
			}
		}
		return nil
	})
}

// TestClosed: what waits for a connection that is closed for good ends with that.
func TestClosed(t *testing.T) {
	run(t, server.Options{}, func(g *rondo.Scope, url string) error {
		c := connect(t, g, url)
		s, err := c.Subscribe(g, "a", 1)
		if err != nil {
			return err
		}
		reader := rondo.Async(g, func(ctx context.Context) (error, error) {
			_, err := s.Next(ctx)
			return err, nil
		})
		served := make([]error, 2)
		var ready, running rondo.Event
		serving := rondo.Go(g, func(ctx context.Context) error {
			served[0] = rondo.Group(ctx, func(g *rondo.Scope) error {
				return c.Handle(g, "b", "", 1, func(context.Context, *natsgo.Msg) error { return nil })
			})
			return nil
		})
		calls := rondo.Go(g, func(ctx context.Context) error {
			served[1] = rondo.Group(ctx, func(g *rondo.Scope) error {
				defer ready.Set()
				return nats.Serve(g, c, "c", 1, func(ctx context.Context, _ int) (int, error) {
					running.Set()
					return 0, rondo.WaitCanceled(ctx)
				})
			})
			return nil
		})
		call := rondo.Async(g, func(ctx context.Context) (error, error) {
			err := ready.Wait(ctx)
			if err == nil {
				_, err = nats.Call[int, int](ctx, c, "c", 1)
			}
			return err, nil
		})
		if err := running.Wait(g); err != nil {
			return err
		}
		if err := c.Flush(g); err != nil {
			return err
		}
		if err := rondo.OffloadFunc(g, func(context.Context) error { c.NC().Close(); return nil }); err != nil {
			return err
		}
		if err, _ := reader.Wait(g); !errors.Is(err, natsgo.ErrConnectionClosed) {
			t.Errorf("Next: %v", err)
		}
		if err, _ := call.Wait(g); !errors.Is(err, nats.ErrLost) || !errors.Is(err, natsgo.ErrConnectionClosed) {
			t.Errorf("Call: %v", err)
		}
		if err := c.Flush(g); !errors.Is(err, natsgo.ErrConnectionClosed) {
			t.Errorf("Flush: %v", err)
		}
		if err := errors.Join(serving.Wait(g), calls.Wait(g)); err != nil {
			return err
		}
		for i, err := range served {
			if !errors.Is(err, natsgo.ErrConnectionClosed) {
				t.Errorf("handler %d ended with %v", i, err)
			}
		}
		if err := c.Publish(g, "a", nil); !errors.Is(err, natsgo.ErrConnectionClosed) {
			t.Errorf("Publish: %v", err)
		}
		if _, err := c.Subscribe(g, "a", 1); !errors.Is(err, natsgo.ErrConnectionClosed) {
			t.Errorf("Subscribe: %v", err)
		}
		return nil
	})
}

// TestEndOfScope: what was published last is sent before the connection is closed.
func TestEndOfScope(t *testing.T) {
	run(t, server.Options{}, func(g *rondo.Scope, url string) error {
		c := connect(t, g, url)
		s, err := c.Subscribe(g, "last", 10)
		if err != nil {
			return err
		}
		// Else the other connection's message may be at the server before the subscription.
		if err := c.Flush(g); err != nil {
			return err
		}
		var other *nats.Conn
		err = rondo.Group(g, func(g *rondo.Scope) error {
			other = connect(t, g, url)
			return other.Publish(g, "last", []byte("words"))
		})
		if err != nil {
			return err
		}
		if !other.NC().IsClosed() {
			t.Error("the connection is open")
		}
		m, err := s.Next(g)
		if err == nil && !bytes.Equal(m.Data, []byte("words")) {
			t.Errorf("the last words were %q", m.Data)
		}
		return err
	})
}

// TestDrain: what has arrived is handled before a connection ends gracefully.
func TestDrain(t *testing.T) {
	run(t, server.Options{}, func(g *rondo.Scope, url string) error {
		client := connect(t, g, url)
		c := connect(t, g, url)
		handled, called := 0, 0
		var gate rondo.Event
		err := c.Handle(g, "job", "", 2, func(ctx context.Context, m *natsgo.Msg) error {
			err := gate.Wait(ctx)
			handled++
			return err
		})
		if err != nil {
			return err
		}
		err = nats.Serve(g, c, "f", 2, func(ctx context.Context, n int) (int, error) {
			err := gate.Wait(ctx)
			called++
			return -n, err
		})
		if err != nil {
			return err
		}
		if err := c.Flush(g); err != nil {
			return err
		}
		if _, err := nats.Call[int, int](g, client, "nobody", 0); !errors.Is(err, nats.ErrNoWorker) {
			return err
		}
		var calls []*rondo.Task
		for i := range 10 {
			if err := client.Publish(g, "job", nil); err != nil {
				return err
			}
			calls = append(calls, g.Go(func(ctx context.Context) error {
				if n, err := nats.Call[int, int](ctx, client, "f", i); n != -i || err != nil {
					t.Errorf("call %d: %d, %v", i, n, err)
				}
				return nil
			}))
		}
		for _, call := range calls {
			for call.Info().Waiting != "nats reply" && !call.Done() {
				if err := rondo.Yield(g); err != nil {
					return err
				}
			}
		}
		if err := client.Flush(g); err != nil {
			return err
		}
		drained := g.Go(c.Drain)
		if err := client.Flush(g); err != nil {
			return err
		}
		gate.Set()
		for _, call := range calls {
			if err := call.Wait(g); err != nil {
				return err
			}
		}
		if err := drained.Wait(g); err != nil {
			return err
		}
		if handled != 10 || called != 10 || !c.NC().IsClosed() {
			t.Errorf("%d handled, %d called, closed: %v", handled, called, c.NC().IsClosed())
		}
		return nil
	})
}

// TestDrainWithoutServer: a Drain while the client has lost its server fails. When the client has
// one again, no call goes to the one that takes none any more.
func TestDrainWithoutServer(t *testing.T) {
	run(t, server.Options{}, func(g *rondo.Scope, _ string) error {
		s, err := embed.Start(g, local(server.Options{}))
		if err != nil {
			return err
		}
		gate, err := newGate(strings.TrimPrefix(s.ClientURL(), "nats://"))
		if err != nil {
			return err
		}
		defer gate.close()
		gate.open.Store(true)
		serve := func(c *nats.Conn, n int) error {
			err := nats.Serve(g, c, "who", 1, func(context.Context, int) (int, error) { return n, nil })
			return errors.Join(err, c.Flush(g))
		}
		stays := connect(t, g, s.ClientURL())
		if err := serve(stays, 1); err != nil {
			return err
		}
		before := s.NumSubscriptions()
		leaves := connect(t, g, "nats://"+gate.Addr().String(), natsgo.ReconnectWait(10*time.Millisecond))
		if err := serve(leaves, 2); err != nil {
			return err
		}
		gate.open.Store(false)
		if err := rondo.OffloadFunc(g, func(context.Context) error { return leaves.NC().ForceReconnect() }); err != nil {
			return err
		}
		if err := leaves.Drain(g); !errors.Is(err, natsgo.ErrDisconnected) {
			t.Errorf("Drain: %v", err)
		}
		for s.NumSubscriptions() > before { // the server has not noticed
			if err := rondo.Sleep(g, time.Millisecond); err != nil {
				return err
			}
		}
		gate.open.Store(true)
		for err := leaves.Flush(g); err != nil; err = leaves.Flush(g) {
			if !errors.Is(err, natsgo.ErrDisconnected) {
				return err
			}
		}
		for i := range 20 {
			n, err := nats.Call[int, int](g, stays, "who", 0)
			if err := errors.Join(err, equal(n, 1)); err != nil {
				return fmt.Errorf("call %d: %w", i, err)
			}
		}
		return nil
	})
}

// TestNoServer: Connect fails if there is none.
func TestNoServer(t *testing.T) {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			_, err := nats.Connect(g, "nats://127.0.0.1:1")
			return err
		})
	})
	if !errors.Is(err, natsgo.ErrNoServers) {
		t.Errorf("Connect: %v", err)
	}
}

// TestBegunInDrain: what would listen on a connection that is being drained is refused, and a
// Handle that begins in the same moment does not hold up the Drain.
func TestBegunInDrain(t *testing.T) {
	run(t, server.Options{}, func(g *rondo.Scope, url string) error {
		c := connect(t, g, url)
		var gate rondo.Event
		err := c.Handle(g, "job", "", 1, func(ctx context.Context, m *natsgo.Msg) error {
			return gate.Wait(ctx)
		})
		if err := errors.Join(err, c.Publish(g, "job", nil), c.Flush(g)); err != nil {
			return err
		}
		drained := g.Go(c.Drain)
		for drained.Info().Waiting != "nats drain" && !drained.Done() {
			err := c.Handle(g, "many", "", 1, func(context.Context, *natsgo.Msg) error { return nil })
			if err != nil && !errors.Is(err, natsgo.ErrConnectionDraining) {
				return err
			}
			if err := rondo.Yield(g); err != nil {
				return err
			}
		}
		_, err = c.Subscribe(g, "a", 1)
		late := []error{
			err,
			c.Handle(g, "b", "", 1, func(context.Context, *natsgo.Msg) error { return nil }),
			nats.Serve(g, c, "c", 1, func(context.Context, int) (int, error) { return 0, nil }),
		}
		for i, err := range late {
			if !errors.Is(err, natsgo.ErrConnectionDraining) {
				t.Errorf("%d: %v", i, err)
			}
		}
		gate.Set()
		return drained.Wait(g)
	})
}
