package httptask

// A connection is one client of an engine. Its Serve reads requests and answers them, in
// order, until it has used up what came; then the connection is idle.

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/errtree"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/peer"
	"github.com/rondo-go/rondo/internal/stdctx"
)

// A connection belongs to its loop, but for left and timed.
type connection struct {
	engine  *engine
	conn    net.Conn
	loop    kernel.Loop
	base    context.Context // of its requests
	tls     *tls.ConnectionState
	reply   atomic.Pointer[reply] // while a handler runs, or its answer is sent
	session session               // it goes on as one; nil: it does not
	remote  string
	started bool        // Serve was called
	heads   bool        // the head of a request is being read
	used    bool        // a request was read
	post    bool        // the last one was a POST
	limited bool        // a deadline for writing is set
	taken   bool        // a handler has taken it over
	broken  bool        // that handler has begun a session, and has not returned
	timed   atomic.Bool // a deadline for reading is set
	left    atomic.Bool // the client has ended its side, or reading or writing has failed
}

// A source reads a connection for a bufio.Reader, with a limit while it reads a head.
type source struct {
	n      *connection
	remain int64 // bytes that may still be read
	copies bool  // append what is read to raw
	raw    []byte
	lines  int // that a head may still have, while it is copied
}

const unlimited = 1 << 62

func (s *source) Read(p []byte) (int, error) {
	if s.remain <= 0 {
		return 0, io.EOF
	}
	if int64(len(p)) > s.remain {
		p = p[:s.remain]
	}
	k, err := s.n.read(p)
	s.remain -= int64(k)
	if s.copies {
		s.raw = append(s.raw, p[:k]...)
		if s.lines -= bytes.Count(p[:k], []byte("\n")); s.lines <= 0 {
			s.remain = 0
		}
	}
	return k, err
}

// read reads from the client. That the client has left cancels the handler, but not what
// the connection does.
func (n *connection) read(p []byte) (k int, err error) {
	if n.left.Load() && !n.taken {
		k, err = n.readShielded(p)
	} else {
		k, err = n.conn.Read(p)
	}
	if err != nil && !n.taken && !n.cancelled() {
		n.leave()
	}
	return k, err
}

func (n *connection) readShielded(p []byte) (k int, err error) {
	n.shield(func() { k, err = n.conn.Read(p) })
	return k, err
}

// write writes all of p to the client. If it fails, k bytes have been written.
func (n *connection) write(p []byte) (k int, err error) {
	if !n.left.Load() {
		if k, err = n.conn.Write(p); err == nil || !n.stillReads(err) {
			return k, err
		}
	}
	m, err := n.writeShielded(p[k:])
	return k + m, err
}

func (n *connection) writeShielded(p []byte) (k int, err error) {
	n.shield(func() { k, err = n.conn.Write(p) })
	return k, err
}

// stillReads reports whether err, of a write, says no more than that the client has ended its side
// meanwhile: it still reads.
func (n *connection) stillReads(err error) bool {
	return n.left.Load() && errtree.Is(err, context.Canceled)
}

// directly writes to the client past the buffers of the answer.
type directly struct{ n *connection }

func (d directly) Write(p []byte) (int, error) { return d.n.write(p) }

// shield calls fn, whose waits no cancellation ends if the caller is a task.
func (n *connection) shield(fn func()) {
	if !n.loop.Inside() {
		fn()
		return
	}
	_ = n.loop.Task().Shield(func(context.Context) error { fn(); return nil })
}

// cancelled reports whether the calling task's scope is cancelled, so that its waits fail.
func (n *connection) cancelled() bool {
	return n.loop.Inside() && n.loop.Task().Check() != nil
}

// leave notes that the client has ended its side, and cancels the handler. Any goroutine
// may call it.
func (n *connection) leave() {
	if w := n.reply.Load(); !n.left.Swap(true) && w != nil {
		w.scope.Cancel(nil)
		w.notify()
	}
}

// now is the time of the loop's turn. A goroutine for which a handler waits reads the clock.
func (n *connection) now() time.Time {
	d := n.loop.Driver()
	if !n.loop.Inside() {
		return d.Time(d.Now())
	}
	return d.Time(n.loop.Now())
}

// readBy sets the deadline for reading; the zero time means none. A goroutine of a handler may call
// it at the end of a body, while another one calls SetReadDeadline: as timed is changed before the
// deadline here, and after it there, no deadline is left of which timed does not say so.
func (n *connection) readBy(at time.Time) {
	if n.timed.Load() || !at.IsZero() {
		n.timed.Store(!at.IsZero())
		_ = n.conn.SetReadDeadline(at) // it fails if the connection is closed, as the Read will
	}
}

// writeBy is readBy for writing.
func (n *connection) writeBy(at time.Time) {
	if n.limited || !at.IsZero() {
		_ = n.conn.SetWriteDeadline(at)
		n.limited = !at.IsZero()
	}
}

// context calls the ConnContext of the server. What may be handed over to net/http, which calls
// it too, waits until the protocol is known.
func (n *connection) context() {
	if f := n.engine.http.ConnContext; f != nil {
		if n.base = f(n.engine.base, n.conn); n.base == nil {
			panic("ConnContext returned nil")
		}
	}
}

