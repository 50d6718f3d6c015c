package httptask

// The http.ResponseWriter of a handler in a task. It implements http.Flusher and
// http.Hijacker exactly if net/http's own does, so that code which asks for them finds
// what it would find there, and with net/http's own writers also the methods that
// http.ResponseController calls and the deprecated http.CloseNotifier. It never
// implements http.Pusher: no browser accepts pushes.

import (
	"bufio"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/rondo-go/rondo/internal/errtree"
)

// newWriter returns the handler's writer.
func (x *exchange) newWriter() http.ResponseWriter {
	x.out = writer{x: x, plain: isPlain(x.writer)}
	w := &x.out
	_, flushes := x.writer.(http.Flusher)
	_, hijacks := x.writer.(http.Hijacker)
	switch {
	case w.plain && hijacks:
		return notifyingHijacker{notifier{flusher{w}}}
	case w.plain:
		return notifier{flusher{w}}
	case flushes && hijacks:
		return hijacker{flusher{w}}
	case flushes:
		return flusher{w}
	case hijacks:
		return hijackOnly{w}
	}
	return w
}

// isPlain reports whether w is one of net/http's own writers, whose WriteHeader does
// not block while no call is in the lanes.
func isPlain(w http.ResponseWriter) bool {
	t := reflect.TypeOf(w)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	// The last two are those of HTTP/2, until Go 1.26 and from Go 1.27 on. Another name
	// costs two hand-overs, and nothing else.
	return t.PkgPath() == "net/http" && slices.Contains([]string{"response", "http2responseWriter", "http2ResponseWriter"}, t.Name())
}

type writer struct {
	x     *exchange
	plain bool
}

func (w *writer) Header() http.Header { return w.x.writer.Header() }

func (w *writer) WriteHeader(status int) { w.x.writeHeader(status, w.plain) }

func (w *writer) Write(p []byte) (int, error) { return write(w, p) }

func (w *writer) WriteString(s string) (int, error) { return write(w, s) }

// write keeps p, or hands it to net/http.
func write[T []byte | string](w *writer, p T) (int, error) {
	x := w.x
	x.mu.Lock()
	r := &x.response
	if w.plain && r.hijacked && !x.over {
		x.mu.Unlock()
		if len(p) > 0 {
			x.complain("Write") // net/http does not see the handler's frame
		}
		return 0, http.ErrHijacked
	}
	if !r.started && !x.over && !r.hijacked {
		x.mu.Unlock()
		x.writeHeader(http.StatusOK, w.plain)
		x.mu.Lock()
	}
	if !x.over && x.cut == nil && !x.lanes[writing].busy && r.takes(len(p)) {
		add(r, p)
		x.mu.Unlock()
		return len(p), nil
	}
	x.mu.Unlock()
	var n int
	err := x.do(writing, func() error {
		if err := r.emit(x.writer); err != nil {
			return err
		}
		if r.takes(len(p)) && len(p) <= netsOwn {
			add(r, p)
			n = len(p)
			return nil
		}
		var err error
		if n, err = pass(x.writer, p); err != nil {
			r.direct = true
		}
		r.written += int64(len(p))
		r.fill(0, n, whole(p))
		r.cuts = r.cuts[:0]
		return err
	})
	return n, err
}

// pass hands p to net/http as what it is: bytes or a string.
func pass[T []byte | string](w http.ResponseWriter, p T) (int, error) {
	if s, ok := any(p).(string); ok {
		return io.WriteString(w, s)
	}
	return w.Write([]byte(p))
}

// writeHeader begins the answer, or sends an informational one.
func (x *exchange) writeHeader(status int, plain bool) {
	x.mu.Lock()
	r := &x.response
	informs := status >= 100 && status <= 199 && status != http.StatusSwitchingProtocols
	switch {
	case x.over || r.hijacked || r.started:
		x.mu.Unlock()
		x.complain("WriteHeader")
		return
	case plain && (status < 100 || status > 199) && !x.lanes[reading].busy && !x.lanes[writing].busy:
		defer x.mu.Unlock() // it panics if it is no status
		x.writer.WriteHeader(status)
		r.begin(status, x.writer.Header())
		return
	}
	x.mu.Unlock()
	_ = x.do(writing, func() error {
		x.writer.WriteHeader(status)
		if !informs {
			x.mu.Lock()
			r.begin(status, x.writer.Header())
			x.mu.Unlock()
		}
		return nil
	})
}

// complain logs, as net/http does, a call that comes too late.
func (x *exchange) complain(call string) {
	server, ok := x.request.Context().Value(http.ServerContextKey).(*http.Server)
	if !ok {
		return
	}
	x.mu.Lock()
	hijacked, over := x.response.hijacked, x.over
	x.mu.Unlock()
	what := "superfluous response.WriteHeader call"
	if hijacked {
		what = "response." + call + " on hijacked connection"
	}
	if over {
		what = "response." + call + " after the handler has returned"
	}
	f := userFrame()
	logf := log.Printf
	if server.ErrorLog != nil {
		logf = server.ErrorLog.Printf
	}
	logf("http: %s from %s (%s:%d)", what, f.Function, path.Base(f.File), f.Line)
}

// userFrame returns the innermost call that is neither net/http's nor of this package.
func userFrame() runtime.Frame {
	var pc [16]uintptr
	frames := runtime.CallersFrames(pc[:runtime.Callers(2, pc[:])])
	for {
		f, more := frames.Next()
		if own := strings.HasPrefix(f.Function, ownPackage) && !strings.HasSuffix(f.File, "_test.go"); !more || !own && !strings.HasPrefix(f.Function, "net/http.") {
			return f
		}
	}
}

