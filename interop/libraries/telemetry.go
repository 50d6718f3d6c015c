package libraries

// Traces by OpenTelemetry, metrics by Prometheus, profiles, and logs that do not block.

import (
	"context"
	"errors"
	"io"
	"net/http"
	_ "net/http/pprof" // below /debug/pprof/ of the default mux
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/inspect"
)

// traced runs body with a tracer whose spans go to a collector, by OTLP over HTTP.
func traced(ctx context.Context, collector string, body func(ctx context.Context, t trace.Tracer) error) error {
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(collector))
	if err != nil {
		return err
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter)) // exports on a goroutine
	err = body(ctx, provider.Tracer("shop"))
	// What is left is sent, also if ctx is cancelled.
	return errors.Join(err, rondo.Shield(ctx, func(ctx context.Context) error {
		return rondo.OffloadFunc(ctx, provider.Shutdown)
	}))
}

// order is a request with a span of its own, and one for each of its tasks.
func order(ctx context.Context, t trace.Tracer, parts ...string) error {
	ctx, span := t.Start(ctx, "order")
	defer span.End()
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		for _, part := range parts {
			g.Go(func(ctx context.Context) error {
				ctx, span := t.Start(ctx, part)
				defer span.End()
				return rondo.Yield(ctx)
			})
		}
		return nil
	})
}

// operators is what operators look at: metrics of the program and of its loops, profiles,
// and the tasks.
func operators(metrics *prometheus.Registry) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", httptask.Blocking(promhttp.HandlerFor(metrics, promhttp.HandlerOpts{})))
	mux.Handle("/tasks", inspect.Handler()) // with ?format=metrics for Prometheus
	mux.Handle("/debug/pprof/", httptask.Blocking(http.DefaultServeMux))
	return mux
}

// A logQueue is a Writer for logs that never blocks: a goroutine writes, and what it has no
// room for is dropped and counted.
type logQueue struct {
	lines   chan []byte
	ended   chan struct{}
	dropped atomic.Int64
}

func newLogQueue(to io.Writer, room int) *logQueue {
	q := &logQueue{lines: make(chan []byte, room), ended: make(chan struct{})}
	go func() {
		defer close(q.ended)
		for line := range q.lines {
			_, _ = to.Write(line)
		}
	}()
	return q
}

func (q *logQueue) Write(line []byte) (int, error) {
	select {
	case q.lines <- append([]byte(nil), line...):
	default:
		q.dropped.Add(1)
	}
	return len(line), nil
}

// Close waits, after the loop has ended, until everything is written.
func (q *logQueue) Close() error {
	close(q.lines)
	<-q.ended
	return nil
}
