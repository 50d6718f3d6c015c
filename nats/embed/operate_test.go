package embed_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/inspect"
	"github.com/rondo-go/rondo/nats"
)

// probe asks a handler on a goroutine.
func probe(h http.Handler) (status int, text string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	return w.Code, w.Body.String()
}

// want asks a handler beside the loop, and compares.
func want(ctx context.Context, h http.Handler, status int, pattern string) error {
	return rondo.OffloadFunc(ctx, func(context.Context) error {
		if got, text := probe(h); got != status || !regexp.MustCompile(`^`+pattern+`$`).MatchString(text) {
			return fmt.Errorf("got %d %q, want %d %q", got, text, status, pattern)
		}
		return nil
	})
}

// TestHealth: a program is ready while its connection is there, its loop turns, its queue is short,
// and it is not ending; and it lives while its loop turns.
func TestHealth(t *testing.T) {
	withSite(t, 2, time.Hour, func(g *rondo.Scope, url string, s *site) error {
		c := connect(t, g, url)
		ready := &nats.Health{Conns: []*nats.Conn{c}, Consumers: []jetstream.Consumer{s.consumer}, MaxPending: 2, MaxLag: time.Minute}
		short := &nats.Health{Conns: []*nats.Conn{c}, Consumers: []jetstream.Consumer{s.consumer}, MaxPending: 1, MaxLag: time.Minute}
		if err := s.waiting(g, 2); err != nil {
			return err
		}
		const line = `loop \S+: connected, answered after \S+\n`
		const queue = `queue JOBS workers: 2 jobs wait, 0 are under way, 0 of them again\n`
		err := errors.Join(
			want(g, ready.Ready(), 200, `ok\n`+line+queue), want(g, ready.Live(), 200, `ok\n`+line),
			want(g, short.Ready(), 503, `failing\n`+line+queue), want(g, short.Live(), 200, `ok\n`+line),
		)
		if err != nil {
			return err
		}
		// The loop hangs.
		answered := make(chan string)
		go func() {
			status, text := probe((&nats.Health{Conns: []*nats.Conn{c}, MaxLag: time.Millisecond}).Live())
			answered <- fmt.Sprint(status, " ", text)
		}()
		if got := <-answered; !strings.HasPrefix(got, "503 failing\nloop ") || !strings.HasSuffix(got, ": it does not turn\n") { // no task runs meanwhile
			t.Errorf("while the loop hangs: %q", got)
		}
		// It is being drained.
		var gate rondo.Event
		err = c.Handle(g, "slow", "", 1, func(ctx context.Context, _ *natsgo.Msg) error { return gate.Wait(ctx) })
		if err := errors.Join(err, c.Publish(g, "slow", nil), c.Flush(g)); err != nil {
			return err
		}
		drained := g.Go(c.Drain)
		for drained.Info().Waiting != "nats drain" && !drained.Done() {
			if err := rondo.Yield(g); err != nil {
				return err
			}
		}
		err = errors.Join(want(g, ready.Ready(), 503, `failing\nloop \S+: draining, .*\n`+queue), want(g, ready.Live(), 200, `ok\nloop \S+: draining, .*\n`))
		gate.Set()
		return errors.Join(err, drained.Wait(g), want(g, ready.Ready(), 503, `failing\nloop \S+: closed, .*\n`+queue))
	})
}

// TestHealthWithoutServer: without a connection, and when its scope is cancelled, a program is not
// ready, and lives.
func TestHealthWithoutServer(t *testing.T) {
	gate, err := newGate("")
	if err != nil {
		t.Fatal(err)
	}
	defer gate.close()
	err = rondo.Run(context.Background(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			c := connect(t, g, "nats://"+gate.Addr().String(), natsgo.RetryOnFailedConnect(true), natsgo.ReconnectWait(10*time.Millisecond))
			h := &nats.Health{Conns: []*nats.Conn{c}, MaxLag: time.Minute}
			err = errors.Join(want(g, h.Ready(), 503, `failing\nloop \S+: no connection, .*\n`), want(g, h.Live(), 200, `ok\nloop \S+: no connection, .*\n`))
			g.Cancel(nil)
			return errors.Join(err, rondo.Shield(g, func(ctx context.Context) error {
				return want(ctx, h.Ready(), 503, `failing\nloop \S+: ending, .*\n`)
			}))
		})
	})
	if err != nil {
		t.Error(err)
	}
}

