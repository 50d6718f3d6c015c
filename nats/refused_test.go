package nats

// Ends, limits and foreign values that the messages of other tests do not meet.

import (
	"context"
	"errors"
	neturl "net/url"
	"strings"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-go/rondo"
)

// TestPasswordsAreNotShown: an error names the servers, without what opens them.
func TestPasswordsAreNotShown(t *testing.T) {
	for url, want := range map[string]string{
		"nats://worker:secret@127.0.0.1:1":        "nats: connect nats://xxxxx@127.0.0.1:1: ",
		"secret@127.0.0.1:1, tls://a@b:c@[::1]:1": "nats: connect xxxxx@127.0.0.1:1,tls://xxxxx@[::1]:1: ",
		"nats://127.0.0.1:1":                      "nats: connect nats://127.0.0.1:1: ",
		"nats://a@b, nats://worker:secret@h:x":    "nats: connect nats://xxxxx@b,nats://xxxxx@h:x: nats://xxxxx@h:x: this is no URL; ",
		"nats://worker:my/secret@127.0.0.1:1":     "nats: connect nats://xxxxx@127.0.0.1:1: nats://xxxxx@127.0.0.1:1: this is no URL; ",
		"nats://127.0.0.1:x":                      `nats: connect nats://127.0.0.1:x: nats://127.0.0.1:x: invalid port ":x" after host`,
	} {
		err := rondo.Run(t.Context(), func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				_, err := Connect(g, url)
				return err
			})
		})
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %s", url, err, want)
		}
	}
}

// TestOptionFails: the error of an option is the program's, also if it is about another URL.
func TestOptionFails(t *testing.T) {
	failed := &neturl.Error{Op: "Get", URL: "https://user@vault/creds", Err: errors.New("refused")}
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			_, err := Connect(g, "nats://127.0.0.1:1", func(*natsgo.Options) error { return failed })
			return err
		})
	})
	if !errors.Is(err, failed) {
		t.Error(err)
	}
}

// TestCallWhileClosing: the first Call of a connection whose scope has ended fails, also while
// its last messages are on their way.
func TestCallWhileClosing(t *testing.T) {
	f := newFake(t)
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(outer *rondo.Scope) error {
			var c *Conn
			outer.Go(func(ctx context.Context) error {
				return rondo.Group(ctx, func(g *rondo.Scope) (err error) {
					c, err = Connect(g, f.url(), natsgo.PingInterval(-1))
					f.mu.Lock() // the server does not answer
					return err
				})
			})
			for c == nil || c.background.Err() == nil {
				if err := rondo.Yield(outer); err != nil {
					return err
				}
			}
			defer f.mu.Unlock()
			if err := c.Publish(outer, "x", nil); err != nil {
				t.Errorf("Publish: %v", err)
			}
			if _, err := Call[int, int](outer, c, "double", 1); !errors.Is(err, natsgo.ErrConnectionClosed) {
				t.Errorf("Call: %v", err)
			}
			return nil
		})
	})
	if err != nil {
		t.Error(err)
	}
}

// TestHeadersFillTheOutbox: they count for its limit, as data does.
func TestHeadersFillTheOutbox(t *testing.T) {
	connected(t, func(g *rondo.Scope, c *Conn, f *fake) error {
		f.mu.Lock() // the server does not read
		defer f.mu.Unlock()
		const most = 2000 // 125 MiB, more than the sockets have room for
		n := 0
		publisher := g.Go(func(ctx context.Context) error {
			m := &natsgo.Msg{Subject: "a", Header: natsgo.Header{"K": {strings.Repeat("x", 64<<10)}}}
			for ; n < most; n++ {
				if err := c.PublishMsg(ctx, m); err != nil {
					return nil
				}
			}
			return nil
		})
		for still := 0; still < 1000 && !publisher.Done(); still++ {
			before := n
			if err := rondo.Sleep(g, time.Millisecond); err != nil {
				return err
			}
			if n != before {
				still = 0
			}
		}
		if n == most {
			t.Errorf("%d messages of 64 KiB are in the outbox", n)
		}
		publisher.Cancel(nil)
		c.dialer.cut()
		return nil
	})
}

// foreignStream is a JetStream that publishes when it may, long after it was asked.
type foreignStream struct {
	jetstream.JetStream
	asked chan bool
	may   chan bool
	data  chan string
}

func (foreignStream) Conn() *natsgo.Conn { return nil }

func (s foreignStream) PublishMsg(_ context.Context, m *natsgo.Msg, _ ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	s.asked <- true
	<-s.may
	s.data <- string(m.Data)
	return &jetstream.PubAck{}, nil
}

// TestDataOfCancelledEnqueue: the client may go on with a job after Enqueue has returned, and
// stores it as it was.
func TestDataOfCancelledEnqueue(t *testing.T) {
	s := foreignStream{asked: make(chan bool, 1), may: make(chan bool), data: make(chan string, 1)}
	for name, enqueue := range map[string]func(ctx context.Context, data []byte) error{
		"Enqueue": func(ctx context.Context, data []byte) error { return Enqueue(ctx, s, "job", "1", data) },
		"Producer.Enqueue": func(ctx context.Context, data []byte) error {
			return (&Producer{JetStream: s}).Enqueue(ctx, "job", "1", data)
		},
	} {
		err := rondo.Run(t.Context(), func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				data := []byte("AAAA")
				var err error
				task := g.Go(func(ctx context.Context) error {
					err = enqueue(ctx, data)
					return nil
				})
				if _, _, err := rondo.Receive(g, s.asked); err != nil {
					return err
				}
				task.Cancel(nil)
				_ = task.Wait(g)
				if err == nil {
					t.Errorf("%s: a cancelled call returned nil", name)
				}
				copy(data, "BBBB") // the next use of the buffer
				s.may <- true
				if got := <-s.data; got != "AAAA" {
					t.Errorf("%s: stored %q", name, got)
				}
				return nil
			})
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// illConsumer fails with an error whose methods panic.
type illConsumer struct {
	*fakeConsumer
	fetched chan bool
}

func (illConsumer) Info(context.Context) (*jetstream.ConsumerInfo, error) { return nil, hostile{} }

func (c illConsumer) Fetch(int, ...jetstream.FetchOpt) (jetstream.MessageBatch, error) {
	c.fetched <- true
	return nil, hostile{}
}

// TestErrorsOfConsumer: an error that cannot be printed fails one probe, or is logged, and Work
// asks again.
func TestErrorsOfConsumer(t *testing.T) {
	ill := illConsumer{new(fakeConsumer), make(chan bool)}
	if table := (&Health{Consumers: []jetstream.Consumer{ill}}).Table(t.Context()); !strings.Contains(strings.Join(table[len(table)-1], " "), "cannot be printed") {
		t.Errorf("the table is %v", table)
	}
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			if err := Work(g, ill, 1, func(context.Context, jetstream.Msg) error { return nil }); err != nil {
				return err
			}
			for range 2 {
				if _, _, err := rondo.Receive(g, ill.fetched); err != nil {
					return err
				}
			}
			g.Cancel(nil)
			return nil
		})
	})
	if err != nil {
		t.Error(err)
	}
}
