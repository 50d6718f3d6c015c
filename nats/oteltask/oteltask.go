// Package oteltask writes spans of OpenTelemetry for what package nats sends and runs, and for
// calls between shards. The trace context of the W3C travels in the headers of messages, so a
// job is in the trace of the request that has enqueued it.
//
//	c.Middleware = []nats.Middleware{new(oteltask.Tracer).Wrap}
//	p := &nats.Producer{JetStream: js, Middleware: c.Middleware}
//	err := httptask.Serve(ctx, l, otelhttp.NewHandler(handler, "shop"))
//	total, err := oteltask.Call(ctx, other, add) // in place of shard.Call
//	log := slog.New(slogtask.NewHandler(h, nats.LogAttrs, oteltask.LogAttrs))
//
// httptask needs nothing of its own: otelhttp wraps its handlers as those of net/http.
//
// Spans end on the loop, so the processor must not wait: take the batching one of the SDK, whose
// exporter has a goroutine of its own.
package oteltask

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/rondo-go/rondo/nats"
	"github.com/rondo-go/rondo/shard"
)

// scope is the name of the instrumentation.
const scope = "github.com/rondo-go/rondo/nats/oteltask"

// A Tracer writes spans. The zero Tracer is ready. It may be used on any loop.
type Tracer struct {
	// Provider makes the spans. nil means that of the program, otel.GetTracerProvider.
	Provider trace.TracerProvider

	// Propagator writes and reads headers. nil means the trace context and the baggage of the W3C.
	Propagator propagation.TextMapPropagator
}

// w3c is the default Propagator.
var w3c = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})

var kinds = map[nats.Op]trace.SpanKind{
	nats.OpPublish: trace.SpanKindProducer, nats.OpEnqueue: trace.SpanKindProducer,
	nats.OpRequest: trace.SpanKindClient, nats.OpCall: trace.SpanKindClient,
	nats.OpHandle: trace.SpanKindConsumer, nats.OpWork: trace.SpanKindConsumer, nats.OpServe: trace.SpanKindServer,
}

// Wrap is a nats.Middleware. Each operation is a span, whose name is that of the function and
// the subject, such as "work job.mail". The span of what is sent is a child of that of ctx; that
// of what runs is a child of the one that has sent the message. Each delivery of a job is a
// span. An error and a panic are the span's status.
func (t *Tracer) Wrap(ctx context.Context, o *nats.Operation, next func(ctx context.Context) error) error {
	propagator := t.Propagator
	if propagator == nil {
		propagator = w3c
	}
	header := carrier(o.Header)
	if !o.Op.Sends() {
		ctx = propagator.Extract(ctx, header)
	}
	provider := t.Provider
	if provider == nil {
		provider = otel.GetTracerProvider()
	}
	ctx, span := provider.Tracer(scope).Start(ctx, o.Op.String()+" "+o.Subject,
		trace.WithSpanKind(kinds[o.Op]), trace.WithAttributes(attributes(o)...))
	if o.Op.Sends() {
		propagator.Inject(ctx, header)
	}
	return within(span, func() error { return next(ctx) })
}

// attributes describes an operation in the words of OpenTelemetry.
func attributes(o *nats.Operation) []attribute.KeyValue {
	list := []attribute.KeyValue{
		attribute.String("messaging.system", "nats"),
		attribute.String("messaging.operation.name", o.Op.String()),
		attribute.String("messaging.destination.name", o.Subject),
		attribute.Int("messaging.message.body.size", len(o.Data)),
	}
	if o.Job == nil {
		return list
	}
	meta, err := o.Job.Metadata()
	if err != nil {
		return list
	}
	return append(list,
		attribute.String("messaging.consumer.group.name", meta.Consumer),
		attribute.String("messaging.nats.stream", meta.Stream),
		attribute.Int64("messaging.nats.sequence", int64(meta.Sequence.Stream)),
		attribute.Int64("messaging.nats.delivery", int64(meta.NumDelivered)))
}

// within ends the span when fn has ended, with its error or its panic.
func within(span trace.Span, fn func() error) error {
	over := false
	defer func() {
		if !over { // a panic, which goes on
			span.SetStatus(codes.Error, "panic")
		}
		span.End()
	}()
	err := fn()
	over = true
	if err != nil {
		span.RecordError(err)
		span.SetStatus(codes.Error, err.Error())
	}
	return err
}

// Call is shard.Call with a span, a child of that of ctx and of the same provider. The spans of fn
// are its children.
func Call[T any](ctx context.Context, to *shard.Shard, fn func(ctx context.Context) (T, error)) (T, error) {
	provider := otel.GetTracerProvider()
	if parent := trace.SpanFromContext(ctx); parent.SpanContext().IsValid() {
		provider = parent.TracerProvider()
	}
	name := "shard.Call"
	if to != nil {
		name += " " + to.Name()
	}
	ctx, span := provider.Tracer(scope).Start(ctx, name)
	var v T
	err := within(span, func() (err error) {
		v, err = shard.Call(ctx, to, func(there context.Context) (T, error) { return fn(trace.ContextWithSpan(there, span)) })
		return err
	})
	return v, err
}

// LogAttrs returns trace_id and span_id of ctx, for slogtask.NewHandler. In a line about a job of
// which no span is known, such as that it has failed, they are those that have enqueued it. Without
// either it returns nil.
func LogAttrs(ctx context.Context) []slog.Attr {
	s := trace.SpanContextFromContext(ctx)
	if !s.IsValid() {
		if m, ok := nats.JobOf(ctx); ok {
			s = trace.SpanContextFromContext(w3c.Extract(context.Background(), carrier(m.Headers())))
		}
	}
	if !s.IsValid() {
		return nil
	}
	return []slog.Attr{slog.String("trace_id", s.TraceID().String()), slog.String("span_id", s.SpanID().String())}
}

// A carrier is the header of a message for a Propagator, whose keys are in lower case.
type carrier map[string][]string

func (c carrier) Get(key string) string {
	if values := c[key]; len(values) > 0 {
		return values[0]
	}
	return ""
}

func (c carrier) Set(key, value string) { c[key] = []string{value} }

func (c carrier) Keys() []string {
	keys := make([]string, 0, len(c))
	for k := range c {
		keys = append(keys, k)
	}
	return keys
}