// TestMeter: operations are counted by name and result, with how long they took.
func TestMeter(t *testing.T) {
	withSite(t, 1, time.Hour, func(g *rondo.Scope, url string, s *site) error {
		c := connect(t, g, url)
		meter := new(nats.Meter)
		c.Middleware = []nats.Middleware{meter.Wrap}
		err := nats.Serve(g, c, `na"me`, 1, func(_ context.Context, n int) (int, error) {
			if n == 2 {
				panic("two")
			}
			return n, errors.Join(map[int]error{1: errors.New("one")}[n])
		})
		w := &nats.Worker{Conn: c}
		err = errors.Join(err, c.Flush(g), w.Work(g, s.consumer, 1, func(context.Context, jetstream.Msg) error { return nil }))
		if err := errors.Join(err, s.count(g, "JOBS", 0), c.Publish(g, "any.17", nil)); err != nil {
			return err
		}
		for n := range 4 {
			if _, err := nats.Call[int, int](g, c, `na"me`, n); (err != nil) != (n == 1 || n == 2) {
				t.Errorf("%d: %v", n, err)
			}
		}
		_, text := probe(meter)
		for _, want := range []string{
			`# TYPE rondo_nats_operation_seconds histogram`,
			`rondo_nats_running{op="serve",name="na\"me"} 0`,
			`rondo_nats_operations_total{op="serve",name="na\"me",result="ok"} 2`,
			`rondo_nats_operations_total{op="serve",name="na\"me",result="error"} 1`,
			`rondo_nats_operations_total{op="serve",name="na\"me",result="panic"} 1`,
			`rondo_nats_operations_total{op="call",name="na\"me",result="ok"} 2`,
			`rondo_nats_operations_total{op="call",name="na\"me",result="error"} 2`,
			`rondo_nats_operations_total{op="work",name="JOBS workers",result="ok"} 1`,
			`rondo_nats_operations_total{op="publish",name="",result="ok"} 1`,
			`rondo_nats_operation_seconds_bucket{op="serve",name="na\"me",le="+Inf"} 4`,
			`rondo_nats_operation_seconds_count{op="serve",name="na\"me"} 4`,
		} {
			if !strings.Contains(text, want+"\n") {
				t.Errorf("%s is not in\n%s", want, text)
			}
		}
		table := rowsOf(meter.Table(g))
		for row, want := range map[string]string{
			"operation name":    "running|ok|error|panic|half within|99 % within|done|again|dead|returned",
			`serve na"me`:       "0|2|1|1|TIME|TIME",
			`call na"me`:        "0|2|2|0|TIME|TIME",
			"work JOBS workers": "0|1|0|0|TIME|TIME",
		} {
			if have := regexp.MustCompile(`\d+(µs|ms|s)`).ReplaceAllString(table[row], "TIME"); have != want {
				t.Errorf("the row of %s is %s, want %s", row, have, want)
			}
		}
		return nil
	})
}

// rowsOf returns the rows of a table by their first two cells.
func rowsOf(table [][]string) map[string]string {
	rows := make(map[string]string)
	for _, row := range table {
		rows[row[0]+" "+row[1]] = strings.Join(row[2:], "|")
	}
	return rows
}

