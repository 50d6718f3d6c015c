package nats

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	neturl "net/url"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	natsgo "github.com/nats-io/nats.go"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/nats/internal/report"
	"github.com/rondo-go/rondo/nats/internal/rpc"
)

// A Conn is a connection to a NATS server, for the tasks of one loop. All its methods but
// NC, MaxPayload and Subscription.Dropped are for that loop only.
//
// The client's functions that may block are called by the connection's own two
// goroutines, and never by a task.
type Conn struct {
	// ReplyAllowed says to which subjects the functions of Serve answer: the request names one,
	// and the worker publishes there with its own rights. nil means inboxes: subjects that begin
	// with _INBOX. or _INBOX_, with the InboxPrefix of the options, or with _R_., which the
	// server puts in place of an inbox of another account. If a request names another subject for
	// its reply, its function is not run, and the ErrorHandler of the options gets an error.
	// ReplyAllowed is called on the loop and must not change after the first call of Serve or
	// Call. Its panic is logged, and the reply is not allowed.
	ReplyAllowed func(subject string) bool

	// Middleware wraps what Publish, Request and Call send, and the functions of Handle, Serve,
	// and of a Worker with this Conn. It must not change after the first of these.
	Middleware []Middleware

	nc         *natsgo.Conn
	loop       *rondo.Loop
	dialer     *dialer
	onError    natsgo.ErrHandler // the user's; nil: slog
	out        outbox
	in         inbox
	goroutines sync.WaitGroup
	connected  chan struct{} // has a value after each change of the connection
	payload    atomic.Int64  // what the server accepts
	offline    atomic.Bool   // there is no connection, as far as the client has said

	// The rest is the loop's.
	err           error          // why nothing can be published any more; nil while it goes on
	online        rondo.WaitList // calls wait for a connection
	publishers    rondo.WaitList // they wait for room in the outbox
	granted       bool           // one of them was woken and has not put its message yet
	replies       string         // what the subjects of replies begin with
	requests      map[uint64]*request
	lastRequest   uint64
	subscriptions []*Subscription
	handlers      int            // tasks that hand messages to other tasks
	workers       []*jobs        // they are among the handlers
	draining      bool           // Drain was called, so there are no new ones
	drainers      rondo.WaitList // they wait until there are none
	calls         *rpc.Endpoint  // made by the first Call or Serve
	making        rondo.Mutex    // held while it is made

	outside  *rondo.Future[struct{}] // stands for the server, which may wake the loop
	waits    int                     // what waits for the server
	unexpose func() bool

	begin      func() (struct{}, bool)
	stop       func()
	background *rondo.Scope // owns the tasks of the connection itself
	scope      *rondo.Scope // that of Connect
	name       string       // the loop's, for other goroutines
}

// Defaults of Connect that differ from the client's, which are minutes. With them a server that
// hangs is left after three seconds, and a call through another server succeeds.
const (
	pingInterval  = time.Second
	reconnectWait = time.Second
	reconnects    = -1 // the scope says when a connection ends
)

