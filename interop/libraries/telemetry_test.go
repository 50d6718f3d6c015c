package libraries

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/slogtask"
)

// A receiver is a collector of OpenTelemetry's protocol over HTTP. It has the parent of each span.
type receiver struct {
	mu      sync.Mutex
	names   map[string]string // by the number of a span
	parents map[string]string // of names
	fault   error
}

func (c *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			c.fault = err
			return
		}
		body = z
	}
	b, err := io.ReadAll(body)
	q := new(collector.ExportTraceServiceRequest)
	if err == nil {
		err = proto.Unmarshal(b, q)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = err
	for _, of := range q.ResourceSpans {
		for _, scope := range of.ScopeSpans {
			for _, s := range scope.Spans {
				c.names[hex.EncodeToString(s.SpanId)] = s.Name
				c.parents[s.Name] = hex.EncodeToString(s.ParentSpanId)
			}
		}
	}
}

// TestTraces: the spans of tasks have that of their request as parent, and all of them come,
// although the end is by a cancellation.
func TestTraces(t *testing.T) {
	c := &receiver{names: make(map[string]string), parents: make(map[string]string)}
	server := httptest.NewServer(c)
	defer server.Close()
	run(t, func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			return traced(g, server.URL+"/v1/traces", func(ctx context.Context, t trace.Tracer) error {
				err := order(ctx, t, "book", "pay", "ship")
				g.Cancel(nil)
				return err
			})
		})
	})
	for _, part := range []string{"book", "pay", "ship"} {
		if c.names[c.parents[part]] != "order" {
			t.Errorf("the parent of %s is %q", part, c.names[c.parents[part]])
		}
	}
	if len(c.names) != 4 || c.fault != nil {
		t.Errorf("%d spans came, %v", len(c.names), c.fault)
	}
}

// TestOperators reads the pages for operators, while a profile is taken.
func TestOperators(t *testing.T) {
	metrics := prometheus.NewRegistry()
	promauto.With(metrics).NewCounter(prometheus.CounterOpts{Name: "orders_total"}).Add(3)
	run(t, func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			g.Go(func(ctx context.Context) error { return httptask.Serve(ctx, l, operators(metrics)) })
			client := httptask.Client(g)
			defer client.CloseIdleConnections()
			get := func(ctx context.Context, page string) (string, error) {
				q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+l.Addr().String()+page, nil)
				if err != nil {
					return "", err
				}
				answer, err := client.Do(q)
				if err != nil {
					return "", err
				}
				defer answer.Body.Close()
				b, err := io.ReadAll(answer.Body)
				return string(b), err
			}
			profiled := rondo.Async(g, func(ctx context.Context) (string, error) { return get(ctx, "/debug/pprof/profile?seconds=1") })
			for page, want := range map[string]string{"/metrics": "orders_total 3", "/tasks?format=metrics": "rondo_", "/debug/pprof/": "goroutine"} {
				if text, err := get(g, page); err != nil || !strings.Contains(text, want) {
					t.Errorf("%s has no %q: %.300s, %v", page, want, text, err)
				}
			}
			profile, err := profiled.Wait(g)
			if !strings.HasPrefix(profile, "\x1f\x8b") {
				t.Errorf("no profile: %.100q", profile)
			}
			g.Cancel(nil)
			return err
		})
	})
}

// TestLogQueue: a log that nobody reads stops no task, what there is room for comes, and each
// line names its task.
func TestLogQueue(t *testing.T) {
	const lines, room = 10_000, 100
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	q := newLogQueue(w, room)
	log := slog.New(slogtask.NewHandler(slog.NewTextHandler(q, nil)))
	run(t, func(ctx context.Context) error {
		rondo.Current(ctx).SetName("talker")
		for i := range lines {
			log.InfoContext(ctx, strings.Repeat("x", 100), "line", i)
		}
		return nil
	})
	var text bytes.Buffer
	read := make(chan error)
	go func() {
		_, err := io.Copy(&text, r)
		read <- err
	}()
	if err := q.Close(); err != nil {
		t.Error(err)
	}
	w.Close()
	if err := <-read; err != nil {
		t.Error(err)
	}
	r.Close()
	came := strings.Count(text.String(), " task=talker ")
	if came < room || came+int(q.dropped.Load()) != lines {
		t.Errorf("%d lines came and %d were dropped, of %s", came, q.dropped.Load(), fmt.Sprint(lines))
	}
}
