package embed_test

// What the server or the client refuses costs the call that asked for it, and no other.

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/nats"
)

// TestSubjectsRefused: the client closes its connection for good when the server calls a subject
// invalid, or a line too long.
func TestSubjectsRefused(t *testing.T) {
	run(t, withStore(t), func(g *rondo.Scope, url string) error {
		c := connect(t, g, url)
		js, err := jetStream(c)
		if err != nil {
			return err
		}
		err = rondo.OffloadFunc(g, func(ctx context.Context) error {
			_, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "JOBS", Subjects: []string{"job.>", "later.>"}, AllowMsgSchedules: true})
			return err
		})
		if err != nil {
			return err
		}
		p := &nats.Producer{JetStream: js, Schedules: "later"}
		for name, ask := range map[string]func() error{
			"Subscribe a.>.b": func() error { _, err := c.Subscribe(g, "a.>.b", 10); return err },
			"Subscribe >.b":   func() error { _, err := c.Subscribe(g, ">.b", 10); return err },
			"Handle a.>.b": func() error {
				return c.Handle(g, "a.>.b", "", 1, func(context.Context, *natsgo.Msg) error { return nil })
			},
			"Enqueue": func() error { return nats.Enqueue(g, js, "job."+strings.Repeat("x", 5000), "", nil) },
			"EnqueueAt": func() error {
				return p.EnqueueAt(g, time.Now().Add(time.Hour), strings.Repeat("ü", 1000), &natsgo.Msg{Subject: "job.a"})
			},
		} {
			if err := ask(); !errors.Is(err, natsgo.ErrBadSubject) {
				t.Errorf("%s: %.200v", name, err)
			}
			if err := errors.Join(c.Flush(g), nats.Enqueue(g, js, "job.a", "", nil)); err != nil {
				t.Errorf("after %s: %v", name, err)
			}
		}
		return nil
	})
}

// TestReplyRefused: a caller that names a place to which nothing can be sent gets no answer, and
// other callers do.
func TestReplyRefused(t *testing.T) {
	run(t, server.Options{}, func(g *rondo.Scope, url string) error {
		c := connect(t, g, url)
		if err := nats.Serve(g, c, "double", 10, func(_ context.Context, n int) (int, error) { return 2 * n, nil }); err != nil {
			return err
		}
		if err := c.Flush(g); err != nil {
			return err
		}
		err := rondo.OffloadFunc(g, func(context.Context) error {
			guest, err := natsgo.Connect(url, patient...)
			if err != nil {
				return err
			}
			defer guest.Close()
			for _, reply := range []string{"_INBOX.>", "_INBOX.a..b", "_INBOX." + strings.Repeat("x", 4070)} {
				if err := guest.PublishRequest("double", reply, []byte("1")); err != nil {
					return err
				}
			}
			return guest.Flush()
		})
		if err != nil {
			return err
		}
		for range 2 { // by the second the first ones are over
			n, err := nats.Call[int, int](g, c, "double", 21)
			if err := errors.Join(err, equal(n, 42)); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestHeaderOfJobChanged: a job is counted at its end as at its begin, whatever the program does
// with its header.
func TestHeaderOfJobChanged(t *testing.T) {
	const n = 10
	withConsumer(t, 0, jetstream.ConsumerConfig{}, func(g *rondo.Scope, js jetstream.JetStream, consumer jetstream.Consumer) error {
		p := &nats.Producer{JetStream: js}
		for range n {
			if err := p.EnqueueMsg(g, "", &natsgo.Msg{Subject: "job.a", Header: natsgo.Header{"Trace": {strings.Repeat("x", 500)}}}); err != nil {
				return err
			}
		}
		done := rondo.NewQueue[bool](0)
		w := &nats.Worker{MaxBytes: 2000}
		err := w.Work(g, consumer, n, func(ctx context.Context, m jetstream.Msg) error {
			m.Headers().Del("Trace")
			return done.Put(ctx, true)
		})
		if err != nil {
			return err
		}
		return rondo.Timeout(g, time.Minute, func(ctx context.Context) error {
			for range n {
				if _, err := done.Get(ctx); err != nil {
					return err
				}
			}
			return nil
		})
	})
}
