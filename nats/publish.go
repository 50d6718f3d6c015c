package nats

import (
	"cmp"
	"context"
	"fmt"

	natsgo "github.com/nats-io/nats.go"

	"github.com/rondo-go/rondo"
)

// Publish publishes data under subject. It returns when data was copied into the
// outbox, from which one goroutine hands it to the client. If the outbox holds 1 MiB
// already, because the server does not read or there is no connection, Publish suspends
// the task until there is room; if ctx is cancelled first it returns the cause, and
// nothing was published.
//
// Delivery is at most once. The error wraps the client's ErrMaxPayload if data is larger
// than the server accepts, ErrBadSubject if subject has a wildcard, an empty part or a
// blank, or more than 4,056 bytes together with a reply, or ErrConnectionClosed. What fails
// later, such as a permission, goes to the ErrorHandler of the options.
func (c *Conn) Publish(ctx context.Context, subject string, data []byte) error {
	return c.publishThrough(ctx, op{subject: subject}, data)
}

// PublishMsg is Publish of a message with headers. The header must not be changed
// afterwards.
func (c *Conn) PublishMsg(ctx context.Context, m *natsgo.Msg) error {
	if m == nil {
		panic("nats: Conn.PublishMsg with a nil message")
	}
	return c.publishThrough(ctx, op{subject: m.Subject, reply: m.Reply, header: m.Header}, m.Data)
}

func (c *Conn) publishThrough(ctx context.Context, p op, data []byte) error {
	if len(c.Middleware) == 0 {
		return c.publish(ctx, p, data)
	}
	return c.sendThrough(ctx, OpPublish, p, data, func(ctx context.Context, p op) error { return c.publish(ctx, p, data) })
}

// publish puts a message into the outbox, when there is room.
func (c *Conn) publish(ctx context.Context, p op, data []byte) error {
	if err := c.check(ctx); err != nil {
		return err
	}
	if err := checkPublish(p.subject, p.reply); err != nil {
		return p.failed(err)
	}
	if most, n := c.MaxPayload(), headerSize(p.header)+len(data); most > 0 && n > most {
		return p.failed(fmt.Errorf("%w: %d bytes, and the server accepts %d", natsgo.ErrMaxPayload, n, most))
	}
	// Those that wait for room go first, one after the other.
	if c.granted || c.publishers.Len() > 0 || c.out.full() {
		if err := c.wait(ctx, &c.publishers, "nats publish"); err != nil {
			return err
		}
		c.granted = false
		defer c.grant()
	}
	if c.err != nil || !c.out.put(p, data) {
		return p.failed(c.closed())
	}
	return nil
}

// grant wakes the task that has waited longest for room, if there is room.
func (c *Conn) grant() {
	if !c.granted && c.publishers.Len() > 0 && !c.out.full() {
		c.granted = c.publishers.Wake()
	}
}

// MaxPayload returns how many bytes the server accepts in one message, headers included;
// 0 before the first connection. It never suspends, and never waits for the client.
func (c *Conn) MaxPayload() int { return int(c.payload.Load()) }

// headerSize returns how many bytes a header takes.
func headerSize(h natsgo.Header) int {
	if len(h) == 0 {
		return 0
	}
	n := len("NATS/1.0\r\n\r\n")
	for k, values := range h {
		for _, v := range values {
			n += len(k) + len(v) + len(": \r\n")
		}
	}
	return n
}

// failed says what failed: a publish, a request or a call.
func (p *op) failed(err error) error {
	return fmt.Errorf("nats: %s %s: %w", cmp.Or(p.verb, "publish"), shown(p.subject), err)
}

func errUnsent(n int) error {
	return fmt.Errorf("nats: %d published messages were not sent: %w", n, natsgo.ErrConnectionClosed)
}

// A request waits for its reply.
type request struct {
	waiting rondo.WaitList
	subject string
	reply   *natsgo.Msg
	err     error
}

// Request publishes data under subject and suspends the task until the first reply. If
// ctx is cancelled first it returns the cause; the request may have been received. Use
// rondo.Timeout to limit the wait: there is no limit otherwise. If nobody listens to
// subject, the error wraps the client's ErrNoResponders. The other errors are those of
// Publish.
func (c *Conn) Request(ctx context.Context, subject string, data []byte) (*natsgo.Msg, error) {
	return c.requestThrough(ctx, op{verb: "request", subject: subject}, data)
}

// RequestMsg is Request of a message with headers. Its Reply is not used. The header must not be
// changed afterwards.
func (c *Conn) RequestMsg(ctx context.Context, m *natsgo.Msg) (*natsgo.Msg, error) {
	if m == nil {
		panic("nats: Conn.RequestMsg with a nil message")
	}
	return c.requestThrough(ctx, op{verb: "request", subject: m.Subject, header: m.Header}, m.Data)
}

func (c *Conn) requestThrough(ctx context.Context, p op, data []byte) (reply *natsgo.Msg, err error) {
	if len(c.Middleware) == 0 {
		return c.request(ctx, p, data)
	}
	err = c.sendThrough(ctx, OpRequest, p, data, func(ctx context.Context, p op) (err error) {
		reply, err = c.request(ctx, p, data)
		return err
	})
	if err == nil && reply == nil {
		err = fmt.Errorf("nats: request %s: a Middleware returned nil and did not call next, so there is no reply", shown(p.subject))
	}
	if err != nil {
		return nil, err
	}
	return reply, nil
}

// request sends a request and waits for its reply.
func (c *Conn) request(ctx context.Context, p op, data []byte) (*natsgo.Msg, error) {
	if err := c.check(ctx); err != nil {
		return nil, err
	}
	c.lastRequest++
	id := c.lastRequest
	r := &request{subject: p.subject}
	r.waiting.Of = &r.subject
	c.requests[id] = r
	defer delete(c.requests, id)
	p.reply, p.request = c.replies+encodeID(id), id
	if err := c.publish(ctx, p, data); err != nil {
		return nil, err
	}
	if r.reply == nil && r.err == nil {
		if err := c.wait(ctx, &r.waiting, "nats reply"); err != nil {
			return nil, err
		}
	}
	if r.err != nil {
		return nil, fmt.Errorf("nats: request %s: %w", shown(p.subject), r.err)
	}
	return r.reply, nil
}

// gotReply is called on the loop with each message to the connection's own subject.
func (c *Conn) gotReply(m *natsgo.Msg) {
	id, ok := decodeID(m.Subject[len(c.replies):])
	r := c.requests[id]
	if !ok || r == nil || r.reply != nil || r.err != nil {
		return // a second reply, or one for which nobody waits
	}
	if noResponders(m) {
		r.err = natsgo.ErrNoResponders
	} else {
		r.reply = m
	}
	r.waiting.Wake()
}

// failRequest ends a request that will have no reply.
func (c *Conn) failRequest(id uint64, err error) {
	if r := c.requests[id]; r != nil && r.reply == nil && r.err == nil {
		r.err = err
		r.waiting.Wake()
	}
}

// noResponders reports whether m is the server's answer to what nobody listens to.
func noResponders(m *natsgo.Msg) bool {
	return len(m.Data) == 0 && m.Header != nil && m.Header.Get("Status") == "503"
}
