package nats

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	natsgo "github.com/nats-io/nats.go"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/nats/internal/rpc"
)

// The errors of a Call, besides those of the function.
var (
	// ErrLost says that no message about the function has come for two seconds, or that its
	// worker has ended. The function may have run, or may still run.
	ErrLost = rpc.ErrLost

	// ErrNoWorker says that nobody serves the name, or that there was no connection for two
	// seconds. The function has not run.
	ErrNoWorker = rpc.ErrNoWorker

	// ErrRefused says that the worker has too much to do, or is ending. The function has
	// not run.
	ErrRefused = rpc.ErrRefused
)

// A RemoteError is the error or the panic of a function that was called.
type RemoteError = rpc.RemoteError

// Call calls the function that Serve serves under name, on any of the workers that do, and
// suspends the task until its result is there. in and the result travel as JSON; one of more
// than 32 KiB is decoded on a goroutine, so an UnmarshalJSON must not touch the state of the
// loop. Delivery is at most once, and Call is never repeated.
//
// If the function fails or panics, the error is a *RemoteError with the text. ErrNoWorker and
// ErrRefused say that it has not run; with ErrLost it may have run. The deadline of ctx travels
// as a duration, and cancels the function too. If ctx is cancelled first, Call returns the cause,
// and the worker is told as soon as Call knows which one it is: after 500 ms at the latest, if no
// message is lost. If in is larger than the server accepts, the error wraps the client's
// ErrMaxPayload. The other errors are those of Publish.
func Call[In, Out any](ctx context.Context, c *Conn, name string, in In) (out Out, err error) {
	data, err := json.Marshal(in)
	if err != nil {
		return out, fmt.Errorf("nats: call %s: the argument: %w", shown(name), err)
	}
	header, _ := ctx.Value(headerKey{sent: true}).(natsgo.Header)
	if len(c.Middleware) == 0 {
		data, err = c.call(ctx, name, header, data)
	} else {
		p := op{subject: name, header: header}
		var answer []byte
		err = c.sendThrough(ctx, OpCall, p, data, func(ctx context.Context, p op) (err error) {
			answer, err = c.call(ctx, name, p.header, data)
			return err
		})
		data = answer
	}
	if err != nil {
		return out, err
	}
	if out, err = decodeJSON[Out](ctx, data); err != nil {
		return out, fmt.Errorf("nats: call %s: the result: %w", shown(name), err)
	}
	return out, nil
}

// call sends the argument of a call, and returns the result.
func (c *Conn) call(ctx context.Context, name string, header natsgo.Header, data []byte) ([]byte, error) {
	e, err := c.endpoint(ctx, "call", name)
	if err != nil {
		return nil, err
	}
	wantStack, _ := ctx.Value(stackKey{}).(bool)
	return e.Call(ctx, name, header, data, wantStack)
}

// reach suspends a call while there is no connection, for two seconds at most: the client would
// keep it and send it when nobody waits for it any more.
func (c *Conn) reach(ctx context.Context) error {
	for c.offline.Load() && c.err == nil {
		err := rondo.Timeout(ctx, rpc.Silence, func(ctx context.Context) error { return c.wait(ctx, &c.online, "nats connection") })
		switch {
		case err == nil:
		case !rondo.TimedOut(ctx, err):
			return err
		case c.offline.Load():
			return fmt.Errorf("%w: %w", ErrNoWorker, natsgo.ErrDisconnected)
		}
	}
	return nil
}

// bigJSON is how many bytes of JSON the loop decodes itself.
const bigJSON = 32 << 10

// decodeJSON decodes data, beside the loop if that takes long.
func decodeJSON[T any](ctx context.Context, data []byte) (v T, err error) {
	if len(data) <= bigJSON {
		err = json.Unmarshal(data, &v)
		return v, err
	}
	return rondo.Offload(ctx, func(context.Context) (v T, err error) {
		err = json.Unmarshal(data, &v)
		return v, err
	})
}

type stackKey struct{}

// WithRemoteStack returns a context with which Call asks for the stack of a panic, in the
// RemoteError. The stack shows the source of the worker, so it is sent only on request.
func WithRemoteStack(ctx context.Context) context.Context {
	return context.WithValue(ctx, stackKey{}, true)
}

