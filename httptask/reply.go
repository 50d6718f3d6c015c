package httptask

// A reply is the http.ResponseWriter of an engine.
//
// Its parts are in the order of net/http's: what the handler writes is held back up to
// 2 KiB, which decides between a length and chunks and where chunks are cut; then comes
// what is to be sent, up to 4 KiB. So the bytes are net/http's. An answer that fits is one
// system call.
//
// The law: a cancellation ends waits and never changes the framing. That the client has
// ended its side ends no write, because it may still read. A write that any other
// cancellation has ended fails for good, and with it the answer: the client does not get
// its end.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"path"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/peer"
	"github.com/rondo-go/rondo/socket"
)

type reply struct {
	n       *connection
	x       *scratch      // nil when the answer has ended
	req     *http.Request // the handler's
	orig    *http.Request // ReadRequest's: trailers come to it
	scope   *rondo.Scope  // of the handler
	context replyContext
	body    *payload   // nil: none
	expect  *continuer // nil: the client does not wait for 100 Continue

	header   http.Header
	asked    bool  // Header was called
	frozen   bool  // scratch.pairs is the header as it was when the status was set
	status   int   // 0: none yet
	length   int64 // Content-Length, or -1
	written  int64
	trailers []string

	sent      bool // the head is made
	chunked   bool
	closes    bool // the connection ends after this answer
	lingers   bool // and there is unread input
	done      bool // the handler has returned, and nothing uses the answer any more
	late      bool // it ends when the handler's scope has ended
	keep10    bool // HTTP/1.0 with "Connection: keep-alive"
	wantClose bool // the client wants the connection to end
	duplex    bool
	watching  bool
	err       error // of sending

	calls   atomic.Int32 // under way, of the handler and what it has started; see enter
	writing fd.Lock      // held by the one of them that writes
	cut     atomic.Bool  // a cancellation has ended a wait for that

	notifying sync.Mutex // guards the rest
	notified  bool       // gone has got its value
	gone      chan bool  // CloseNotify's
}

func newReply(n *connection, x *scratch, r *http.Request, preface bool) *reply {
	w := &reply{n: n, x: x, orig: r, header: make(http.Header), length: -1, closes: preface, wantClose: r.Close}
	if c := r.Header["Connection"]; len(c) > 0 {
		w.keep10 = r.ProtoMajor == 1 && r.ProtoMinor == 0 && hasToken(c[0], "keep-alive")
		w.wantClose = w.wantClose || hasToken(c[0], "close")
	}
	x.held.Reset((*cutter)(w))
	x.out = x.out[:0]
	return w
}

// begin makes the handler's request. It reports whether the server meets its expectation.
func (w *reply) begin() (expected bool) {
	r := w.orig
	w.req = r.WithContext(&w.context)
	if r.Body == http.NoBody {
		w.watch()
	} else {
		w.body = &payload{w: w, inner: r.Body, left: r.ContentLength, ends: r.Close}
		w.req.Body = w.body
	}
	if v := r.Header["Expect"]; len(v) > 0 && v[0] != "" {
		if !hasToken(v[0], "100-continue") {
			return false
		}
		if r.ProtoAtLeast(1, 1) && w.body != nil {
			w.expect = &continuer{payload: w.body}
			w.req.Body = w.expect
		}
	}
	return true
}

// answers is called when the handler does not want a body any more that the client has not
// been told to send: it is not told from now on, and may never send it.
func (w *reply) answers() {
	if w.expect != nil {
		w.expect.decide(unasked)
	}
}

// A cutter takes the body in the pieces that go into chunks.
type cutter reply

func (c *cutter) Write(p []byte) (int, error) {
	w := (*reply)(c)
	if !w.sent {
		w.head(p)
	}
	if w.req.Method == http.MethodHead {
		return len(p), nil
	}
	if w.chunked {
		w.x.out = strconv.AppendInt(w.x.out, int64(len(p)), 16)
		w.x.out = append(w.x.out, "\r\n"...)
	}
	w.put(p)
	if w.chunked {
		w.x.out = append(w.x.out, "\r\n"...)
	}
	if w.err != nil {
		return 0, w.err
	}
	return len(p), nil
}

// joinMax is the largest piece that is copied to be sent with what is before it: a system
// call costs more than copying that.
const joinMax = 64 << 10

