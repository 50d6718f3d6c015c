package embed_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/nats"
)

// TestMiddleware: each operation goes through the list, the first outermost; what a Middleware adds
// to the header arrives at the other side, and the program's own header is left alone.
func TestMiddleware(t *testing.T) {
	withSite(t, 0, time.Hour, func(g *rondo.Scope, url string, s *site) error {
		c := connect(t, g, url)
		type step struct{}
		seen := rondo.NewQueue[string](0)
		list := []nats.Middleware{
			func(ctx context.Context, o *nats.Operation, next func(ctx context.Context) error) error {
				if o.Op.Sends() {
					o.Header.Set("Trace", "t "+o.Op.String())
				}
				return next(context.WithValue(ctx, step{}, "first"))
			},
			func(ctx context.Context, o *nats.Operation, next func(ctx context.Context) error) error {
				err := next(ctx)
				trace, own := o.Header.Get("Trace"), o.Header.Get("Own")
				seen.TryPut(fmt.Sprint(o.Op, " ", o.Subject, " ", string(o.Data), ", ", trace, ", ", own, ", ", ctx.Value(step{}), ", ", o.Job != nil, ", ", err))
				return err
			},
		}
		c.Middleware = list
		own := natsgo.Header{"Own": {"o"}}
		err := c.Handle(g, "handled", "", 1, func(ctx context.Context, m *natsgo.Msg) error {
			return errors.Join(c.PublishMsg(ctx, &natsgo.Msg{Subject: "end", Header: own}), c.NC().Publish(m.Reply, nil))
		})
		err = errors.Join(err, nats.Serve(g, c, "called", 1, func(ctx context.Context, n int) (int, error) {
			return n + len(nats.HeaderOf(ctx)), nil
		}))
		w := &nats.Worker{Conn: c}
		err = errors.Join(err, c.Flush(g), w.Work(g, s.consumer, 1, func(ctx context.Context, m jetstream.Msg) error {
			job, _ := nats.JobOf(ctx)
			return fmt.Errorf("%v %v: %w", job == m, nats.LogAttrs(ctx), nats.ErrNoRetry)
		}))
		if err != nil {
			return err
		}
		if _, err := c.RequestMsg(g, &natsgo.Msg{Subject: "handled", Data: []byte("h"), Header: own}); err != nil {
			return err
		}
		n, err := nats.Call[int, int](nats.WithHeader(g, own), c, "called", 40)
		if n != 42 || err != nil {
			t.Errorf("Call returned %d, %v", n, err)
		}
		p := &nats.Producer{JetStream: s.js, Middleware: list}
		if err := p.EnqueueMsg(g, "id", &natsgo.Msg{Subject: "job.a", Data: []byte("j"), Header: own}); err != nil {
			return err
		}
		want := []string{
			"publish end , t publish, o, first, false, <nil>",
			"handle handled h, t request, o, first, false, <nil>",
			"request handled h, t request, o, first, false, <nil>",
			"serve called 40, t call, o, first, false, <nil>",
			"call called 40, t call, o, first, false, <nil>",
			"enqueue job.a j, t enqueue, o, first, false, <nil>",
			"work job.a j, t enqueue, o, first, true, true [job=JOBS 1 delivery=1]: " + nats.ErrNoRetry.Error(),
		}
		var got []string
		for range want {
			line, err := seen.Get(g)
			if err != nil {
				return err
			}
			got = append(got, line)
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if len(own) != 1 {
			t.Errorf("the program's header is %v", own)
		}
		return nil
	})
}

// TestMiddlewareRefuses: a Middleware that calls nothing, and one that panics, are the function.
func TestMiddlewareRefuses(t *testing.T) {
	withSite(t, 1, time.Hour, func(g *rondo.Scope, url string, s *site) error {
		c := connect(t, g, url)
		refuse := errors.New("no such tenant")
		panics := false
		c.Middleware = []nats.Middleware{func(ctx context.Context, o *nats.Operation, next func(ctx context.Context) error) error {
			switch {
			case o.Op.Sends():
				return next(ctx)
			case panics:
				panic(refuse.Error())
			}
			return refuse
		}}
		err := nats.Serve(g, c, "f", 1, func(context.Context, int) (int, error) {
			t.Error("the function ran")
			return 0, nil
		})
		if err := errors.Join(err, c.Flush(g)); err != nil {
			return err
		}
		for _, panics = range []bool{false, true} {
			_, err := nats.Call[int, int](g, s.Conn, "f", 0)
			remote, _ := errors.AsType[*nats.RemoteError](err)
			if remote == nil || remote.Panic != panics || remote.Text != refuse.Error() {
				t.Errorf("panics: %v: Call returned %v", panics, err)
			}
		}
		skip := func(context.Context, *nats.Operation, func(ctx context.Context) error) error { return nil }
		if err := nats.Enqueue(g, s.js, "job.a", "", nil); err != nil {
			return err
		}
		w := &nats.Worker{Conn: c, Middleware: []nats.Middleware{skip}}
		err = w.Work(g, s.consumer, 1, func(context.Context, jetstream.Msg) error {
			t.Error("the job ran")
			return nil
		})
		return errors.Join(err, s.count(g, "JOBS", 0))
	})
}

// TestEnqueueAt: a job with a time is stored until then, one with the same id takes its place,
// and it comes once.
func TestEnqueueAt(t *testing.T) {
	t.Parallel()
	run(t, withStore(t), func(g *rondo.Scope, url string) error {
		c := connect(t, g, url)
		js, err := jetStream(c)
		if err != nil {
			return err
		}
		consumer, err := rondo.Offload(g, func(context.Context) (jetstream.Consumer, error) {
			ctx := context.Background()
			_, err := js.CreateStream(ctx, jetstream.StreamConfig{
				Name: "JOBS", Subjects: []string{"job.>", "later.>"}, AllowMsgSchedules: true, Retention: jetstream.WorkQueuePolicy,
			})
			if err != nil {
				return nil, err
			}
			return js.CreateConsumer(ctx, "JOBS", jetstream.ConsumerConfig{Durable: "workers", FilterSubject: "job.>", AckPolicy: jetstream.AckExplicitPolicy})
		})
		if err != nil {
			return err
		}
		p := &nats.Producer{JetStream: js, Schedules: "later"}
		s := &site{Conn: c, js: js}
		now := time.Now()
		at := func(d time.Duration, id, data string) error {
			return p.EnqueueAt(g, now.Add(d), id, &natsgo.Msg{Subject: "job.a", Data: []byte(data), Header: natsgo.Header{"Own": {data}}})
		}
		err = errors.Join(at(time.Hour, "mail 1", "old"), at(time.Hour, "mail.2", "kept"), at(time.Hour, "", "own id"), s.count(g, "JOBS", 3))
		if err := errors.Join(err, at(time.Second, "mail 1", "new"), at(-time.Hour, "", "past")); err != nil {
			return err
		}
		var got []string
		var both rondo.Event
		err = nats.Work(g, consumer, 1, func(_ context.Context, m jetstream.Msg) error {
			if got = append(got, string(m.Data())+" "+m.Headers().Get("Own")); len(got) == 2 {
				both.Set()
			}
			return nil
		})
		err = errors.Join(err, both.Wait(g), s.count(g, "JOBS", 2))
		if slices.Sort(got); !slices.Equal(got, []string{"new new", "past past"}) {
			t.Errorf("got %q", got)
		}
		p.Schedules = "job" // there is a job under the same subject as its own
		if err := p.EnqueueAt(g, now, "a", &natsgo.Msg{Subject: "job.a"}); err == nil {
			t.Error("a job that waits under its own subject is taken")
		}
		return err
	})
}

// TestEnqueueAtRefused: a stream that has not allowed it takes no job with a time.
func TestEnqueueAtRefused(t *testing.T) {
	withSite(t, 0, time.Hour, func(g *rondo.Scope, _ string, s *site) error {
		p := &nats.Producer{JetStream: s.js, Schedules: "job.later"}
		if err := p.EnqueueAt(g, time.Now(), "", &natsgo.Msg{Subject: "job.a"}); !errors.Is(err, jetstream.ErrMessageSchedulesDisabled) {
			t.Errorf("EnqueueAt returned %v", err)
		}
		return s.count(g, "JOBS", 0)
	})
}