// Serve serves fn under name, which is both the subject and the queue: the server hands each call
// to one of those that serve the name. It calls fn in a task for each call, at most limit at
// once; 1,024 more wait for their turn, if all have at most 64 MiB, and those beyond that are
// refused. An argument of more than 32 KiB is decoded on a goroutine, as by Call. Serve also
// answers a plain request of any NATS client that has JSON as its data. The answer is then the
// result alone.
//
// Serve suspends the task until the subscription is on its way to the server, and returns. Once
// c.Flush has returned, calls from everywhere arrive. g owns the tasks, which are named for name.
// It goes on until g is cancelled, or c is drained or closed. The ctx of fn is cancelled when its
// caller is known not to wait any more. It is a scope of its own, as rondo.Contain gives it, and
// owns the tasks that fn starts with it. An error or a panic of fn, or of such a task, goes to
// the caller, and does not fail g; a panic is logged as well. If the connection is closed for
// good, the error of g wraps the client's ErrConnectionClosed. Once Drain has begun, the error of
// Serve wraps ErrConnectionDraining. It panics if limit is not positive.
func Serve[In, Out any](g *rondo.Scope, c *Conn, name string, limit int, fn func(ctx context.Context, in In) (Out, error)) error {
	if limit <= 0 {
		panic("nats: Serve with a limit that is not positive")
	}
	if fn == nil {
		panic("nats: Serve with a nil function")
	}
	if err := c.check(g); err != nil {
		return err
	}
	c.handlers++ // before it suspends, so that Drain waits for it
	e, err := c.endpoint(g, "serve", name)
	if err != nil {
		c.handlerEnded()
		return err
	}
	answer := func(ctx context.Context, data []byte) ([]byte, error) {
		in, err := decodeJSON[In](ctx, data)
		if err != nil {
			return nil, fmt.Errorf("the argument: %w", err)
		}
		out, err := fn(ctx, in)
		if err != nil {
			return nil, err
		}
		return json.Marshal(out)
	}
	return e.Serve(g, name, limit, func(ctx context.Context, header map[string][]string, data []byte) (result []byte, err error) {
		if len(header) > 0 {
			ctx = context.WithValue(ctx, headerKey{}, natsgo.Header(header))
		}
		if len(c.Middleware) == 0 {
			return answer(ctx, data)
		}
		if header == nil {
			header = make(map[string][]string)
		}
		o := &Operation{Op: OpServe, Subject: name, Data: data, Header: header}
		err = through(ctx, c.Middleware, o, func(ctx context.Context) (err error) {
			result, err = answer(ctx, data)
			return err
		})
		return result, err
	}, c.handlerEnded)
}

// endpoint returns the connection's side of the protocol of calls. verb and name are for
// the error.
func (c *Conn) endpoint(ctx context.Context, verb, name string) (*rpc.Endpoint, error) {
	if err := c.check(ctx); err != nil || c.calls != nil {
		return c.calls, err
	}
	if err := c.making.Lock(ctx); err != nil {
		return nil, err
	}
	defer c.making.Unlock()
	if c.calls != nil {
		return c.calls, nil
	}
	if c.err != nil || c.background.Err() != nil { // the second is an end that has begun
		return nil, fmt.Errorf("nats: %s %s: %w", verb, shown(name), c.closed())
	}
	e, err := rpc.New(ctx, c.background, link{c})
	if err != nil && rondo.Check(ctx) == nil && c.background.Err() != nil {
		return nil, fmt.Errorf("nats: %s %s: %w", verb, shown(name), c.closed())
	}
	if err != nil {
		return nil, err
	}
	e.Mark(withinKey{c})
	c.calls = e
	return e, rondo.Check(ctx) // a Serve that does not begin must not be counted
}

// A link is the Transport of rpc on a Conn.
type link struct{ c *Conn }

// The headers of the protocol.
const (
	kindHeader    = "Rondo"
	timeoutHeader = "Rondo-Timeout"
	stackHeader   = "Rondo-Stack"

	headersMax = 64 // bytes that those of an answer take
)

