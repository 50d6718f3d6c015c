package nats

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-go/rondo/nats/internal/report"
)

// Health answers the probes of an orchestrator, such as Kubernetes. Its handlers run on
// goroutines of net/http and must not run on a loop, which they would hold up: serve them by a
// server of net/http, so that they answer also when a loop hangs, or wrap them by
// httptask.Blocking. The fields must not change after the first request.
type Health struct {
	// Conns are the connections of the program, of one loop or of several. Each must be connected,
	// and its loop must turn.
	Conns []*Conn

	// Consumers are queues of jobs. Ready says how many jobs wait in each, and fails if the server
	// does not answer.
	Consumers []jetstream.Consumer

	// MaxPending is how many jobs may wait in a queue. 0 means any number.
	MaxPending uint64

	// MaxLag is how long a loop and the server may take to answer. 0 means five seconds.
	MaxLag time.Duration
}

// A finding is a line of the answer.
type finding struct {
	what, text string
	bad        bool
}

// Live answers 200 if the loops of Conns turn, and otherwise 503: the process needs a restart.
func (h *Health) Live() http.Handler { return h.handler(false) }

// Ready answers 200 if the loops turn, each Conn is connected and is neither being drained nor
// ending, and the queues answer; otherwise 503: the process should get no more work. The text has
// a line for each.
func (h *Health) Ready() http.Handler { return h.handler(true) }

func (h *Health) handler(ready bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		findings := h.look(req.Context(), ready)
		status, text := http.StatusOK, "ok\n"
		for _, f := range findings {
			if f.bad {
				status, text = http.StatusServiceUnavailable, "failing\n"
			}
		}
		var b strings.Builder
		b.WriteString(text)
		for _, f := range findings {
			fmt.Fprintf(&b, "%s: %s\n", f.what, f.text)
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(b.String())) // the client has left
	})
}

// Table returns what Ready answers as rows for inspect.AddTable. It must not be called on a loop.
// If ctx is cancelled first, a loop or a queue that has not answered by then counts as failed.
func (h *Health) Table(ctx context.Context) [][]string {
	rows := [][]string{{"of", "", "state"}}
	for _, f := range h.look(ctx, true) {
		verdict := "ok"
		if f.bad {
			verdict = "failing"
		}
		rows = append(rows, []string{f.what, verdict, f.text})
	}
	return rows
}

// look asks all at once.
func (h *Health) look(ctx context.Context, ready bool) []finding {
	most := h.MaxLag
	if most <= 0 {
		most = 5 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	consumers := h.Consumers
	if !ready {
		consumers = nil
	}
	findings := make([]finding, len(h.Conns)+len(consumers))
	var all sync.WaitGroup
	for i, c := range h.Conns {
		all.Go(func() { findings[i] = contained("loop", func() finding { return c.health(ctx, ready) }) })
	}
	for i, consumer := range consumers {
		all.Go(func() {
			findings[len(h.Conns)+i] = contained("queue", func() finding { return h.queue(ctx, consumer) })
		})
	}
	all.Wait()
	return findings
}

// contained returns what ask does, or that it panicked: nobody else would catch that.
func contained(what string, ask func() finding) (f finding) {
	defer func() {
		if v := recover(); v != nil {
			f = finding{what: what, text: "a panic: " + report.Text("%v", v), bad: true}
		}
	}()
	return ask()
}

// health asks the loop of c how c is. It runs on any goroutine.
func (c *Conn) health(ctx context.Context, ready bool) finding {
	if c == nil {
		panic("nats: Health with a nil Conn")
	}
	f := finding{what: "loop " + c.name}
	answer := make(chan string, 1)
	begin := time.Now()
	if err := c.loop.Post(func() { answer <- c.state() }); err != nil {
		f.text, f.bad = "it has ended", true
		return f
	}
	select {
	case state := <-answer:
		f.text = fmt.Sprintf("%s, answered after %s", state, time.Since(begin).Round(time.Microsecond))
		f.bad = ready && state != stateConnected
	case <-ctx.Done():
		f.text, f.bad = "it does not turn", true
	}
	return f
}

// stateConnected is that of a connection that is ready.
const stateConnected = "connected"

// state says how c is. It is called on the loop.
func (c *Conn) state() string {
	switch {
	case c.err != nil:
		return "closed"
	case c.scope.Err() != nil:
		return "ending"
	case c.draining:
		return "draining"
	case c.offline.Load():
		return "no connection"
	}
	return stateConnected
}

// queue asks the server how many jobs wait. It runs on any goroutine.
func (h *Health) queue(ctx context.Context, consumer jetstream.Consumer) finding {
	if consumer == nil {
		panic("nats: Health with a nil Consumer")
	}
	f := finding{what: "queue"}
	if info := consumer.CachedInfo(); info != nil {
		f.what += " " + info.Stream + " " + info.Name
	}
	info, err := consumer.Info(ctx)
	if err != nil {
		f.text, f.bad = report.Text("%v", err), true
		return f
	}
	f.text = fmt.Sprintf("%d jobs wait, %d are under way, %d of them again", info.NumPending, info.NumAckPending, info.NumRedelivered)
	f.bad = h.MaxPending > 0 && info.NumPending > h.MaxPending
	return f
}