// Connect connects to a server, as the client's Connect does, with the same options, and
// suspends the task meanwhile. url may name several servers, with commas between; Servers adds
// more. One of them is chosen at random, and another when that one is lost.
//
// Three defaults differ from the client's. PingInterval is 1 s, so that a server that hangs is
// left after 3 s and not after 6 minutes; ReconnectWait is 1 s; and MaxReconnects is -1, so the
// connection is tried again for as long as g lives. An option that sets one of them takes
// precedence.
//
// When g ends, after its other tasks have ended, what was
// published is sent and the connection is closed; if that takes longer than the
// DrainTimeout of the options, 30 s by default, it is cut off. The connection alone does
// not keep g from ending.
//
// If g is cancelled while it connects, Connect returns the cause. Otherwise its errors
// are the client's.
func Connect(g *rondo.Scope, url string, options ...natsgo.Option) (*Conn, error) {
	o := natsgo.GetDefaultOptions()
	o.PingInterval, o.ReconnectWait, o.MaxReconnect = pingInterval, reconnectWait, reconnects
	o.Servers = seeds(url)
	for _, option := range options {
		if option == nil {
			continue
		}
		if err := option(&o); err != nil {
			return nil, notConnected(url, err)
		}
	}
	c := &Conn{
		scope: g, name: rondo.LoopOf(g).Name(),
		loop: rondo.LoopOf(g), onError: o.AsyncErrorCB, connected: make(chan struct{}, 1),
		requests: make(map[uint64]*request), outside: rondo.NewFuture[struct{}](g),
	}
	c.out.filled.L = &c.out.mu
	c.in.ch, c.in.stop = make(chan *natsgo.Msg, channelMax), make(chan struct{})
	c.in.subs = make(map[*natsgo.Subscription]*Subscription)
	c.in.last = nobody
	c.in.early = make(map[*natsgo.Subscription][]*natsgo.Msg)
	c.watch(&o)
	nc, err := c.dial(g, o)
	if err != nil {
		return nil, notConnected(url, err)
	}
	c.nc = nc
	c.goroutines.Add(2)
	go c.write()
	go c.read()
	c.begin, c.stop = rondo.Pull(g, func(yield func(struct{}) bool) {
		_ = rondo.Shield(g, func(ctx context.Context) error { return c.live(ctx, func() { yield(struct{}{}) }) })
	})
	c.begin()
	c.replies = nc.NewInbox() + "."
	own := &Subscription{conn: c, subject: c.replies + "*", max: 1 << 30, own: true, fn: c.gotOwn}
	if err := c.subscribe(g, own, ""); err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

// seeds returns the servers that a URL names.
func seeds(url string) []string {
	var out []string
	for s := range strings.SplitSeq(url, ",") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// public returns the servers that a URL names, without their passwords and tokens.
func public(url string) string {
	out := seeds(url)
	for i, s := range out {
		scheme, rest, ok := strings.Cut(s, "://")
		if scheme += "://"; !ok {
			scheme, rest = "", s
		}
		if at := strings.LastIndexByte(rest, '@'); at >= 0 {
			out[i] = scheme + "xxxxx" + rest[at:]
		}
	}
	return strings.Join(out, ",")
}

// notConnected returns the error of a Connect that has failed. The error of a URL that cannot be
// parsed has all of it, and may quote a part of a password as the port.
func notConnected(url string, err error) error {
	if bad := (*neturl.Error)(nil); errors.As(err, &bad) && bad.Op == "parse" {
		if err = bad.Err; strings.Contains(bad.URL, "@") {
			err = errors.New("this is no URL; special characters of a user name or a password are percent-encoded, such as %40 for @")
		}
		err = fmt.Errorf("%s: %w", public(bad.URL), err)
	}
	return fmt.Errorf("nats: connect %s: %w", public(url), err)
}

// Servers is an option of Connect: further servers, each a URL or several with commas between.
// With Servers the url of Connect may be empty.
func Servers(urls ...string) natsgo.Option {
	return func(o *natsgo.Options) error {
		for _, url := range urls {
			o.Servers = append(o.Servers, seeds(url)...)
		}
		return nil
	}
}

// dial connects on a goroutine. A connection for which nobody waits any more is closed.
func (c *Conn) dial(ctx context.Context, o natsgo.Options) (*natsgo.Conn, error) {
	var mu sync.Mutex
	var made *natsgo.Conn
	left := false
	nc, err := rondo.Offload(ctx, func(context.Context) (*natsgo.Conn, error) {
		nc, err := o.Connect()
		if err == nil && !nc.IsConnected() { // RetryOnFailedConnect
			c.offline.Store(true)
			c.offline.Store(!nc.IsConnected()) // its callback may have come before
		}
		if err == nil {
			c.heed(nc)
		}
		mu.Lock()
		defer mu.Unlock()
		if err == nil && left {
			nc.Close()
		}
		made = nc
		return nc, err
	})
	if err != nil {
		mu.Lock()
		defer mu.Unlock()
		left = true
		if made != nil {
			go made.Close()
		}
	}
	return nc, err
}

// heed notes what the server accepts, if it has said so. The client's callbacks may be late: it
// calls them on a goroutine of its own, when Connect and Flush may have returned.
func (c *Conn) heed(nc *natsgo.Conn) {
	if n := nc.MaxPayload(); n > 0 {
		c.payload.Store(n)
	}
}

// watch puts the connection's own callbacks before the user's.
func (c *Conn) watch(o *natsgo.Options) {
	o.AsyncErrorCB = func(nc *natsgo.Conn, sub *natsgo.Subscription, err error) {
		if errors.Is(err, natsgo.ErrSlowConsumer) {
			c.slow(sub)
		}
		c.reportOf(nc, sub, err) // Connect may not have set c.nc yet
	}
	changed := func(next natsgo.ConnHandler) natsgo.ConnHandler {
		return func(nc *natsgo.Conn) {
			c.heed(nc)
			c.offline.Store(false)
			c.post(func() { c.online.WakeAll() })
			select {
			case c.connected <- struct{}{}:
			default:
			}
			if next != nil {
				next(nc)
			}
		}
	}
	o.ConnectedCB, o.ReconnectedCB = changed(o.ConnectedCB), changed(o.ReconnectedCB)
	lost, lostErr := o.DisconnectedCB, o.DisconnectedErrCB
	o.DisconnectedErrCB = func(nc *natsgo.Conn, err error) {
		c.offline.Store(true)
		switch {
		case lostErr != nil:
			lostErr(nc, err)
		case lost != nil:
			lost(nc)
		}
	}
	closed := changed(o.ClosedCB)
	o.ClosedCB = func(nc *natsgo.Conn) {
		why := closedBy(nc)
		c.post(func() { c.end(why) })
		closed(nc)
	}
	c.dialer = newDialer(o)
	o.CustomDialer = c.dialer
}

// NC returns the client's connection. Its functions may block, so a task calls them by
// rondo.Offload. Its state, such as its statistics, may be read anywhere.
func (c *Conn) NC() *natsgo.Conn { return c.nc }

// check returns the cause if ctx is cancelled, and an error if the caller is no task of the
// loop that c belongs to.
func (c *Conn) check(ctx context.Context) error {
	if err := rondo.Checkpoint(ctx); err != nil {
		return err
	}
	if l := rondo.LoopOf(ctx); l != c.loop {
		return fmt.Errorf("nats: the Conn belongs to %s and was used on %s: connect on each loop, or send what you have to the first one: %w", c.loop.Name(), l.Name(), rondo.ErrNoLoop)
	}
	return nil
}

// gotOwn is called with each message to the connection's own subject.
func (c *Conn) gotOwn(m *natsgo.Msg) {
	if m != nil {
		c.gotReply(m)
	}
}

// live is what runs for the connection itself, in a task of its own: until the scope that
// owns it ends, or stop is called.
func (c *Conn) live(ctx context.Context, yield func()) error {
	_ = rondo.Group(ctx, func(g *rondo.Scope) error {
		c.background = g
		yield()
		g.Cancel(nil)
		return nil
	})
	c.close(ctx)
	return nil
}

// close sends what is in the outbox and closes the connection.
func (c *Conn) close(ctx context.Context) {
	most := c.nc.Opts.DrainTimeout
	err := rondo.Timeout(ctx, most, func(ctx context.Context) error { return c.flush(ctx, most) })
	c.end(natsgo.ErrConnectionClosed)
	c.out.close()
	if err != nil {
		c.dialer.cut()
	}
	_ = rondo.OffloadFunc(ctx, func(context.Context) error {
		if n, bufErr := c.nc.Buffered(); err != nil && bufErr == nil && n > 0 {
			c.report(nil, fmt.Errorf("nats: %d bytes that were published were not sent: %w", n, err))
		}
		c.in.mu.Lock()
		for _, s := range c.in.subs {
			s.countLost()
		}
		c.in.mu.Unlock()
		c.nc.Close()
		close(c.in.stop)
		c.goroutines.Wait()
		return nil
	})
	// What the reader did not come to: tasks outside of the scope may wait for it.
	c.in.mu.Lock()
	marks := c.in.marks
	c.in.marks = nil
	c.in.mu.Unlock()
	for _, fn := range marks {
		fn()
	}
}

// closedBy returns why no more comes from a connection that the client has closed. The last
// error is shown and not wrapped, because it need not be the reason.
func closedBy(nc *natsgo.Conn) error {
	last := nc.LastError()
	if last == nil || errors.Is(last, natsgo.ErrConnectionClosed) {
		return natsgo.ErrConnectionClosed
	}
	return fmt.Errorf("%w, and its last error was: %v", natsgo.ErrConnectionClosed, last)
}

// closed is the error of what would use a connection that has ended.
func (c *Conn) closed() error { return cmp.Or(c.err, error(natsgo.ErrConnectionClosed)) }

// end ends what waits for messages, and what would publish.
func (c *Conn) end(why error) {
	if c.err != nil {
		return
	}
	c.err = why
	for len(c.subscriptions) > 0 {
		c.subscriptions[0].end(why)
	}
	for _, r := range c.requests {
		if r.reply == nil && r.err == nil {
			r.err = why
			r.waiting.Wake()
		}
	}
	c.publishers.WakeAll()
	c.online.WakeAll()
}

func (c *Conn) forget(s *Subscription) {
	c.subscriptions = slices.DeleteFunc(c.subscriptions, func(o *Subscription) bool { return o == s })
}

// Flush suspends the task until the server has received all that was published before, and
// what the server had sent by then has arrived. If ctx is cancelled first it returns the
// cause. If the connection is lost or closed meanwhile the error is the client's, and its
// ErrTimeout if the server has not answered for 10 s.
func (c *Conn) Flush(ctx context.Context) error { return c.flush(ctx, flushMax) }

// flush is Flush of a server that answers within so long.
func (c *Conn) flush(ctx context.Context, most time.Duration) error {
	if err := c.check(ctx); err != nil {
		return err
	}
	if c.err != nil {
		return fmt.Errorf("nats: flush: %w", c.err)
	}
	var flushed rondo.WaitList
	var failure error
	over := false
	put := c.out.put(op{do: func(nc *natsgo.Conn) {
		err := flush(nc, most)
		c.heed(nc)
		c.behindAll(func() {
			failure, over = err, true
			flushed.Wake()
		})
	}}, nil)
	if !put {
		return fmt.Errorf("nats: flush: %w", c.closed())
	}
	if !over {
		if err := c.wait(ctx, &flushed, "nats flush"); err != nil {
			return err
		}
	}
	if failure != nil {
		return fmt.Errorf("nats: flush: %w", failure)
	}
	return nil
}

// flushMax is how long the writer waits for the server's answer, during which it sends
// nothing else.
const flushMax = 10 * time.Second

func flush(nc *natsgo.Conn, most time.Duration) error {
	if nc.Status() != natsgo.CONNECTED {
		return natsgo.ErrDisconnected
	}
	return nc.FlushTimeout(most)
}

// wait parks the task. Meanwhile the loop is not in deadlock: the server is outside.
func (c *Conn) wait(ctx context.Context, list *rondo.WaitList, what string) error {
	c.expose(1)
	defer c.expose(-1)
	return list.Park(ctx, rondo.Reason{What: what})
}

// expose notes that n more wait for the server.
func (c *Conn) expose(n int) {
	c.waits += n
	switch {
	case c.waits > 0 && c.unexpose == nil:
		c.unexpose = c.outside.OnDone(func() {})
	case c.waits == 0 && c.unexpose != nil:
		c.unexpose()
		c.unexpose = nil
	}
}

// post runs fn on the loop. After the end of the loop nobody waits for it.
func (c *Conn) post(fn func()) { _ = c.loop.Post(fn) }

// report hands an error that no caller can be told to the user's ErrorHandler. A panic of that
// is logged: the goroutine may be the client's.
func (c *Conn) report(sub *natsgo.Subscription, err error) { c.reportOf(c.nc, sub, err) }

func (c *Conn) reportOf(nc *natsgo.Conn, sub *natsgo.Subscription, err error) {
	subject := ""
	if sub != nil {
		subject = sub.Subject
	}
	if c.onError == nil {
		report.Log(context.Background(), slog.LevelError, "nats: an error for which nobody waits", "subject", subject, "err", err)
		return
	}
	defer func() {
		if v := recover(); v != nil {
			report.Log(context.Background(), slog.LevelError, "nats: the ErrorHandler panicked with this error",
				"subject", subject, "err", err, "panic", report.Text("%v", v), "stack", string(debug.Stack()))
		}
	}()
	c.onError(nc, sub, err)
}

// reportGap reports that messages of s were dropped.
func (c *Conn) reportGap(s *Subscription) { c.reportLater(s, natsgo.ErrSlowConsumer) }

// reportLater reports an error of s in a task. While that is being done for s it is not done
// again.
func (c *Conn) reportLater(s *Subscription, err error) {
	if s.reporting || c.background.Err() != nil {
		return
	}
	s.reporting = true
	c.background.Go(func(ctx context.Context) error {
		defer func() { s.reporting = false }()
		return rondo.Shield(ctx, func(ctx context.Context) error {
			return rondo.OffloadFunc(ctx, func(context.Context) error {
				c.report(s.sub, err)
				return nil
			})
		})
	}).SetName("nats report")
}

// answers reports whether the function of a Serve may answer to a subject.
func (c *Conn) answers(reply string) (allowed bool) {
	if c.ReplyAllowed != nil {
		defer func() { // it is called in a callback, of which a panic ends the loop
			if v := recover(); v != nil {
				report.Log(context.Background(), slog.LevelError, "nats: ReplyAllowed panicked, so the answer is not allowed",
					"reply", shown(reply), "panic", report.Text("%v", v), "stack", string(debug.Stack()))
			}
		}()
		return c.ReplyAllowed(reply)
	}
	for _, inbox := range [...]string{"_INBOX.", "_INBOX_", "_R_."} {
		if strings.HasPrefix(reply, inbox) {
			return true
		}
	}
	own, ok := strings.CutPrefix(reply, c.nc.Opts.InboxPrefix)
	return ok && c.nc.Opts.InboxPrefix != "" && strings.HasPrefix(own, ".")
}

// slow notes that the client has dropped messages of sub.
func (c *Conn) slow(sub *natsgo.Subscription) {
	c.in.mu.Lock()
	s := c.in.subs[sub]
	if s != nil {
		c.gap(s)
	}
	wake := c.in.wake()
	c.in.mu.Unlock()
	if wake {
		c.post(c.deliver)
	}
}

func encodeID(id uint64) string { return strconv.FormatUint(id, 36) }

func decodeID(token string) (uint64, bool) {
	id, err := strconv.ParseUint(token, 36, 64)
	return id, err == nil
}
