package nats

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// An Op says what an Operation does.
type Op uint8

// Those up to OpEnqueue send a message, and the others run a function for one that has come.
const (
	OpPublish Op = iota + 1
	OpRequest
	OpCall
	OpEnqueue
	OpHandle
	OpServe
	OpWork
)

var opNames = [...]string{
	OpPublish: "publish", OpRequest: "request", OpCall: "call", OpEnqueue: "enqueue",
	OpHandle: "handle", OpServe: "serve", OpWork: "work",
}

// String returns the name of the function, such as "call".
func (o Op) String() string {
	if int(o) >= len(opNames) || o == 0 {
		return "unknown"
	}
	return opNames[o]
}

// Sends reports whether the operation sends a message; otherwise it runs a function for one.
func (o Op) Sends() bool { return o <= OpEnqueue }

// An Operation is what a Middleware wraps.
type Operation struct {
	Op      Op
	Subject string // for OpCall and OpServe the name of the function
	Data    []byte // must not be changed

	// Header is never nil. Of a message that is sent it is a copy of the program's, which a
	// Middleware may change before it calls next. For OpServe it does not have the headers of the
	// protocol.
	Header natsgo.Header

	// Job is the message of OpWork, and otherwise nil.
	Job jetstream.Msg
}

// A Middleware is called in place of an operation, and calls next, which is the operation or the
// Middleware after it. It may change what the operation sends, pass to next a context made from
// ctx, and look at the error or return another one. If it does not call next, nothing is sent, or
// the function does not run: a job then counts as done if the Middleware returns nil.
//
// It is called in the task of the operation and may suspend it. A panic in it counts as a panic
// of the operation. The first Middleware of a list is the outermost. It is like an interceptor of
// gRPC, but one type serves both directions.
type Middleware func(ctx context.Context, o *Operation, next func(ctx context.Context) error) error

// through runs an operation through a list of Middleware.
func through(ctx context.Context, list []Middleware, o *Operation, do func(ctx context.Context) error) error {
	if len(list) == 0 {
		return do(ctx)
	}
	return list[0](ctx, o, func(ctx context.Context) error { return through(ctx, list[1:], o, do) })
}

// copyHeader returns a header that may be changed.
func copyHeader(h natsgo.Header) natsgo.Header {
	out := make(natsgo.Header, len(h)+2)
	for k, values := range h {
		out[k] = slices.Clone(values)
	}
	return out
}

// sendThrough publishes a message, or sends a request, through the Middleware of c.
func (c *Conn) sendThrough(ctx context.Context, kind Op, p op, data []byte, do func(ctx context.Context, p op) error) error {
	o := &Operation{Op: kind, Subject: p.subject, Data: data, Header: copyHeader(p.header)}
	return through(ctx, c.Middleware, o, func(ctx context.Context) error {
		if p.header = o.Header; len(p.header) == 0 {
			p.header = nil
		}
		return do(ctx, p)
	})
}

type headerKey struct{ sent bool }

// WithHeader returns a context with which Call sends the header too, in place of that of an outer
// WithHeader. HeaderOf returns it on the other side. It panics if a key begins with "Rondo", which
// is the protocol's. The header must not be changed afterwards.
func WithHeader(ctx context.Context, h natsgo.Header) context.Context {
	for k := range h {
		if strings.HasPrefix(k, kindHeader) {
			panic("nats: WithHeader with a key that begins with Rondo")
		}
	}
	return context.WithValue(ctx, headerKey{sent: true}, h)
}

// HeaderOf returns the header of the call for which the function of a Serve runs, or nil. It must
// not be changed. It is not sent on by the function's own calls: WithHeader does that.
func HeaderOf(ctx context.Context) natsgo.Header {
	h, _ := ctx.Value(headerKey{}).(natsgo.Header)
	return h
}

// JobOf returns the message of the job for which the function of a Work runs. It reports whether
// ctx comes from one.
func JobOf(ctx context.Context) (m jetstream.Msg, ok bool) {
	m, ok = ctx.Value(jobKey{}).(jetstream.Msg)
	return m, ok
}

type jobKey struct{}

// LogAttrs returns what a line of a log says of the job that ctx comes from: job, its stream and
// its number there, such as "MAILS 17", and delivery, which is 1 at first. Without a job it
// returns nil. It is for slogtask.NewHandler.
func LogAttrs(ctx context.Context) []slog.Attr {
	m, ok := JobOf(ctx)
	if !ok {
		return nil
	}
	meta, err := m.Metadata()
	if err != nil {
		return nil
	}
	return []slog.Attr{
		slog.String("job", meta.Stream+" "+strconv.FormatUint(meta.Sequence.Stream, 10)),
		slog.Uint64("delivery", meta.NumDelivered),
	}
}
