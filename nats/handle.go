package nats

import (
	"context"
	"log/slog"
	"math"
	"reflect"
	"slices"

	natsgo "github.com/nats-io/nats.go"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/nats/internal/report"
)

// The limits of the messages that wait for a task of Handle, and of the requests of a Serve that
// wait for the loop.
const (
	heldMax   = 4096     // messages, besides those that have a task
	heldBytes = 64 << 20 // the client's default for a subscription
)

// Handle runs fn in a task for each message of subject. At most limit run at once; up to 4,096
// more messages, and limit besides, wait for their turn, as long as they have less than 64 MiB
// together; those beyond that are dropped, and the ErrorHandler of the options gets
// ErrSlowConsumer. If queue is not "", the servers hand each message to one of those that listen
// with the same queue.
//
// Handle suspends the task until the subscription is on its way, and returns; g owns the tasks,
// which are named for the message's subject. It goes on until g is cancelled, or c is drained or
// closed. When g is cancelled, messages that still wait for a task are dropped; Drain waits until
// they are handled. fn has a scope of its own, as rondo.Contain gives it: it owns the tasks that
// fn starts with its ctx. An error or a panic of fn, or of such a task, is logged; other messages
// are handled. If the connection is closed for good, the error of g wraps the client's
// ErrConnectionClosed. Once Drain has begun, the error of Handle wraps ErrConnectionDraining. It
// panics if limit is not positive.
func (c *Conn) Handle(g *rondo.Scope, subject, queue string, limit int, fn func(ctx context.Context, m *natsgo.Msg) error) error {
	if limit <= 0 {
		panic("nats: Handle with a limit that is not positive")
	}
	if fn == nil {
		panic("nats: Handle with a nil function")
	}
	if err := c.check(g); err != nil {
		return err
	}
	c.handlers++ // before it suspends, so that Drain waits for it
	s := &Subscription{conn: c, subject: subject, max: heldMax + min(int64(limit), math.MaxInt64-heldMax), bytes: heldBytes}
	if err := c.subscribe(g, s, queue); err != nil {
		c.handlerEnded()
		return err
	}
	t := g.Go(func(ctx context.Context) error {
		defer c.handlerEnded()
		defer s.unsubscribe()
		return c.handle(ctx, s, limit, fn)
	})
	t.SetName("handle " + subject)
	return nil
}

// handle runs fn for each message.
func (c *Conn) handle(ctx context.Context, s *Subscription, limit int, fn func(ctx context.Context, m *natsgo.Msg) error) error {
	room := rondo.NewSemaphore(limit)
	return rondo.Group(within(ctx, c), func(g *rondo.Scope) error {
		for {
			if err := room.Acquire(g); err != nil {
				return err
			}
			m, err := s.Next(g)
			switch {
			case err == nil:
			case err == natsgo.ErrConnectionDraining:
				return nil
			case err == natsgo.ErrSlowConsumer:
				c.reportGap(s)
				room.Release()
				continue
			default:
				return err
			}
			g.Go(func(ctx context.Context) error {
				defer room.Release()
				c.handleOne(ctx, m, fn)
				return nil
			}).SetName(m.Subject)
		}
	})
}

// handleOne runs fn for one message. What fails in it fails nothing else.
func (c *Conn) handleOne(ctx context.Context, m *natsgo.Msg, fn func(ctx context.Context, m *natsgo.Msg) error) {
	err := rondo.Contain(ctx, func(ctx context.Context) error {
		if len(c.Middleware) == 0 {
			return fn(ctx, m)
		}
		if m.Header == nil {
			m.Header = make(natsgo.Header)
		}
		o := &Operation{Op: OpHandle, Subject: m.Subject, Data: m.Data, Header: m.Header}
		return through(ctx, c.Middleware, o, func(ctx context.Context) error { return fn(ctx, m) })
	})
	// Danger: == panics if both are of a type that cannot be compared.
	if err != nil && (ctx.Err() == nil || !reflect.DeepEqual(err, context.Cause(ctx))) {
		report.Log(ctx, slog.LevelError, "nats: the function of Handle failed", "subject", m.Subject, "err", report.Text("%+v", err))
	}
}

// A withinKey has a value in the ctx of a function for whose end Drain of owner waits.
type withinKey struct{ owner any }

// within returns the ctx of such functions.
func within(ctx context.Context, owner any) context.Context {
	return context.WithValue(ctx, withinKey{owner}, true)
}

// mustBeOutside panics if a function for which Drain of owner waits calls it.
func mustBeOutside(ctx context.Context, owner any, text string) {
	if ctx.Value(withinKey{owner}) != nil {
		panic("nats: " + text)
	}
}

// handlerEnded is called when a task that hands messages to others has ended, and so have
// those.
func (c *Conn) handlerEnded() {
	c.handlers--
	if c.handlers == 0 {
		c.drainers.WakeAll()
	}
}

// Drain shuts the connection down gracefully: no more messages are taken, Subscribe, Handle, Serve
// and Work return an error that wraps the client's ErrConnectionDraining, what has arrived is
// handled, the functions of Handle and Serve that run end by themselves, and so do the jobs
// of a Worker with this Conn, what they published is sent, and the connection is closed. Next
// returns what has arrived, and then the client's ErrConnectionDraining. Drain suspends the
// task until all that is done. If ctx is cancelled first it returns the cause, and without a
// connection to a server the client's ErrDisconnected; the connection goes on until its scope
// ends, without new messages, and a further Drain goes on with the rest. Called by a function of
// Handle or Serve, or by a job of a Worker with this Conn, Drain would wait for itself: it panics.
func (c *Conn) Drain(ctx context.Context) error {
	mustBeOutside(ctx, c, "Conn.Drain in a function of Handle or Serve, or in a job, of the same Conn would wait for itself: call it in a task of the scope around Connect")
	if err := c.check(ctx); err != nil {
		return err
	}
	c.draining = true
	for _, j := range c.workers {
		j.drain()
	}
	draining := slices.DeleteFunc(slices.Clone(c.subscriptions), func(s *Subscription) bool { return s.own })
	for _, s := range draining {
		if !s.closing {
			s.closing = true
			c.out.put(op{do: func(nc *natsgo.Conn) { drainAt(nc, s.sub) }}, nil)
		}
	}
	if err := c.Flush(ctx); err != nil {
		return err
	}
	for _, s := range draining {
		s.end(natsgo.ErrConnectionDraining)
		c.out.put(op{do: func(*natsgo.Conn) { c.shut(s) }}, nil)
	}
	for c.handlers > 0 {
		if err := c.drainers.Park(ctx, rondo.Reason{What: "nats drain"}); err != nil {
			return err
		}
	}
	c.stop()
	return nil
}

// drainAt has the client drain a subscription. Without a connection it would tell no server, and
// subscribe again at the next one, which would then give a member of a queue messages that nobody
// takes. What has arrived is handled in any case. Both fail only if the connection has ended.
func drainAt(nc *natsgo.Conn, sub *natsgo.Subscription) {
	if nc.IsReconnecting() {
		_ = sub.Unsubscribe()
		return
	}
	_ = sub.Drain()
}