// put adds p to what is to be sent.
func (w *reply) put(p []byte) {
	x := w.x
	switch {
	case len(x.out)+len(p) <= outMax:
		x.out = append(x.out, p...)
	case len(p) <= joinMax:
		x.out = append(x.out, p...)
		w.send(nil)
	default:
		w.send(nil)
		w.send(p)
	}
}

// send sends p, or what is to be sent if p is nil.
func (w *reply) send(p []byte) {
	if p == nil {
		p = w.x.out
		w.x.out = w.x.out[:0]
	}
	if w.err == nil && w.cut.Load() {
		w.err = errCut
	}
	if len(p) == 0 || w.err != nil {
		return
	}
	if _, w.err = w.n.write(p); w.err != nil && !w.n.cancelled() {
		w.n.leave()
	}
}

// errCut is the error of what comes after a Write that a cancellation has ended.
var errCut = errors.New("rondo: httptask: the answer was cut by a Write that was cancelled")

// takeTurn waits until no other task, or goroutine, of the handler writes: a Write that waits for
// the client is in the middle of the buffers. It fails as a write does.
func (w *reply) takeTurn() (err error) {
	if w.writing.Try() {
		return nil
	}
	n := w.n
	if !n.left.Load() {
		err = w.writing.Take(n.loop, fd.TaskOf(n.loop, "Write"))
		if err == nil || !n.stillReads(err) {
			w.cut.CompareAndSwap(false, err != nil)
			return err
		}
	}
	n.shield(func() { err = w.writing.Take(n.loop, fd.TaskOf(n.loop, "Write")) })
	return err
}

func (w *reply) endTurn() { w.writing.Release(w.n.loop) }

// over is the number of calls of a reply whose handler has returned, while none is under way.
const over = math.MinInt32

