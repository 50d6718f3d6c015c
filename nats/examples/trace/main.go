// Command trace runs a shop on two shards: a request over HTTP, a call between shards, a call of
// a function by NATS, and a job. All of it is one trace of OpenTelemetry, which it writes as a
// picture.
//
//	go run ./nats/examples/trace > trace.svg
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/nats"
	"github.com/rondo-go/rondo/nats/embed"
	"github.com/rondo-go/rondo/nats/oteltask"
	"github.com/rondo-go/rondo/shard"
	"github.com/rondo-go/rondo/slogtask"
)

func main() {
	log.SetFlags(0)
	slog.SetDefault(slog.New(slogtask.NewHandler(slog.NewTextHandler(os.Stderr, nil), nats.LogAttrs, oteltask.LogAttrs)))
	spans, err := order(context.Background())
	if err == nil {
		_, err = os.Stdout.WriteString(picture(spans))
	}
	if err != nil {
		log.Fatal(err)
	}
}

// A shop sells bread. It belongs to shard 0; the stock belongs to shard 1.
type shop struct {
	provider *trace.TracerProvider
	stock    *shard.Shard
	loaves   int // shard 1's
	*nats.Conn
	jobs   nats.Producer
	mailed rondo.Event
}

// order has one loaf ordered, and returns the spans of that.
func order(ctx context.Context) (tracetest.SpanStubs, error) {
	spans := tracetest.NewInMemoryExporter()
	provider := trace.NewTracerProvider(trace.WithSyncer(spans)) // in production WithBatcher, which does not wait
	dir, err := os.MkdirTemp("", "trace")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	r := shard.Runner{Loops: 2}
	err = r.Run(ctx, func(ctx context.Context, s *shard.Shard) error {
		if s.Index() != 0 {
			return nil // serves the calls of shard 0
		}
		return rondo.Group(ctx, func(outer *rondo.Scope) error {
			broker, err := embed.Start(outer, &server.Options{Port: server.RANDOM_PORT, JetStream: true, StoreDir: dir, NoLog: true})
			if err != nil {
				return err
			}
			return rondo.Group(outer, func(g *rondo.Scope) error {
				sh := &shop{provider: provider, stock: s.At(1), loaves: 3}
				err := sh.open(g, embed.URL(broker))
				if err == nil {
					err = sh.visit(g)
				}
				g.Cancel(nil)
				return err
			})
		})
	})
	return spans.GetSpans(), errors.Join(err, provider.Shutdown(ctx))
}

// open connects to the broker, serves prices, and does the jobs.
func (s *shop) open(g *rondo.Scope, url string) (err error) {
	if s.Conn, err = nats.Connect(g, url); err != nil {
		return err
	}
	s.Middleware = []nats.Middleware{(&oteltask.Tracer{Provider: s.provider}).Wrap}
	s.jobs.Middleware = s.Middleware
	if s.jobs.JetStream, err = jetstream.New(s.NC()); err != nil {
		return err
	}
	mails, err := rondo.Offload(g, func(ctx context.Context) (jetstream.Consumer, error) {
		js := s.jobs.JetStream
		if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "MAILS", Subjects: []string{"job.mail"}}); err != nil {
			return nil, err
		}
		return js.CreateConsumer(ctx, "MAILS", jetstream.ConsumerConfig{Durable: "workers", AckPolicy: jetstream.AckExplicitPolicy})
	})
	if err != nil {
		return err
	}
	price := func(context.Context, string) (int, error) { return 250, nil }
	w := &nats.Worker{Conn: s.Conn}
	return cmp.Or(nats.Serve(g, s.Conn, "price", 10, price), w.Work(g, mails, 1, s.mail), s.Flush(g))
}

// mail is the job.
func (s *shop) mail(ctx context.Context, m jetstream.Msg) error {
	slog.InfoContext(ctx, "mailed", "to", string(m.Data()))
	defer s.mailed.Set()
	return s.Publish(ctx, "mailed", m.Data())
}

// ServeHTTP sells a loaf.
func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	left, err := oteltask.Call(ctx, s.stock, func(context.Context) (int, error) {
		s.loaves--
		return s.loaves, nil
	})
	var price int
	if err == nil {
		price, err = nats.Call[string, int](ctx, s.Conn, "price", "bread")
	}
	if err == nil {
		err = s.jobs.Enqueue(ctx, "job.mail", "", []byte("ann@example.com"))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	fmt.Fprintf(w, "%d cents, %d left\n", price, left)
}

// visit orders a loaf over HTTP, and waits until the mail is sent.
func (s *shop) visit(g *rondo.Scope) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("POST /orders", s)
	traced := otelhttp.NewHandler(mux, "shop", otelhttp.WithTracerProvider(s.provider), otelhttp.WithPropagators(w3c))
	g.Go(func(ctx context.Context) error { return httptask.Serve(ctx, l, traced) })
	client := httptask.Client(g)
	defer client.CloseIdleConnections()
	client.Transport = otelhttp.NewTransport(client.Transport, otelhttp.WithTracerProvider(s.provider), otelhttp.WithPropagators(w3c))
	answer, err := client.Post("http://"+l.Addr().String()+"/orders", "text/plain", strings.NewReader("bread"))
	if err != nil {
		return err
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the shop answers %s", answer.Status)
	}
	return s.mailed.Wait(g)
}