var ownPackage = reflect.TypeFor[writer]().PkgPath() + "."

// ReadFrom copies what src has to the response. A file is copied by net/http, away from
// the loop, as it would be from a handler of its own.
func (w *writer) ReadFrom(src io.Reader) (int64, error) {
	inner := src
	if l, ok := src.(*io.LimitedReader); ok {
		inner = l.R
	}
	x := w.x
	if !isFile(inner) || x.isTaken() {
		return w.copyFrom(struct{ io.Reader }{src})
	}
	var n int64
	err := x.do(writing, func() error {
		if err := x.response.emit(x.writer); err != nil {
			return err
		}
		x.response.direct = true // what net/http's buffer has is no longer known
		var err error
		n, err = io.Copy(x.writer, src)
		x.mu.Lock()
		if n > 0 && !x.response.started {
			x.response.begin(http.StatusOK, x.writer.Header())
		}
		x.mu.Unlock()
		return err
	})
	return n, err
}

// isFile reports whether r is an *os.File, also one that io.Copy has wrapped. Another type that
// has the methods of a file is code of the program, which runs in the task.
func isFile(r io.Reader) bool {
	if _, ok := r.(*os.File); ok {
		return true
	}
	t := reflect.TypeOf(r)
	return t != nil && t.PkgPath() == "os"
}

// copyFrom copies what src has in the pieces in which net/http does, which show in chunks: on a
// connection without TLS it sends the head with the first bytes.
func (w *writer) copyFrom(src io.Reader) (n int64, err error) {
	x, to := w.x, struct{ io.Writer }{w}
	if _, hijacks := x.writer.(http.Hijacker); !w.plain || !hijacks || x.request.TLS != nil || x.response.length >= 0 {
		return io.Copy(to, src)
	}
	if !x.response.head {
		if n, err = io.Copy(to, io.LimitReader(src, sniffed)); err != nil || n < sniffed {
			return n, err
		}
	}
	if err := x.flush(); err != nil {
		return n, err
	}
	m, err := io.Copy(to, src)
	return n + m, err
}

// Unwrap returns what http.ResponseController uses.
func (w *writer) Unwrap() http.ResponseWriter { return &control{w} }

// A flusher is the writer of a response that can be flushed.
type flusher struct{ *writer }

// A hijacker is the writer of a response whose connection can be taken over.
type hijacker struct{ flusher }

type hijackOnly struct{ *writer }

func (w flusher) Flush()            { _ = w.x.flush() }
func (w flusher) FlushError() error { return w.x.flush() }

func (w hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) { return w.x.hijack() }

// A notifier is the writer of a response of net/http's own, which has all methods itself. It is one
// pointer, as the others are, so an http.ResponseWriter of it needs no memory.
type notifier struct{ flusher }

// CloseNotify returns net/http's channel, which gets a value when the client has gone. A task
// must not receive from it; use the request's context.
//
// Deprecated: see http.CloseNotifier.
func (w notifier) CloseNotify() <-chan bool           { return w.x.closeNotify() }
func (w notifier) SetReadDeadline(t time.Time) error  { return w.x.control().SetReadDeadline(t) }
func (w notifier) SetWriteDeadline(t time.Time) error { return w.x.control().SetWriteDeadline(t) }
func (w notifier) EnableFullDuplex() error            { return w.x.control().EnableFullDuplex() }

type notifyingHijacker struct{ notifier }

func (w notifyingHijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) { return w.x.hijack() }

func (x *exchange) closeNotify() <-chan bool {
	//lint:ignore SA1019 old programs ask for it
	return x.writer.(http.CloseNotifier).CloseNotify()
}

func (w hijackOnly) Hijack() (net.Conn, *bufio.ReadWriter, error) { return w.x.hijack() }

// A control has all that http.ResponseController asks for. What net/http's writer
// does not support returns http.ErrNotSupported.
type control struct{ *writer }

func (c *control) FlushError() error                            { return c.x.flush() }
func (c *control) Hijack() (net.Conn, *bufio.ReadWriter, error) { return c.x.hijack() }
func (c *control) SetReadDeadline(t time.Time) error            { return c.x.control().SetReadDeadline(t) }
func (c *control) SetWriteDeadline(t time.Time) error           { return c.x.control().SetWriteDeadline(t) }
func (c *control) EnableFullDuplex() error                      { return c.x.control().EnableFullDuplex() }

// Unwrap hides that of writer.
func (c *control) Unwrap() http.ResponseWriter { return nil }

func (x *exchange) control() *http.ResponseController { return http.NewResponseController(x.writer) }

// flush sends what has been written.
func (x *exchange) flush() error {
	if x.isTaken() {
		return http.ErrHijacked // net/http panics
	}
	return x.do(writing, func() error {
		r := &x.response
		if err := r.emit(x.writer); err != nil {
			return err
		}
		err := x.control().Flush()
		if errtree.Is(err, http.ErrNotSupported) {
			return err
		}
		r.held, r.head = 0, true
		x.mu.Lock()
		if !r.started { // also of a Flush that has sent nothing
			r.begin(http.StatusOK, x.writer.Header())
		}
		x.mu.Unlock()
		return err
	})
}

// isTaken reports whether the handler has taken its connection over.
func (x *exchange) isTaken() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.response.hijacked
}