// enter begins a call. It fails when the handler has returned.
func (w *reply) enter() bool {
	for {
		n := w.calls.Load()
		if n < 0 {
			return false
		}
		if w.calls.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// exit ends a call.
func (w *reply) exit() { w.calls.Add(-1) }

// shut lets no more calls begin: the handler has returned.
func (w *reply) shut() {
	if !w.isOver() {
		w.calls.Add(over)
	}
}

func (w *reply) isOver() bool { return w.calls.Load() < 0 }

// quiet reports whether no call is under way, and none can begin.
func (w *reply) quiet() bool { return w.calls.Load() == over }

// strand leaves the answer to a goroutine that the handler has not waited for, such as that of an
// Offload which was cancelled: it is in the middle of a call, so the buffers are its own from now
// on. The connection ends, and the client sees that the answer is cut.
func (w *reply) strand() {
	w.x.stranded = true
	w.reset()
	w.removeForm()
}

func (w *reply) Header() http.Header {
	if !w.enter() {
		return w.header
	}
	defer w.exit()
	if !w.frozen && w.status != 0 && !w.sent {
		w.freeze()
	}
	w.asked = true
	return w.header
}

func bodyAllowed(status int) bool {
	return !(status >= 100 && status <= 199) && status != http.StatusNoContent && status != http.StatusNotModified
}

func (w *reply) WriteHeader(code int) {
	entered := w.enter()
	if entered {
		defer w.exit()
		if w.takeTurn() != nil {
			return
		}
		defer w.endTurn()
	}
	switch {
	case w.n.taken:
		w.complain("response.WriteHeader on hijacked connection")
		return
	case !entered:
		w.complain("response.WriteHeader after the handler has returned")
		return
	case w.status != 0:
		w.complain("superfluous response.WriteHeader call")
		return
	case code < 100 || code > 999:
		panic(fmt.Sprintf("invalid WriteHeader code %v", code))
	}
	switch {
	case code >= 200:
		w.answers()
	case code == http.StatusContinue && w.expect != nil:
		w.expect.decide(told)
	}
	if code >= 100 && code <= 199 && code != http.StatusSwitchingProtocols {
		w.inform(code)
		return
	}
	w.setStatus(code)
}

// setStatus sets the status of the answer.
func (w *reply) setStatus(code int) {
	w.status = code
	if w.asked && !w.frozen {
		w.freeze()
	}
	if v := w.header["Content-Length"]; len(v) > 0 && v[0] != "" {
		if k, err := strconv.ParseInt(v[0], 10, 64); err == nil && k >= 0 {
			w.length = k
		} else {
			w.n.engine.logf("http: invalid Content-Length of %q", v[0])
			w.header.Del("Content-Length")
		}
	}
}

func (w *reply) complain(what string) {
	f := userFrame()
	w.n.engine.logf("http: %s from %s (%s:%d)", what, f.Function, path.Base(f.File), f.Line)
}

func (w *reply) Write(p []byte) (int, error) {
	if !w.enter() {
		return 0, w.tooLate(len(p))
	}
	defer w.exit()
	if err := w.takeTurn(); err != nil {
		return 0, err
	}
	defer w.endTurn()
	if ok, err := w.mayWrite(len(p)); !ok {
		return 0, err
	}
	return w.x.held.Write(p)
}

func (w *reply) WriteString(s string) (int, error) {
	if !w.enter() {
		return 0, w.tooLate(len(s))
	}
	defer w.exit()
	if err := w.takeTurn(); err != nil {
		return 0, err
	}
	defer w.endTurn()
	if ok, err := w.mayWrite(len(s)); !ok {
		return 0, err
	}
	return w.x.held.WriteString(s)
}

// mayWrite reports whether n bytes of a body may be written, and are any.
func (w *reply) mayWrite(n int) (bool, error) {
	if w.n.taken {
		return false, w.tooLate(n)
	}
	w.answers()
	if w.status == 0 {
		w.setStatus(http.StatusOK)
	}
	if n == 0 {
		return false, nil
	}
	if !bodyAllowed(w.status) {
		return false, http.ErrBodyNotAllowed
	}
	w.written += int64(n)
	if w.length != -1 && w.written > w.length {
		return false, http.ErrContentLength
	}
	return true, nil
}

// tooLate is the error of a call that writes n bytes when the answer is not the handler's any more.
func (w *reply) tooLate(n int) error {
	if !w.n.taken {
		return errOver
	}
	if n > 0 {
		w.complain("response.Write on hijacked connection")
	}
	return http.ErrHijacked
}

// finish sends what is left of the answer, and ends it.
func (w *reply) finish() {
	if w.shut(); !w.quiet() {
		w.strand()
		return
	}
	w.done = true
	w.answers()
	if w.status == 0 {
		w.setStatus(http.StatusOK)
	}
	_ = w.x.held.Flush() // its error is w.err
	if !w.sent {
		w.head(nil)
	}
	if w.chunked {
		w.x.out = append(w.x.out, "0\r\n"...)
		w.writeTrailers()
		w.x.out = append(w.x.out, "\r\n"...)
	}
	w.send(nil)
	w.unwatch()
	w.endBody()
	if w.err != nil && !w.chunked && w.length == -1 {
		w.reset()
	}
	w.end()
}

// removeForm removes the files that the handler's request, if it was made, has for a form.
func (w *reply) removeForm() {
	if r := w.req; r != nil && r.MultipartForm != nil {
		_ = r.MultipartForm.RemoveAll()
	}
}

// endBody reads what the handler has left of the body. A client that was not told to send it may
// wait for the end of the connection instead.
func (w *reply) endBody() {
	switch {
	case w.expect.unasked():
		w.lingers = true
	case w.body != nil:
		err := w.body.Close()
		w.closes = w.closes || err != nil
	}
}

// reset makes the end of the connection an error for the client: nothing else shows that
// an answer without a length is cut.
func (w *reply) reset() {
	c := w.n.conn
	t, secured := c.(*socket.TLSConn)
	if secured {
		c = t.NetConn()
	}
	if c, ok := c.(interface{ SetLinger(seconds int) error }); ok {
		_ = c.SetLinger(0)
	}
	if secured {
		_ = c.Close() // without close_notify
	}
}

// end is called when nothing more is written.
func (w *reply) end() {
	w.shut()
	w.unwatch()
	if !w.n.taken {
		w.removeForm()
		if w.body != nil && !w.body.shut() {
			w.x.stranded = true
		}
	}
	w.x = nil
}

// reusable reports whether the next request may follow.
func (w *reply) reusable() bool {
	if w.x != nil { // it is stranded
		return false
	}
	w.lingers = w.lingers || w.cutOff()
	if w.closes || w.err != nil || w.lingers {
		return false
	}
	if w.req.Method != http.MethodHead && w.length != -1 && bodyAllowed(w.status) && w.length != w.written {
		return false
	}
	return true
}

// cutOff reports whether the body was closed before its end.
func (w *reply) cutOff() bool { return w.body != nil && w.body.cutOff }

func (w *reply) Flush() { _ = w.FlushError() }

func (w *reply) FlushError() error {
	if !w.enter() {
		if w.n.taken {
			return http.ErrHijacked
		}
		return errOver
	}
	defer w.exit()
	if err := w.takeTurn(); err != nil {
		return err
	}
	defer w.endTurn()
	if w.n.taken {
		return http.ErrHijacked
	}
	if w.status == 0 {
		w.answers()
		w.setStatus(http.StatusOK)
	}
	err := w.x.held.Flush()
	if !w.sent {
		w.head(nil)
	}
	w.send(nil)
	if err == nil {
		err = w.err
	}
	return err
}

func (w *reply) SetReadDeadline(t time.Time) error {
	if !w.enter() {
		return errOver
	}
	defer w.exit()
	err := w.n.conn.SetReadDeadline(t)
	w.n.timed.Store(true) // see readBy
	return err
}

func (w *reply) SetWriteDeadline(t time.Time) error {
	if !w.enter() {
		return errOver
	}
	defer w.exit()
	w.n.limited = true
	return w.n.conn.SetWriteDeadline(t)
}

func (w *reply) EnableFullDuplex() error {
	w.duplex = true
	return nil
}

var copyBuffers = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

// sniffed is how many bytes of a body DetectContentType looks at.
const sniffed = 512

// ReadFrom copies src to the answer. The system moves a file if the answer's length is
// known (see socket.Conn.ReadFrom).
func (w *reply) ReadFrom(src io.Reader) (n int64, err error) {
	if !w.enter() {
		return 0, w.tooLate(1)
	}
	defer w.exit()
	buf := copyBuffers.Get().(*[]byte)
	defer copyBuffers.Put(buf)
	plain := struct{ io.Writer }{w}
	to, ok := w.n.conn.(io.ReaderFrom)
	if !ok || w.n.taken {
		return io.CopyBuffer(plain, src, *buf)
	}
	if !w.sent {
		// The head waits for the first bytes: they tell the type, and that there is a source.
		n, err = io.CopyBuffer(plain, io.LimitReader(src, sniffed), *buf)
		if err != nil || n < sniffed {
			return n, err
		}
	}
	if err := w.FlushError(); err != nil {
		return n, err
	}
	if w.chunked || !bodyAllowed(w.status) || w.req.Method == http.MethodHead {
		m, err := io.CopyBuffer(plain, src, *buf)
		return n + m, err
	}
	m, err := w.copyUpTo(to, src, *buf)
	if err == nil && w.written == w.length {
		if k, _ := src.Read(make([]byte, 1)); k > 0 {
			err = http.ErrContentLength
		}
	}
	return n + m, err
}

// A file is an *os.File, also one that io.Copy has wrapped: the system moves it to a connection.
type file interface {
	io.ReadSeeker
	SyscallConn() (syscall.RawConn, error)
}

// copyUpTo copies src to the connection, but no more than what is left of the answer's length.
func (w *reply) copyUpTo(to io.ReaderFrom, src io.Reader, buf []byte) (n int64, err error) {
	rest := int64(math.MaxInt64)
	if w.length != -1 {
		rest = max(w.length-w.written, 0)
	}
	l, ok := src.(*io.LimitedReader)
	if !ok {
		l = &io.LimitedReader{R: src, N: rest}
	} else if more := l.N - rest; more > 0 { // two limits would hide a file
		l.N = rest
		defer func() { l.N += more }()
	}
	if f, ok := l.R.(file); ok {
		n, err = w.copyFile(to, f, l)
	} else {
		n, err = io.CopyBuffer(directly{w.n}, l, buf)
	}
	if w.written += n; err != nil && w.n.cancelled() {
		w.err = err
	}
	return n, err
}

// copyFile copies l, which is a part of f, to the connection.
func (w *reply) copyFile(to io.ReaderFrom, f file, l *io.LimitedReader) (n int64, err error) {
	before := l.N
	if !w.n.left.Load() {
		n, err = to.ReadFrom(l)
		if err == nil || !w.n.stillReads(err) {
			return n, err
		}
		// What was read and not written is read again.
		if _, failed := f.Seek(n-(before-l.N), io.SeekCurrent); failed != nil {
			return n, errors.Join(err, failed)
		}
		l.N = before - n
	}
	var m int64
	w.n.shield(func() { m, err = to.ReadFrom(l) })
	return n + m, err
}

// Hijack gives the connection to the program, with what was read of it. It is a *socket.Conn,
// or a *socket.TLSConn: it suspends the task that waits for it.
func (w *reply) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	n := w.n
	if !w.enter() {
		panic("net/http: Hijack called after ServeHTTP finished")
	}
	defer w.exit()
	if err := w.takeTurn(); err != nil {
		return nil, nil, err
	}
	defer w.endTurn()
	if n.taken {
		return nil, nil, http.ErrHijacked
	}
	if proxied(n.loop) {
		return nil, nil, errProxied
	}
	if w.expect != nil {
		w.expect.decide(told)
	}
	if w.status != 0 {
		if !w.sent {
			w.head(nil)
		}
		w.send(nil)
	}
	in := w.x.in // once the connection is taken, the handler may return, and end w
	if !w.takeOver() {
		return nil, nil, errOver
	}
	n.setState(http.StateHijacked)
	return n.conn, bufio.NewReadWriter(in, bufio.NewWriterSize(n.conn, outMax)), nil
}

// takeOver notes that the handler has taken the connection over. What that changes belongs to the
// loop, so a goroutine for which the handler waits has the loop do it. It reports false if the
// handler has returned in the meantime.
func (w *reply) takeOver() (taken bool) {
	n := w.n
	take := func() {
		if !w.isOver() {
			w.unwatch()
			_ = n.conn.SetDeadline(zeroTime)
			w.x.src.remain = unlimited
			n.taken, taken = true, true
			n.engine.take(w.scope, true)
		}
	}
	if n.loop.Inside() {
		take()
		return taken
	}
	done := make(chan struct{})
	err := n.loop.Post(func() {
		defer close(done)
		take()
	})
	if err == nil {
		<-done
	}
	return taken
}

// CloseNotify returns a channel that gets a value when the client has gone. A task must not
// receive from it; use the request's context.
//
// Deprecated: see http.CloseNotifier.
func (w *reply) CloseNotify() <-chan bool {
	if w.isOver() {
		panic("net/http: CloseNotify called after ServeHTTP finished")
	}
	w.notifying.Lock()
	defer w.notifying.Unlock()
	if w.gone == nil {
		w.gone = make(chan bool, 1)
		w.tellGone()
	}
	return w.gone
}

// notify is called when the client has gone.
func (w *reply) notify() {
	w.notifying.Lock()
	defer w.notifying.Unlock()
	if w.gone != nil {
		w.tellGone()
	}
}

// tellGone sends to gone, once, if the client has gone: CloseNotify may be called between the
// moment in which that is noted and notify. notifying is held.
func (w *reply) tellGone() {
	if w.n.left.Load() && !w.notified {
		w.notified = true
		w.gone <- true
	}
}

// watch begins to look for the end of the client. The body, if any, has been read, and with it the
// time for that is over: a deadline that the handler sets from now on holds.
func (w *reply) watch() {
	if !w.cares() {
		return
	}
	w.n.readBy(zeroTime)
	if loop := w.n.loop; !loop.Inside() {
		_ = loop.Post(w.watchSoon) // the handler waits for this goroutine, so the loop has not ended
		return
	}
	w.observe()
}

// cares reports whether the end of the client would cancel the handler.
func (w *reply) cares() bool { return !w.isOver() && !w.n.taken && !w.n.left.Load() }

// observe is watch without the deadline. Only on the loop.
func (w *reply) observe() {
	w.watching = true
	if peer.Watch(w.n.conn, w) {
		w.watching = false
		w.look()
	}
}

func (w *reply) unwatch() {
	if w.watching {
		w.watching = false
		peer.Unwatch(w.n.conn)
	}
}

// Ready is called when the client has sent something, or has ended its side.
func (w *reply) Ready() {
	w.watching = false
	if w.n.tls == nil {
		w.look()
		return
	}
	w.watchSoon()
}

// watchSoon is observe for a callback. With TLS, what has come may be a part of a record: a task
// finds out whether there is something to read.
func (w *reply) watchSoon() {
	switch {
	case w.n.tls == nil:
		w.resume()
	case !w.isOver():
		w.scope.Go(func(context.Context) error { w.resume(); return nil })
	}
}

// resume goes on to look for the end of the client.
func (w *reply) resume() {
	if w.cares() && !w.watching {
		w.observe()
	}
}

// look cancels the handler if the client has ended its side. What else there is to read is
// the next request, which can wait.
func (w *reply) look() {
	if peer.Ended(w.n.conn) {
		w.n.leave()
	}
}

var zeroTime time.Time
