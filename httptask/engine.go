package httptask

// An engine serves HTTP/1.0 and HTTP/1.1 in sessions of a socket.Server, for one call of
// Serve. The standard library parses and formats; the rules of a connection are those of
// net/http's server, in the order in which it applies them.
//
// The law: an idle connection has a connection record and nothing else. It gets a task and
// buffers with the first byte of a request, and gives them back when nothing is buffered.
// A handler may keep its request, header, writer and context, so those are made for each
// request; buffers are pooled, because nobody outside sees them.

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/peer"
	"github.com/rondo-go/rondo/internal/report"
	"github.com/rondo-go/rondo/socket"
)

// An engine is one call of Serve.
type engine struct {
	http        *http.Server
	handler     http.Handler
	base        context.Context // of all connections, with the server as http.ServerContextKey
	listener    net.Listener
	secure      *tls.Config    // nil without TLS
	server      *socket.Server // nil if another engine leads
	counts      *socket.Server // counts the connections of this loop: server, or a part of another one
	beside      []*engine      // that this one leads, on other loops; guarded by the Server's mu
	other       *handover      // to net/http; nil: nothing is handed over
	noKeepAlive *atomic.Bool   // keep-alives are disabled
	ending      atomic.Bool    // a Shutdown, or the end of Serve's ctx, has begun

	loop *rondo.Loop
	own  kernel.Loop          // the same, as Rondo's packages know it
	left func() time.Duration // how long what is in taken may still go on
	late *rondo.Handle        // ends it
	over bool                 // its time is over

	mu    sync.Mutex
	taken map[*rondo.Scope]bool // handlers that have taken their connection over, and calls of sessions
}

// newEngine returns the engine for a listener, with a handler and a BaseContext, which may be
// nil. secure is nil without TLS.
func newEngine(s *http.Server, h http.Handler, base func(net.Listener) context.Context, l net.Listener, secure *tls.Config, noKeepAlive *atomic.Bool) *engine {
	e := &engine{http: s, handler: h, base: context.Background(), listener: l, secure: secure, noKeepAlive: noKeepAlive}
	if e.handler == nil {
		e.handler = http.DefaultServeMux
	}
	if base != nil {
		if e.base = base(l); e.base == nil {
			panic("BaseContext returned a nil context")
		}
	}
	e.base = context.WithValue(e.base, http.ServerContextKey, s)
	e.server = &socket.Server{OnError: e.report, HalfClose: true, Session: func(net.Conn) func(context.Context) error { return nil }}
	peer.SetSessions(e.server, e.hooks())
	e.counts = e.server
	e.server.Limits.Handshake = e.handshakeLimit()
	return e
}

// hooks are what a socket.Server calls for the connections of e.
func (e *engine) hooks() *peer.Hooks {
	return &peer.Hooks{Begin: e.begin, Closed: http.ErrServerClosed, TLS: e.secure}
}

// end is called when a Shutdown, or the end of Serve's ctx, begins. Any goroutine may call it.
func (e *engine) end() {
	e.ending.Store(true)
	_ = e.loop.Post(e.limitTaken) // after the end of the loop nothing runs
}

// report is the OnError of the socket.Server.
func (e *engine) report(c net.Conn, err error) {
	if c == nil {
		e.logf("http: Accept error: %v; retrying", err)
		return
	}
	if p, ok := err.(*rondo.PanicError); ok {
		e.logf("http: panic serving %v: %v\n%s", c.RemoteAddr(), p.Value, p.Stack)
		return
	}
	if t, ok := c.(*socket.TLSConn); ok && !t.ConnectionState().HandshakeComplete {
		e.logf("http: TLS handshake error from %s: %v", c.RemoteAddr(), handshakeFailed(t, err))
		return
	}
	e.logf("http: error serving %v: %v", c.RemoteAddr(), err)
}

// A line of a log, which is formatted when it is printed.
type line struct {
	format string
	args   []any
}

func (l line) String() string { return fmt.Sprintf(l.format, l.args...) }

// logf writes to ErrorLog. A panic of it on the loop goes to the Runner's OnError, once, with
// what was to be logged.
func (e *engine) logf(format string, args ...any) {
	defer func() {
		if e.own.Inside() && e.own.Recovers() {
			if v := recover(); v != nil {
				about := "ErrorLog of a http.Server"
				e.own.Notice(about, errors.Join(&rondo.PanicError{Task: about, Value: v, Stack: debug.Stack()}, errors.New(report.Text(line{format, args}))))
			}
		}
	}()
	if e.http.ErrorLog != nil {
		e.http.ErrorLog.Printf(format, args...)
	} else {
		log.Printf(format, args...)
	}
}

// take notes that a handler has taken its connection over, or that a call of a session begins; or
// that it has ended.
func (e *engine) take(handler *rondo.Scope, runs bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !runs {
		delete(e.taken, handler)
		return
	}
	if e.over {
		handler.Cancel(http.ErrServerClosed)
	}
	if e.taken == nil {
		e.taken = make(map[*rondo.Scope]bool)
	}
	e.taken[handler] = true
}

// closeIdle closes the idle connections. It is called on the loop.
func (e *engine) closeIdle() {
	if e.counts != nil { // it has begun to serve
		peer.CloseIdle(e.counts)
	}
}

// limitTaken is called on the loop when a Shutdown has begun: the handlers that have taken their
// connection over are cancelled at the end of their time.
func (e *engine) limitTaken() {
	if e.late == nil {
		e.late = e.loop.CallLater(e.left(), e.cancelTaken)
	}
}

func (e *engine) cancelTaken() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = true
	for handler := range e.taken {
		handler.Cancel(http.ErrServerClosed)
	}
}

func (e *engine) keepsAlive() bool { return !e.ending.Load() && !e.noKeepAlive.Load() }

func (e *engine) headerTimeout() time.Duration {
	if e.http.ReadHeaderTimeout != 0 {
		return e.http.ReadHeaderTimeout
	}
	return e.http.ReadTimeout
}

func (e *engine) idleTimeout() time.Duration {
	if e.http.IdleTimeout != 0 {
		return e.http.IdleTimeout
	}
	return e.http.ReadTimeout
}

// headLimit is how many bytes a head may have, with the 4 KiB that net/http adds for its
// buffer.
func (e *engine) headLimit() int64 {
	n := e.http.MaxHeaderBytes
	if n <= 0 {
		n = http.DefaultMaxHeaderBytes
	}
	return int64(n) + 4096
}

// begin is called with each new connection.
func (e *engine) begin(ctx context.Context, c net.Conn) peer.Session {
	n := &connection{engine: e, conn: c, base: e.base, loop: kernel.Of(ctx)}
	if e.other == nil {
		n.context()
	}
	n.setState(http.StateNew)
	if _, secured := c.(*socket.TLSConn); !secured {
		n.waitForHead()
	}
	return n
}

const (
	inMax   = 4096 // bytes that are read at once, as in net/http
	outMax  = 4096 // bytes that an answer may leave unsent, as in net/http
	heldMax = 2048 // bytes of a body that are held back, as in net/http
)

var scratches = sync.Pool{New: func() any {
	src := new(source)
	x := &scratch{
		in: bufio.NewReaderSize(src, inMax), src: src,
		held: bufio.NewWriterSize(nil, heldMax), out: make([]byte, 0, outMax),
	}
	x.call = x.answer
	return x
}}
