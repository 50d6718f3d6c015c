package embed_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/nats"
)

// The program's own types in its two versions: the second has one more field in each.
type (
	greeting1 struct{ Name string }
	greeting2 struct{ Name, Language string }
	text1     struct{ Text string }
	text2     struct {
		Text  string
		Words int
	}
)

func greet1(_ context.Context, g greeting1) (text1, error) { return text1{"hello " + g.Name}, nil }

func greet2(_ context.Context, g greeting2) (text2, error) {
	if g.Language == "de" {
		return text2{"hallo " + g.Name, 2}, nil
	}
	return text2{"hello " + g.Name, 2}, nil
}

// TestUpgrade: while workers are replaced one by one, callers of both versions are served by
// workers of both, and a call that runs on the old worker ends there.
func TestUpgrade(t *testing.T) {
	run(t, server.Options{}, func(g *rondo.Scope, url string) error {
		var conns [3]*nats.Conn // the old worker, the new one, the callers
		for i := range conns {
			conns[i] = connect(t, g, url)
		}
		var running, release rondo.Event
		old := func(ctx context.Context, in greeting1) (text1, error) {
			if in.Name == "slow" {
				running.Set()
				if err := release.Wait(ctx); err != nil {
					return text1{}, err
				}
			}
			return greet1(ctx, in)
		}
		both := func(when, german string) error {
			out1, err := nats.Call[greeting1, text1](g, conns[2], "greet", greeting1{"ann"})
			if err != nil || out1 != (text1{"hello ann"}) {
				t.Errorf("%s: the old caller got %+v, %v", when, out1, err)
			}
			out2, err := nats.Call[greeting2, text2](g, conns[2], "greet", greeting2{"ann", "de"})
			if err != nil || out2.Text != german && german != "" {
				t.Errorf("%s: the new caller got %+v, %v", when, out2, err)
			}
			return errors.Join(err)
		}
		if err := errors.Join(nats.Serve(g, conns[0], "greet", 3, old), conns[0].Flush(g), both("before", "hello ann")); err != nil {
			return err
		}
		slow := rondo.Async(g, func(ctx context.Context) (text1, error) {
			return nats.Call[greeting1, text1](ctx, conns[2], "greet", greeting1{"slow"})
		})
		if err := running.Wait(g); err != nil {
			return err
		}
		if err := errors.Join(nats.Serve(g, conns[1], "greet", 3, greet2), conns[1].Flush(g), both("together", "")); err != nil {
			return err
		}
		drained := g.Go(conns[0].Drain)
		for drained.Info().Waiting != "nats drain" && !drained.Done() {
			if err := rondo.Yield(g); err != nil {
				return err
			}
		}
		err := both("after", "hallo ann")
		release.Set()
		if out, slowErr := slow.Wait(g); slowErr != nil || out != (text1{"hello slow"}) {
			t.Errorf("the call on the old worker ended with %+v, %v", out, slowErr)
		}
		return errors.Join(err, drained.Wait(g))
	})
}

// TestWireFormat: the messages of a call are those of the first version of the protocol, which
// callers and workers of other versions send and expect.
func TestWireFormat(t *testing.T) {
	run(t, server.Options{}, func(g *rondo.Scope, url string) error {
		c := connect(t, g, url)
		err := nats.Serve(g, c, "double", 1, func(_ context.Context, n int) (int, error) { return 2 * n, nil })
		if err := errors.Join(err, c.Flush(g)); err != nil {
			return err
		}
		// A caller of another version.
		inbox, err := c.Subscribe(g, "_INBOX.caller", 100)
		if err != nil {
			return err
		}
		err = c.PublishMsg(g, &natsgo.Msg{Subject: "double", Reply: "_INBOX.caller", Data: []byte("21"), Header: natsgo.Header{
			"Rondo": {"request"}, "Rondo-Timeout": {"1m0s"}, "Later": {"unknown"},
		}})
		if err != nil {
			return err
		}
		for m, err := range inbox.All(g) {
			if err != nil {
				return err
			}
			if kind := m.Header.Get("Rondo"); kind == "alive" {
				continue
			} else if kind != "answer" || string(m.Data) != "42" {
				t.Errorf("the answer is %v %s", m.Header, m.Data)
			}
			break
		}
		// A worker of another version.
		err = c.Handle(g, "triple", "triple", 1, func(ctx context.Context, m *natsgo.Msg) error {
			timeout, err := time.ParseDuration(m.Header.Get("Rondo-Timeout"))
			if m.Header.Get("Rondo") != "request" || string(m.Data) != "7" || timeout <= 0 || err != nil {
				t.Errorf("the request is %v %s", m.Header, m.Data)
			}
			alive := &natsgo.Msg{Subject: m.Reply, Reply: "_INBOX.worker", Header: natsgo.Header{"Rondo": {"alive"}}}
			answer := &natsgo.Msg{Subject: m.Reply, Data: []byte("21"), Header: natsgo.Header{"Rondo": {"answer"}}}
			return errors.Join(c.PublishMsg(ctx, alive), c.PublishMsg(ctx, answer))
		})
		if err := errors.Join(err, c.Flush(g)); err != nil {
			return err
		}
		return rondo.Timeout(g, time.Hour, func(ctx context.Context) error {
			ctx = nats.WithHeader(ctx, natsgo.Header{"Later": {"unknown"}})
			n, err := nats.Call[int, int](ctx, c, "triple", 7)
			return errors.Join(err, equal(n, 21))
		})
	})
}

// TestUpgradeJobs: jobs that the old version has enqueued are done by the new one, also those that
// the old worker has given back when it stopped.
func TestUpgradeJobs(t *testing.T) {
	withSite(t, 0, time.Hour, func(g *rondo.Scope, _ string, s *site) error {
		for _, job := range []string{`{"Name":"ann"}`, `{"Name":"ben","Language":"de"}`} {
			if err := nats.Enqueue(g, s.js, "job.greet", "", []byte(job)); err != nil {
				return err
			}
		}
		err := s.stops(g, &nats.Worker{Conn: s.Conn}, func(ctx context.Context, _ jetstream.Msg, stop func()) error {
			stop()
			return rondo.WaitCanceled(ctx)
		})
		if err != nil {
			return err
		}
		done := make(map[string]bool)
		err = nats.Work(g, s.consumer, 1, func(ctx context.Context, m jetstream.Msg) error {
			var in greeting2
			if err := json.Unmarshal(m.Data(), &in); err != nil {
				return err
			}
			out, err := greet2(ctx, in)
			done[out.Text] = true
			return err
		})
		err = errors.Join(err, s.count(g, "JOBS", 0))
		if len(done) != 2 || !done["hello ann"] || !done["hallo ben"] {
			t.Errorf("done: %v", done)
		}
		return err
	})
}