var kinds = [...]string{
	rpc.Request: "request", rpc.Answer: "answer", rpc.Failure: "failure", rpc.Panic: "panic", rpc.Refused: "refused",
	rpc.Stopped: "stopped", rpc.Alive: "alive", rpc.Cancel: "cancel",
}

func (l link) Publish(ctx context.Context, m rpc.Message) error {
	p := op{subject: m.Subject, reply: m.Reply}
	if m.Kind == rpc.Request {
		p.verb = "call"
		if err := l.c.reach(ctx); err != nil {
			return p.failed(err)
		}
	}
	if !m.Quiet || m.Kind != rpc.Answer {
		p.header = make(natsgo.Header, len(m.Header)+2)
		maps.Copy(p.header, m.Header)
		p.header[kindHeader] = []string{kinds[m.Kind]}
		if m.Timeout > 0 {
			p.header[timeoutHeader] = []string{m.Timeout.String()}
		}
		if m.Stack {
			p.header[stackHeader] = []string{"1"}
		}
	}
	return l.c.publish(ctx, p, m.Data)
}

func (l link) Subscribe(ctx context.Context, subject, queue string, fn func(m rpc.Message)) (func(), error) {
	plain := rpc.Request
	// What is too much is refused, not dropped.
	s := &Subscription{conn: l.c, subject: subject, max: channelMax, bytes: heldBytes}
	if queue == "" { // an Inbox, to which only answers come, as many as are asked for
		plain, s.own, s.max, s.bytes = rpc.Answer, true, 1<<30, 0
	}
	s.fn = func(m *natsgo.Msg) {
		if m == nil {
			fn(rpc.Message{Kind: rpc.Closed, Err: drainedBy(s.err)})
			return
		}
		d := decode(m, plain)
		switch {
		case d.Reply == "" || checkPublish(d.Reply, "") == nil && l.c.answers(d.Reply):
		case s.own: // a heartbeat, which names where its worker listens
			d.Reply = ""
		default:
			l.c.reportLater(s, fmt.Errorf("nats: a message asks for an answer to %s, which is no inbox (Conn.ReplyAllowed), and was dropped: %w", shown(d.Reply), natsgo.ErrBadSubject))
			return
		}
		fn(d)
	}
	if err := l.c.subscribe(ctx, s, queue); err != nil {
		return nil, err
	}
	if s.own {
		return s.Close, nil
	}
	l.c.expose(1)
	return func() { l.c.expose(-1); s.unsubscribe() }, nil
}

func drainedBy(err error) error {
	if err == natsgo.ErrConnectionDraining {
		return rpc.ErrDrained
	}
	return err
}

func (l link) Inbox() string { return l.c.nc.NewInbox() }

// MaxPayload is at least 1 if it is known: if there is hardly room for the headers, an answer says
// little.
func (l link) MaxPayload() int {
	most := l.c.MaxPayload()
	if most <= 0 {
		return 0
	}
	return max(most-headersMax, 1)
}

// decode returns what a message of the client says. One without the headers of the
// protocol is plain.
func decode(m *natsgo.Msg, plain rpc.Kind) rpc.Message {
	out := rpc.Message{Subject: m.Subject, Reply: m.Reply, Kind: plain, Quiet: true, Data: m.Data}
	if m.Header == nil {
		return out
	}
	if noResponders(m) {
		out.Kind = rpc.Unreachable
		return out
	}
	if word := m.Header.Get(kindHeader); word != "" {
		out.Kind, out.Quiet = rpc.Unknown, false
		if k := slices.Index(kinds[:], word); k >= 0 {
			out.Kind = rpc.Kind(k)
		}
	}
	out.Timeout, _ = time.ParseDuration(m.Header.Get(timeoutHeader)) // 0, no limit, if it is none
	out.Stack = m.Header.Get(stackHeader) != ""
	if out.Kind == rpc.Request {
		out.Header = callersHeader(m.Header)
	}
	return out
}

// callersHeader returns the header without that of the protocol; nil if nothing is left.
func callersHeader(h natsgo.Header) (own map[string][]string) {
	for k, values := range h {
		if k == kindHeader || k == timeoutHeader || k == stackHeader {
			continue
		}
		if own == nil {
			own = make(map[string][]string, len(h))
		}
		own[k] = values
	}
	return own
}