// TestOnPage: the page of inspect.Handler shows what a Meter and a Health say.
func TestOnPage(t *testing.T) {
	withSite(t, 1, time.Hour, func(g *rondo.Scope, _ string, s *site) error {
		meter := new(nats.Meter)
		health := &nats.Health{Conns: []*nats.Conn{s.Conn}, Consumers: []jetstream.Consumer{s.letters}}
		defer inspect.AddTable("Operations", meter.Table)()
		defer inspect.AddTable("Health", health.Table)()
		w := &nats.Worker{Conn: s.Conn, Meter: meter, Middleware: []nats.Middleware{meter.Wrap}}
		err := w.Work(g, s.consumer, 1, func(context.Context, jetstream.Msg) error { return nil })
		if err := errors.Join(err, s.count(g, "JOBS", 0), w.Drain(g)); err != nil {
			return err
		}
		page, err := rondo.Offload(g, func(context.Context) (string, error) {
			_, text := probe(inspect.Handler("example.com"))
			return text, nil
		})
		for _, want := range []string{
			`<td>work</td><td>JOBS workers</td><td class="n">0</td><td class="n">1</td><td class="n">0</td><td class="n">0</td>`,
			`<td class="n">1</td><td class="n">0</td><td class="n">0</td><td class="n">0</td></tr>`,
			`<td>ok</td><td>connected, answered after `, `<td>queue DEAD letters</td><td>ok</td><td>0 jobs wait, `,
		} {
			if !strings.Contains(page, want) {
				t.Errorf("%s is not in\n%s", want, page)
			}
		}
		return err
	})
}

// TestMeterJobs: a Meter of a Worker counts deliveries by what has become of them.
func TestMeterJobs(t *testing.T) {
	withSite(t, 5, time.Hour, func(g *rondo.Scope, _ string, s *site) error {
		meter := new(nats.Meter)
		w := &nats.Worker{
			Conn: s.Conn, DeadLetters: "dead", MaxAttempts: 3, Meter: meter,
			Backoff: func(jetstream.Msg, error) time.Duration { return 0 },
		}
		var tried rondo.Event // the job that never ends runs
		err := rondo.Group(g, func(g *rondo.Scope) error {
			err := w.Work(g, s.consumer, 4, func(ctx context.Context, m jetstream.Msg) error {
				switch string(m.Data()) {
				case "0":
					return fmt.Errorf("never: %w", nats.ErrNoRetry)
				case "1":
					panic("at each attempt")
				case "2":
					tried.Set()
					return rondo.Sleep(ctx, time.Hour)
				case "3":
					return errors.Join(m.Ack(), errors.New("after its answer"))
				}
				return nil
			})
			err = errors.Join(err, tried.Wait(g), s.count(g, "DEAD", 2), s.count(g, "JOBS", 1))
			g.Cancel(nil)
			return err
		})
		_, text := probe(meter)
		for want := range strings.FieldsSeq("done:2 again:2 dead:2 returned:1") {
			fate, n, _ := strings.Cut(want, ":")
			if line := fmt.Sprintf("rondo_nats_jobs_total{name=%q,fate=%q} %s\n", "JOBS workers", fate, n); !strings.Contains(text, line) {
				t.Errorf("%s is not in\n%s", line, text)
			}
		}
		if row := rowsOf(meter.Table(g))["work JOBS workers"]; row != "0|0|0|0|||2|2|2|1" {
			t.Errorf("the row of the jobs is %s", row)
		}
		return err
	})
}

// TestHealthOfNothing: a connection or a queue that was forgotten fails the probe, and not the
// process.
func TestHealthOfNothing(t *testing.T) {
	h := &nats.Health{Conns: make([]*nats.Conn, 1), Consumers: make([]jetstream.Consumer, 1)}
	const loop = "loop: a panic: nats: Health with a nil Conn\n"
	if status, text := probe(h.Live()); status != 503 || text != "failing\n"+loop {
		t.Errorf("Live: %d %q", status, text)
	}
	if status, text := probe(h.Ready()); status != 503 || text != "failing\n"+loop+"queue: a panic: nats: Health with a nil Consumer\n" {
		t.Errorf("Ready: %d %q", status, text)
	}
}
