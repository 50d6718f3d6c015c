// Command farm is a worker to copy: two shards that do jobs of a stream, serve calls and HTTP, end
// gracefully on SIGTERM, and answer probes. Its test is an audit: three brokers, three workers
// and a producer, of which processes are killed and stopped at random, and networks cut.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/nats"
	"github.com/rondo-go/rondo/shard"
	"github.com/rondo-go/rondo/signals"
	"github.com/rondo-go/rondo/slogtask"
)

var (
	brokers = flag.String("brokers", "nats://localhost:4222", "the brokers, with commas between them")
	ledger  = flag.String("ledger", "ledger.txt", "the file in which each job is noted")
	front   = flag.String("http", "localhost:8000", "where HTTP is served")
	probes  = flag.String("probes", "localhost:8080", "where /live, /ready and /metrics are")
)

func main() {
	flag.Parse()
	slog.SetDefault(slog.New(slogtask.NewHandler(slog.NewTextHandler(os.Stderr, nil), nats.LogAttrs)))
	if err := run(context.Background()); err != nil && !errors.As(err, new(rondo.SignalError)) {
		log.Fatal(err)
	}
}

// run works until SIGTERM or Ctrl-C, and then gives the jobs that run their grace.
func run(ctx context.Context) error {
	file, err := os.OpenFile(*ledger, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	r := shard.Runner{Loops: 2, Loop: rondo.Runner{Name: "farm"}}
	return r.Run(ctx, func(ctx context.Context, s *shard.Shard) error {
		return signals.Cancel(ctx, func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error { return work(g, s, file) })
		})
	})
}

// meter counts what all shards do.
var meter = new(nats.Meter)

// work begins the work of one shard.
func work(g *rondo.Scope, s *shard.Shard, file *os.File) error {
	c, err := nats.Connect(g, *brokers)
	if err != nil {
		return err
	}
	c.Middleware = []nats.Middleware{meter.Wrap}
	js, err := jetstream.New(c.NC())
	if err != nil {
		return err
	}
	w := &nats.Worker{Conn: c, Grace: 5 * time.Second, MaxAttempts: 20, DeadLetters: "dead"}
	jobs, err := rondo.Offload(g, func(ctx context.Context) (jobs jetstream.Consumer, err error) {
		if w.Returned, err = js.KeyValue(ctx, "returned"); err != nil {
			return nil, err
		}
		return js.Consumer(ctx, "JOBS", "workers")
	})
	if err != nil {
		return err
	}
	if s.Index() == 0 {
		h := &nats.Health{Conns: []*nats.Conn{c}, Consumers: []jetstream.Consumer{jobs}}
		http.Handle("/live", h.Live())
		http.Handle("/ready", h.Ready())
		http.Handle("/metrics", meter)
		go func() { slog.Error("no probes", "err", http.ListenAndServe(*probes, nil)) }()
	}
	(&site{c, js}).open(g, s)
	double := func(_ context.Context, s string) (string, error) { return s + s, nil }
	return cmp.Or(nats.Serve(g, c, "double", 100, double), w.Work(g, jobs, 10, func(ctx context.Context, m jetstream.Msg) error {
		if err := rondo.Sleep(ctx, 20*time.Millisecond); err != nil { // the work
			return err
		}
		return rondo.OffloadFunc(ctx, func(context.Context) error {
			_, err := fmt.Fprintf(file, "%s\n", m.Data())
			return err
		})
	}))
}
