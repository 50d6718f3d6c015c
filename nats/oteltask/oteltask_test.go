package oteltask_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	natsgo "github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/rondo-go/rondo/nats"
	"github.com/rondo-go/rondo/nats/oteltask"
	"github.com/rondo-go/rondo/shard"
)

// A log has the spans that have ended.
type log struct {
	*tracetest.InMemoryExporter
	*trace.TracerProvider
}

func newLog() log {
	e := tracetest.NewInMemoryExporter()
	return log{e, trace.NewTracerProvider(trace.WithSyncer(e))}
}

// spans returns a line for each span: its name, kind, parent and status.
func (l log) spans() (lines []string) {
	names := make(map[string]string)
	for _, s := range l.GetSpans() {
		names[s.SpanContext.SpanID().String()] = s.Name
	}
	for _, s := range l.GetSpans() {
		line := fmt.Sprintf("%s: %s of %q", s.Name, s.SpanKind, names[s.Parent.SpanID().String()])
		if s.Status.Code == codes.Error {
			line += ", " + s.Status.Description
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

func compare(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestWrap: what runs for a message is a child of what has sent it; errors and panics are the
// status.
func TestWrap(t *testing.T) {
	l := newLog()
	tracer := &oteltask.Tracer{Provider: l}
	send := func(ctx context.Context, op nats.Op) natsgo.Header {
		h := make(natsgo.Header)
		o := &nats.Operation{Op: op, Subject: "a", Header: h}
		if err := tracer.Wrap(ctx, o, func(context.Context) error { return nil }); err != nil {
			t.Error(err)
		}
		return h
	}
	run := func(op nats.Op, h natsgo.Header, fn func(ctx context.Context) error) error {
		return tracer.Wrap(context.Background(), &nats.Operation{Op: op, Subject: "a", Header: h}, fn)
	}
	failed := errors.New("no such user")
	for sends, runs := range map[nats.Op]nats.Op{nats.OpPublish: nats.OpHandle, nats.OpEnqueue: nats.OpWork} {
		if err := run(runs, send(context.Background(), sends), func(context.Context) error { return failed }); err != failed {
			t.Error(err)
		}
	}
	called := send(context.Background(), nats.OpCall)
	func() {
		defer func() {
			if v := recover(); v != "gone" {
				t.Errorf("the panic became %v", v)
			}
		}()
		_ = run(nats.OpServe, called, func(ctx context.Context) error {
			send(ctx, nats.OpRequest)
			panic("gone")
		})
	}()
	compare(t, l.spans(),
		`call a: client of ""`,
		`enqueue a: producer of ""`,
		`handle a: consumer of "publish a", no such user`,
		`publish a: producer of ""`,
		`request a: client of "serve a"`,
		`serve a: server of "call a", panic`,
		`work a: consumer of "enqueue a", no such user`,
	)
}

// TestCall: the spans of a function on another shard are children of the call's.
func TestCall(t *testing.T) {
	l := newLog()
	tracer := &oteltask.Tracer{Provider: l}
	err := (&shard.Runner{Loops: 2}).Run(context.Background(), func(ctx context.Context, s *shard.Shard) error {
		if s.Index() != 0 {
			return nil
		}
		o := &nats.Operation{Op: nats.OpHandle, Subject: "a", Header: make(natsgo.Header)}
		return tracer.Wrap(ctx, o, func(ctx context.Context) error {
			v, err := oteltask.Call(ctx, s.At(1), func(ctx context.Context) (string, error) {
				o := &nats.Operation{Op: nats.OpPublish, Subject: "b", Header: make(natsgo.Header)}
				err := tracer.Wrap(ctx, o, func(context.Context) error { return nil })
				return oteltask.LogAttrs(ctx)[0].Key, err
			})
			if v != "trace_id" {
				t.Errorf("Call returned %q", v)
			}
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	compare(t, l.spans(),
		`handle a: consumer of ""`,
		`publish b: producer of "shard.Call shard-1"`,
		`shard.Call shard-1: internal of "handle a"`,
	)
}

// TestLogAttrs: a line has the ids of its trace; without one it has none.
func TestLogAttrs(t *testing.T) {
	l := newLog()
	ctx, span := l.Tracer("test").Start(context.Background(), "a")
	defer span.End()
	want := []slog.Attr{slog.String("trace_id", span.SpanContext().TraceID().String()), slog.String("span_id", span.SpanContext().SpanID().String())}
	if got := oteltask.LogAttrs(ctx); !slices.EqualFunc(got, want, slog.Attr.Equal) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := oteltask.LogAttrs(context.Background()); got != nil {
		t.Errorf("without a span: %v", got)
	}
}
