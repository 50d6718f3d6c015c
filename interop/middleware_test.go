package interop_test

// Middleware of net/http inside an httptask.Server: CORS, access logs, metrics, traces. It
// wraps the ResponseWriter and derives from the request's context, so each handler waits under
// its middleware, and streams through it.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/gorilla/handlers"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/cors"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
)

// An asker sends requests to one server.
type asker struct {
	client *http.Client
	origin string
}

// middled serves h, and runs body with an asker of the server.
func middled(t *testing.T, h http.Handler, body func(ctx context.Context, a *asker) error) {
	t.Helper()
	run(t, func(ctx context.Context) error {
		return servingHTTP(ctx, h, nil, func(ctx context.Context, address string) error {
			client := httptask.Client(ctx)
			defer client.CloseIdleConnections()
			return body(ctx, &asker{client, "http://" + address})
		})
	})
}

// ask returns the answer to a request with the given header, names and values in turns.
func (a *asker) ask(ctx context.Context, method, path string, header ...string) (*http.Response, string, error) {
	q, err := http.NewRequestWithContext(ctx, method, a.origin+path, nil)
	if err != nil {
		return nil, "", err
	}
	for i := 0; i < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	answer, err := a.client.Do(q)
	if err != nil {
		return nil, "", err
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	return answer, string(b), err
}

// TestHTTPTaskChiTimeout: a wait in a handler ends at the deadline that chi's Timeout sets, and
// another handler runs meanwhile. Chi answers 504.
func TestHTTPTaskChiTimeout(t *testing.T) {
	var cause error
	router := chi.NewRouter()
	router.With(middleware.Timeout(20*time.Millisecond)).Get("/slow", func(_ http.ResponseWriter, r *http.Request) {
		cause = rondo.Sleep(r.Context(), time.Hour)
	})
	middled(t, router, func(ctx context.Context, a *asker) error {
		answer, _, err := a.ask(ctx, http.MethodGet, "/slow")
		if err == nil && answer.StatusCode != http.StatusGatewayTimeout {
			t.Errorf("%s", answer.Status)
		}
		return err
	})
	if !errors.Is(cause, context.DeadlineExceeded) {
		t.Errorf("the wait ended with %v", cause)
	}
}

// TestHTTPTaskCORS: rs/cors answers a preflight itself, and adds its headers to the answers of a
// handler that waits.
func TestHTTPTaskCORS(t *testing.T) {
	called := 0
	h := cors.New(cors.Options{
		AllowedOrigins: []string{"https://app.example"},
		AllowedMethods: []string{http.MethodPut},
	}).Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		called++
		if err := rondo.Yield(r.Context()); err != nil {
			t.Error(err)
		}
		fmt.Fprint(w, "done")
	}))
	middled(t, h, func(ctx context.Context, a *asker) error {
		for _, v := range []struct {
			method, origin, allowed string
			status, called          int
			header                  []string
		}{
			{http.MethodOptions, "https://app.example", "https://app.example", http.StatusNoContent, 0, []string{"Access-Control-Request-Method", "PUT"}},
			{http.MethodOptions, "https://other.example", "", http.StatusNoContent, 0, []string{"Access-Control-Request-Method", "PUT"}},
			{http.MethodPut, "https://app.example", "https://app.example", http.StatusOK, 1, nil},
			{http.MethodPut, "https://other.example", "", http.StatusOK, 2, nil},
		} {
			answer, body, err := a.ask(ctx, v.method, "/", append(v.header, "Origin", v.origin)...)
			if err != nil {
				return err
			}
			allowed := answer.Header.Get("Access-Control-Allow-Origin")
			if answer.StatusCode != v.status || allowed != v.allowed || called != v.called || (body == "done") != (v.header == nil) {
				t.Errorf("%s from %s: %s, %q is allowed, %d calls, %q", v.method, v.origin, answer.Status, allowed, called, body)
			}
		}
		return nil
	})
}

// TestHTTPTaskGorillaHandlers: the access log of gorilla/handlers has a line for each request,
// with status and size, although the handlers overlap; its Compress and Recovery work around
// handlers that flush and panic.
func TestHTTPTaskGorillaHandlers(t *testing.T) {
	var log bytes.Buffer // no lock: the lines are written by tasks
	at := new(overlap)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{n}", func(w http.ResponseWriter, r *http.Request) {
		defer at.enter()()
		at.company(t, r.Context())
		fmt.Fprint(w, "number ")
		w.(http.Flusher).Flush()
		fmt.Fprint(w, r.PathValue("n"))
	})
	mux.HandleFunc("GET /panic", func(http.ResponseWriter, *http.Request) { panic("boom") })
	h := handlers.CombinedLoggingHandler(&log, handlers.RecoveryHandler(handlers.RecoveryLogger(silent{}))(handlers.CompressHandler(mux)))
	const requests = 20
	middled(t, h, func(ctx context.Context, a *asker) error {
		err := all(ctx, requests, func(ctx context.Context, i int) error {
			_, body, err := a.ask(ctx, http.MethodGet, fmt.Sprint("/", i), "User-Agent", "test") // the client decompresses
			if err == nil && body != fmt.Sprint("number ", i) {
				t.Errorf("%d: %q", i, body)
			}
			return err
		})
		answer, _, missing := a.ask(ctx, http.MethodGet, "/panic", "Accept-Encoding", "identity")
		if missing == nil && answer.StatusCode != http.StatusInternalServerError {
			t.Errorf("a panic became %s", answer.Status)
		}
		return errors.Join(err, missing)
	})
	for i := range requests {
		if line := fmt.Sprintf(`"GET /%d HTTP/1.1" 200 `, i); strings.Count(log.String(), line) != 1 {
			t.Errorf("no line, or more than one, with %q in\n%s", line, log.String())
		}
	}
	if n := strings.Count(log.String(), "\n"); n != requests+1 || !strings.Contains(log.String(), `"GET /panic HTTP/1.1" 500 0 `) {
		t.Errorf("%d lines:\n%s", n, log.String())
	}
	at.want(t, 2)
}