// waitForHead limits the time for the head of the first request.
func (n *connection) waitForHead() {
	if d := n.engine.headerTimeout(); d > 0 {
		n.readBy(n.now().Add(d))
	}
}

// setState calls the ConnState of the server.
func (n *connection) setState(s http.ConnState) {
	if f := n.engine.http.ConnState; f != nil {
		f(n.conn, s)
	}
}

// Closed is called when the connection has been closed. Nothing of it is left that a panic of
// ConnState could end, so the panic goes to the Runner's OnError.
func (n *connection) Closed() {
	defer func() {
		if n.loop.Recovers() {
			if v := recover(); v != nil {
				about := "ConnState of a http.Server"
				n.loop.Notice(about, &rondo.PanicError{Task: about, Value: v, Stack: debug.Stack()})
			}
		}
	}()
	if n.session == nil { // else its last state was StateHijacked
		n.setState(http.StateClosed)
	}
}

// Keeps is true of a connection that has not sent a request yet, and of one that goes on as a
// session of the program.
func (n *connection) Keeps() bool { return !n.used || n.session != nil }

// headAtEnd is how long the handshake, or the first request, of a connection may take to come when
// the server ends, as in net/http.
const headAtEnd = 5 * time.Second

// Ends limits the time for what has not come as a whole: the client may never send the rest. To
// net/http, too, a connection that waits for its next request is idle.
func (n *connection) Ends() {
	limit, handshake := n.engine.headerTimeout(), n.engine.secure != nil && n.tls == nil
	if handshake {
		limit = n.engine.handshakeLimit()
	}
	switch {
	case !n.heads && !handshake:
	case n.used:
		n.readBy(past)
	case limit <= 0 || limit > headAtEnd:
		n.readBy(n.now().Add(headAtEnd))
	}
}

// readsHead notes that a head is to be read.
func (n *connection) readsHead() {
	if n.heads = true; n.engine.ending.Load() {
		n.Ends()
	}
}

// Serve answers what has come. It is called when a Read would not wait.
func (n *connection) Serve(ctx context.Context) error {
	if n.session != nil {
		return n.resume(ctx)
	}
	x := newScratch(n)
	handsOver := false
	defer func() { // also for Goexit of a handler
		if handsOver || !n.taken && !x.stranded { // else the program has the reader
			x.release()
		}
	}()
	if !n.started {
		n.readsHead()
		if n.engine.other != nil && n.tls == nil && x.prefaced() {
			early, _ := x.in.Peek(x.in.Buffered())
			handsOver = true
			return n.handOver(bytes.Clone(early))
		}
		n.start()
	}
	for n.exchange(ctx, x) {
		if x.in.Buffered() == 0 {
			return nil
		}
	}
	switch {
	case !n.taken || n.broken:
		return io.EOF
	case n.session == nil:
		return peer.ErrTaken
	case x.in.Buffered() == 0:
		return nil
	}
	return n.converse(ctx, x.in)
}

// start is called when the first bytes have come, of HTTP/1.
func (n *connection) start() {
	n.started = true
	if n.engine.other != nil {
		n.context()
	}
	if a := n.conn.RemoteAddr(); a != nil {
		n.remote = a.String()
	}
}

// exchange reads a request and answers it. It reports whether the connection goes on.
func (n *connection) exchange(ctx context.Context, x *scratch) (again bool) {
	e := n.engine
	if n.used {
		n.readsHead()
		// The next request begins with its first bytes, and with it the time for its head.
		if _, err := x.in.Peek(4); err != nil || e.ending.Load() {
			return false
		}
		var by time.Time
		if d := e.headerTimeout(); d > 0 {
			by = n.now().Add(d)
		}
		n.readBy(by)
	}
	limit := e.headLimit()
	x.src.remain = limit
	w, err := n.readRequest(x)
	n.heads = false
	if d := e.http.WriteTimeout; d > 0 {
		n.writeBy(n.now().Add(d))
	}
	if x.src.remain != limit {
		n.setState(http.StateActive)
	}
	if e.ending.Load() && (n.used || err != nil) {
		return false
	}
	n.used = true
	if err != nil {
		n.refuse(ctx, err)
		return false
	}
	x.ctx, x.reply, x.again = ctx, w, false
	err = rondo.Contain(ctx, x.call)
	again, x.reply = x.again, nil
	if err != nil && !onlyAborts(err) && !onlyCancelled(ctx, err) && !onlyCancelled(n.base, err) && !onlyTimeOver(err) {
		e.logf("http: a task that a handler for %v has started: %+v", n.remote, err)
	}
	if w.late { // nothing uses the answer any more
		w.finish()
		again = w.reusable()
	}
	if n.taken || x.stranded {
		return false
	}
	n.writeBy(time.Time{}) // also if the handler has set it
	if !again {
		if w.lingers {
			n.linger(ctx)
		}
		return false
	}
	n.setState(http.StateIdle)
	if !e.keepsAlive() {
		return false
	}
	var by time.Time
	if d := e.idleTimeout(); d > 0 {
		by = n.now().Add(d)
	}
	n.readBy(by)
	return true
}