// silent is the logger of a handler whose panic the test expects.
type silent struct{}

func (silent) Println(...any) {}

// TestHTTPTaskPrometheus: promhttp counts requests by code and method, sees how many handlers
// run at once, and serves what it has counted.
func TestHTTPTaskPrometheus(t *testing.T) {
	const requests = 20
	registry := prometheus.NewRegistry()
	count := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "requests_total"}, []string{"code", "method"})
	running := prometheus.NewGauge(prometheus.GaugeOpts{Name: "running"})
	took := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "seconds"}, nil)
	size := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "bytes"}, nil)
	registry.MustRegister(count, running, took, size)
	at := new(overlap)
	work := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer at.enter()()
		at.company(t, r.Context())
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusCreated)
		}
		fmt.Fprint(w, "0123456789")
	})
	mux := http.NewServeMux()
	mux.Handle("/work", promhttp.InstrumentHandlerInFlight(running, promhttp.InstrumentHandlerDuration(took,
		promhttp.InstrumentHandlerCounter(count, promhttp.InstrumentHandlerResponseSize(size, work)))))
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{Registry: registry}))
	middled(t, mux, func(ctx context.Context, a *asker) error {
		err := all(ctx, requests, func(ctx context.Context, i int) error {
			_, _, err := a.ask(ctx, []string{http.MethodGet, http.MethodPost}[i%2], "/work")
			return err
		})
		if err != nil {
			return err
		}
		_, metrics, err := a.ask(ctx, http.MethodGet, "/metrics")
		for _, line := range []string{
			`requests_total{code="200",method="get"} 10`, `requests_total{code="201",method="post"} 10`,
			"running 0", "seconds_count 20", "bytes_sum 200",
		} {
			if !strings.Contains(metrics, line+"\n") {
				t.Errorf("no line %q in\n%s", line, metrics)
			}
		}
		return err
	})
	at.want(t, 2)
}

// TestHTTPTaskOpenTelemetry: otelhttp's Transport and Handler make one trace of a request, and a
// handler that waits, beside others, finds its own span in r.Context(), and so do its tasks.
func TestHTTPTaskOpenTelemetry(t *testing.T) {
	const requests = 10
	spans := tracetest.NewSpanRecorder()
	provider := trace.NewTracerProvider(trace.WithSpanProcessor(spans))
	options := []otelhttp.Option{otelhttp.WithTracerProvider(provider), otelhttp.WithPropagators(propagation.TraceContext{})}
	at := new(overlap)
	h := otelhttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer at.enter()()
		at.company(t, r.Context())
		id, err := rondo.Async(r.Context(), func(ctx context.Context) (oteltrace.SpanID, error) {
			return oteltrace.SpanContextFromContext(ctx).SpanID(), rondo.Yield(ctx)
		}).Wait(r.Context())
		if err != nil {
			t.Error(err)
		}
		fmt.Fprint(w, id)
	}), "work", options...)
	answered := make(map[string]bool)
	middled(t, h, func(ctx context.Context, a *asker) error {
		a.client.Transport = otelhttp.NewTransport(a.client.Transport, options...)
		return all(ctx, requests, func(ctx context.Context, _ int) error {
			_, id, err := a.ask(ctx, http.MethodGet, "/")
			answered[id] = true
			return err
		})
	})
	clients := make(map[oteltrace.SpanID]oteltrace.TraceID)
	for _, s := range spans.Ended() {
		if s.SpanKind() == oteltrace.SpanKindClient {
			clients[s.SpanContext().SpanID()] = s.SpanContext().TraceID()
		}
	}
	servers := 0
	for _, s := range spans.Ended() {
		if s.SpanKind() != oteltrace.SpanKindServer {
			continue
		}
		servers++
		if clients[s.Parent().SpanID()] != s.SpanContext().TraceID() || !answered[s.SpanContext().SpanID().String()] {
			t.Errorf("span %s of parent %s: the clients have %v, the handlers found %v", s.SpanContext().SpanID(), s.Parent().SpanID(), clients, answered)
		}
	}
	if len(clients) != requests || servers != requests || len(answered) != requests {
		t.Errorf("%d spans of clients, %d of servers, %d answers", len(clients), servers, len(answered))
	}
	at.want(t, 2)
}