// followBase cancels the scope of a request when the context of the program that its own one
// descends from is cancelled, unless stop is called before. A panic of that context is the cause.
func (n *connection) followBase(g *rondo.Scope) (stop func() bool) {
	return stdctx.AfterDone(n.base, n.base.Done(), n.loop.GoFunc)(func() {
		g.Cancel(contain("the context of a http.Server", func() error { return context.Cause(n.base) }))
	})
}

// answer has the handler answer a request, in a scope of the request's own. It reports
// whether the connection can go on.
func (n *connection) answer(g *rondo.Scope, w *reply) (again bool) {
	e := n.engine
	w.scope = g
	n.reply.Store(w)
	w.context = replyContext{g, n}
	returned := false
	defer func() {
		if !returned {
			n.abandon(w, recover())
		}
		n.reply.Store(nil)
		if n.taken {
			e.take(g, false)
		}
	}()
	if n.left.Load() {
		g.Cancel(nil)
	}
	if n.base.Done() != nil {
		defer n.followBase(g)()
	}
	if expected := w.begin(); !expected {
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusExpectationFailed)
		n.finish(w)
		returned = true
		return false
	}
	if w.req.RequestURI == "*" && w.req.Method == http.MethodOptions && !e.http.DisableGeneralOptionsHandler {
		answerOptions(w, w.req)
	} else {
		serve(e.handler, w, w.req)
	}
	returned = true
	w.shut()
	switch {
	case n.taken:
		w.end()
		return false
	case kernel.Tasks(g) > 0 && w.quiet() && w.body.idle():
		n.finish(w) // those tasks may take their time to end, and the client does not wait for them
		return w.reusable()
	}
	// As with net/http, the context is done before the answer ends. Tasks that are in the middle of
	// a write, or of a read, end first.
	w.unwatch()
	w.late = true
	return false
}

// finish ends an answer in the scope of a request, in which no call is under way. What cancels the
// request, as the failure of one of its tasks, does not change the answer, so its waits are those
// of the connection.
func (n *connection) finish(w *reply) {
	_ = rondo.Group(w.x.ctx, func(*rondo.Scope) error {
		w.finish()
		return nil
	})
	if !w.done { // the connection is cancelled too
		w.finish()
	}
}

// answerOptions answers "OPTIONS *", as net/http does.
func answerOptions(w *reply, r *http.Request) {
	w.Header().Set("Content-Length", "0")
	if r.ContentLength == 0 {
		return
	}
	const most = 4 << 10
	_, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, most))
	if _, ok := err.(*http.MaxBytesError); ok {
		w.closes, w.lingers = true, true
	}
}

// abandon ends a request whose handler has panicked, or called Goexit. What the handler
// has written and is not held back goes out, as with net/http.
func (n *connection) abandon(w *reply, panicked any) {
	if panicked != nil && panicked != http.ErrAbortHandler {
		peer.Panicked(n.engine.counts)
		n.engine.logf("http: panic serving %v: %v\n%s", n.remote, panicked, debug.Stack())
	}
	if n.taken {
		n.broken = n.session != nil
		w.end()
		return
	}
	if w.shut(); !w.quiet() {
		w.strand()
		return
	}
	w.unwatch()
	w.answers()
	w.endBody()
	w.send(nil)
	w.end()
}

// linger ends the sending side and leaves the client time to read the answer: closing at
// once would reset the connection, because there is unread input (RFC 9112, section 9.6).
func (n *connection) linger(ctx context.Context) {
	if c, ok := n.conn.(halfCloser); ok {
		_ = c.CloseWrite()
	}
	_ = rondo.Sleep(ctx, lingering)
}

const lingering = 500 * time.Millisecond

// A scratch is what a connection needs while it does not idle.
type scratch struct {
	in    *bufio.Reader // from src
	src   *source
	held  *bufio.Writer // holds back the answer's body until its length is known or too large
	out   []byte        // bytes to send; outMax or fewer between two writes
	pairs []pair        // the header of the answer, as it was when the status was set

	stranded bool // a goroutine that the handler has left behind is still in the middle of a call

	call  func(ctx context.Context) error // answer, made once
	ctx   context.Context                 // in which it is called
	reply *reply                          // that answer makes
	again bool                            // and whether the connection goes on then
}

func newScratch(n *connection) *scratch {
	x := scratches.Get().(*scratch)
	x.src.n, x.src.remain = n, unlimited
	return x
}

// answer is called in the scope of a handler.
func (x *scratch) answer(ctx context.Context) error {
	x.again = x.reply.n.answer(ctx.(*rondo.Scope), x.reply)
	return nil
}

func (x *scratch) release() {
	x.src.n, x.ctx, x.reply = nil, nil, nil
	x.in.Reset(x.src)
	x.held.Reset(nil)
	clear(x.pairs)
	x.pairs = x.pairs[:0]
	scratches.Put(x)
}
