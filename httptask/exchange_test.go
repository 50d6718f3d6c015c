package httptask_test

// Handlers behind net/http, whose part these tests play.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/internal/peer"
	"github.com/rondo-go/rondo/sim"
)

// A wire is the body and the ResponseWriter of a request. A Read waits for input or a deadline.
type wire struct {
	*httptest.ResponseRecorder
	input       chan string
	interrupted chan struct{}
	server      net.Conn // for Hijack

	mu    sync.Mutex
	reads int  // under way
	both  bool // there were two
	left  bool // ServeHTTP has returned
	late  bool // a deadline was set after that
}

func newWire() *wire {
	return &wire{ResponseRecorder: httptest.NewRecorder(), input: make(chan string, 2), interrupted: make(chan struct{}, 10)}
}

func (w *wire) count(by int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads += by
	w.both = w.both || w.reads > 1
}

func (w *wire) Read(p []byte) (int, error) {
	w.count(1)
	defer w.count(-1)
	select {
	case s := <-w.input:
		return copy(p, s), nil
	case <-w.interrupted:
		return 0, os.ErrDeadlineExceeded
	}
}

func (w *wire) SetReadDeadline(time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.late = w.late || w.left
	w.interrupted <- struct{}{}
	return nil
}

func (w *wire) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return w.server, bufio.NewReadWriter(bufio.NewReader(w.server), bufio.NewWriter(w.server)), nil
}

// serve has h answer a request of w, as net/http does.
func (w *wire) serve(ctx context.Context, h http.Handler, r *http.Request) error {
	return away(ctx, func() error {
		h.ServeHTTP(w, r)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.left = true
		return nil
	})
}

// inBubble calls fn in a simulation with goroutines.
func inBubble(t *testing.T, fn func(ctx context.Context)) {
	t.Helper()
	sim.Config{Seeds: 5, Goroutines: true}.Test(t, fn)
}

var errHere = errors.New("the scope was cancelled")

// TestBodyCancelled: in a cancelled task a Read of the body fails with the cause. The next in line
// is not held up by one that has left the line, and waits for its turn all the same.
func TestBodyCancelled(t *testing.T) {
	inBubble(t, func(ctx context.Context) {
		w := newWire()
		h := httptask.Handler(ctx, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			read := func(ctx context.Context) (string, error) {
				p := make([]byte, 10)
				n, err := r.Body.Read(p)
				return string(p[:n]), err
			}
			if err := rondo.Group(r.Context(), func(g *rondo.Scope) error {
				g.Cancel(errHere)
				_, err := read(g)
				return err
			}); err != errHere {
				t.Errorf("Read in a cancelled scope: %v", err)
			}
			first := rondo.Async(r.Context(), read)
			_ = rondo.Sleep(r.Context(), time.Second)
			var inLine, waiting error
			err := rondo.Timeout(r.Context(), time.Hour, func(ctx context.Context) error {
				return rondo.Group(ctx, func(g *rondo.Scope) error {
					g.Go(func(ctx context.Context) error { _, inLine = read(ctx); return nil })
					return rondo.WaitCanceled(g)
				})
			})
			if !rondo.TimedOut(r.Context(), err) || inLine == nil {
				t.Errorf("Read in line: %v", inLine)
			}
			second := rondo.Async(r.Context(), read)
			_ = rondo.Sleep(r.Context(), time.Second)
			w.input <- "first"
			if got, err := first.Wait(r.Context()); got != "first" || err != nil {
				t.Errorf("the first Read: %q %v", got, err)
			}
			w.input <- "second"
			if got, err := second.Wait(r.Context()); got != "second" || err != nil {
				t.Errorf("the second Read: %q %v", got, err)
			}
			_ = rondo.Timeout(r.Context(), time.Hour, func(ctx context.Context) error { _, waiting = read(ctx); return nil })
			if !rondo.TimedOut(r.Context(), waiting) {
				t.Errorf("a Read that was interrupted: %v", waiting)
			}
		}))
		if err := w.serve(ctx, h, httptest.NewRequest("POST", "/", w)); err != nil || w.both {
			t.Errorf("two Reads of the body at once: %v; %v", w.both, err)
		}
	})
}

// TestNothingAfterHandler: when ServeHTTP has returned, no deadline of the connection is set, as
// for a task that was reading, and no goroutine writes.
func TestNothingAfterHandler(t *testing.T) {
	inBubble(t, func(ctx context.Context) {
		w := newWire()
		wrote := make(chan error, 2)
		h := httptask.Handler(ctx, http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
			say(to, "answer")
			rondo.Go(r.Context(), func(ctx context.Context) error { _, _ = r.Body.Read(make([]byte, 1)); return nil })
			go func() {
				<-time.After(time.Hour)
				for range cap(wrote) {
					_, err := io.WriteString(to, "late")
					wrote <- err
				}
			}()
			_ = rondo.Sleep(r.Context(), time.Second)
		}))
		if err := w.serve(ctx, h, httptest.NewRequest("POST", "/", w)); err != nil {
			t.Error(err)
		}
		for range cap(wrote) {
			if err, _, _ := rondo.Receive(ctx, wrote); err == nil {
				t.Error("a goroutine has written to an answer that had ended")
			}
		}
		if w.late || w.Body.String() != "answer" {
			t.Errorf("a deadline was set after ServeHTTP: %v; the answer is %q", w.late, w.Body)
		}
	})
}

// TestClientGone: a handler whose client has gone may take its time, and costs nothing meanwhile.
func TestClientGone(t *testing.T) {
	inBubble(t, func(ctx context.Context) {
		client, leave := context.WithCancel(context.Background())
		h := httptask.Handler(ctx, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			leave()
			if err := rondo.WaitCanceled(r.Context()); err != context.Canceled {
				t.Errorf("the handler: %v", err)
			}
			_ = rondo.Shield(r.Context(), func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) })
		}))
		if err := newWire().serve(ctx, h, httptest.NewRequest("GET", "/", nil).WithContext(client)); err != nil {
			t.Error(err)
		}
	})
}

// A readHook is a body whose Read calls a function.
type readHook func()

func (f readHook) Read([]byte) (int, error) { f(); return 0, io.EOF }

// TestRefusedOnTheWay: a request whose scope is cancelled while it is on its way to the loop is
// refused.
func TestRefusedOnTheWay(t *testing.T) {
	inBubble(t, func(ctx context.Context) {
		reading, cancelled := make(chan struct{}), make(chan struct{})
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			h := httptask.Handler(g, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the handler was called") }))
			w := newWire()
			r := httptest.NewRequest("POST", "/", readHook(func() { close(reading); <-cancelled }))
			r.ContentLength = 1 // it is read before the request goes to the loop
			served := rondo.Go(ctx, func(ctx context.Context) error { return w.serve(ctx, h, r) })
			if _, _, err := rondo.Receive(ctx, reading); err != nil {
				return err
			}
			g.Cancel(nil)
			close(cancelled)
			if err := served.Wait(ctx); err != nil || w.Code != http.StatusServiceUnavailable {
				t.Errorf("%d %q, %v", w.Code, w.Body, err)
			}
			return nil
		})
	})
}

// TestEndedScope: when the scope of a Handler has ended, a request is refused, and when that of a
// Transport has, a body cannot be read, and is closed; also if their ctx cannot tell.
func TestEndedScope(t *testing.T) {
	run(t, func(ctx context.Context) error {
		var late context.Context
		_ = rondo.Group(ctx, func(g *rondo.Scope) error { late = context.WithoutCancel(g); return nil })
		w := httptest.NewRecorder()
		h := httptask.Handler(late, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the handler was called") }))
		err := away(ctx, func() error { h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil)); return nil })
		if w.Code != http.StatusServiceUnavailable {
			t.Errorf("Handler has answered with status %d", w.Code)
		}
		count, closed := 0, 0
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			_, err := r.Body.Read(make([]byte, 1))
			return nil, errors.Join(err, r.Body.Close())
		})
		r := httptest.NewRequest("POST", "/", &slowBody{ctx, &count, 1, &closed})
		if _, err := httptask.Transport(late, base).RoundTrip(r); !errors.Is(err, context.Canceled) || count != 0 || closed != 1 {
			t.Errorf("RoundTrip has read %d bytes, and closed the body %d times: %v", count, closed, err)
		}
		return err
	})
}

// TestConnectionOfHandler: a connection that was taken over suspends the task that reads it, and is
// as it was after a Read that a cancellation has ended.
func TestConnectionOfHandler(t *testing.T) {
	inBubble(t, func(ctx context.Context) {
		w := newWire()
		var client net.Conn
		w.server, client = net.Pipe()
		h := httptask.Handler(ctx, http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
			c, _, err := to.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			for range 2 {
				err := rondo.Timeout(r.Context(), time.Minute, func(context.Context) error {
					_, err := c.Read(make([]byte, 1))
					return err
				})
				if !rondo.TimedOut(r.Context(), err) {
					t.Errorf("Read: %v", err)
				}
			}
			rondo.Go(r.Context(), func(ctx context.Context) error { // the loop goes on
				return away(ctx, func() error { _, err := io.WriteString(client, "hello"); return err })
			})
			p := make([]byte, 5)
			if _, err := io.ReadFull(c, p); err != nil || string(p) != "hello" {
				t.Errorf("Read: %q %v", p, err)
			}
			if err := c.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
				t.Error(err)
			}
			if _, err := c.Read(p); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("Read after its deadline: %v", err)
			}
		}))
		if err := w.serve(ctx, h, httptest.NewRequest("GET", "/", nil)); err != nil {
			t.Error(err)
		}
	})
}

// A brokenWriter panics when it is written to.
type brokenWriter struct{ *httptest.ResponseRecorder }

func (brokenWriter) Write([]byte) (int, error) { panic(errHere) }

// TestWriterPanics: a panic of the ResponseWriter comes out of the call of the handler.
func TestWriterPanics(t *testing.T) {
	inBubble(t, func(ctx context.Context) {
		var thrown any
		h := httptask.Handler(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer func() { thrown = recover() }()
			_, _ = w.Write(make([]byte, 100_000))
		}))
		err := away(ctx, func() error {
			h.ServeHTTP(brokenWriter{httptest.NewRecorder()}, httptest.NewRequest("GET", "/", nil))
			return nil
		})
		if err != nil || thrown != errHere {
			t.Errorf("the handler sees %v; ServeHTTP: %v", thrown, err)
		}
	})
}

// A leavingWriter is that of a middleware that calls Goexit in each Write.
type leavingWriter struct{ http.ResponseWriter }

func (leavingWriter) Write([]byte) (int, error)     { runtime.Goexit(); return 0, nil }
func (w leavingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// TestWriterLeaves: a Goexit around Handler, on net/http's goroutine, is an error of what the
// handler does. The handler goes on, and the connection is closed.
func TestWriterLeaves(t *testing.T) {
	run(t, func(ctx context.Context) error {
		var errs []error
		ended := false
		inner := httptask.Handler(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for range 2 {
				_, err := w.Write(make([]byte, 100_000))
				errs = append(errs, err, rondo.Yield(r.Context()))
			}
			ended = true
		}))
		around := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { inner.ServeHTTP(leavingWriter{w}, r) })
		err := away(ctx, func() error {
			plainly(t, &http.Server{Handler: around, ErrorLog: silent}, func(address string) error {
				if got, err := talk(address, sameRow{send: "GET / HTTP/1.1\r\nHost: a\r\n\r\n", closes: true}); got != "" {
					t.Errorf("the answer is %q, %v", got, err)
				}
				return nil
			})
			return nil
		})
		if !ended || errs[0] == nil || errs[2] == nil || errs[1] != nil || errs[3] != nil {
			t.Errorf("ended=%v, %v", ended, errs)
		}
		return err
	})
}

// TestBodyOfMiddleware: what a body around Handler does, a panic or a Goexit, is the end of a Read
// of the handler, whether it is read ahead of that (it has a length) or not, and of no more. No
// Read has bytes then.
func TestBodyOfMiddleware(t *testing.T) {
	read := func(r io.Reader) (n int, thrown any, err error) {
		defer func() { thrown = recover() }()
		n, err = r.Read(make([]byte, 10))
		return n, nil, err
	}
	for _, length := range []int64{1, -1} {
		for _, late := range []time.Duration{0, time.Second} { // the handler begins first
			for _, leaves := range []bool{false, true} {
				inBubble(t, func(ctx context.Context) {
					body := readHook(func() {
						<-time.After(late)
						if leaves {
							runtime.Goexit()
						}
						panic(errHere)
					})
					r := httptest.NewRequest("POST", "/", body)
					r.ContentLength = length
					ended := false
					h := httptask.Handler(ctx, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
						for range 2 {
							n, thrown, err := read(r.Body)
							if n != 0 || leaves != (err != nil) || !leaves && thrown != errHere {
								t.Errorf("length %d, late %v, leaves %v: Read: %d, %v, %v", length, late, leaves, n, err, thrown)
							}
						}
						ended = true
					}))
					if err := newWire().serve(ctx, h, r); !ended || leaves != (err != nil) {
						t.Errorf("length %d, late %v, leaves %v: ended %v; ServeHTTP: %v", length, late, leaves, ended, err)
					}
				})
			}
		}
	}
}

// A closeHook is a body whose Close calls a function.
type closeHook struct {
	io.Reader
	close func() error
}

func (b closeHook) Close() error { return b.close() }

// TestCloseOfMiddleware: a handler that closes its body closes that of a middleware around Handler,
// and gets its error.
func TestCloseOfMiddleware(t *testing.T) {
	run(t, func(ctx context.Context) error {
		h := httptask.Handler(ctx, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if err := r.Body.Close(); err != errHere {
				t.Errorf("Close: %v", err)
			}
			if n, err := r.Body.Read(make([]byte, 1)); n != 0 || err != http.ErrBodyReadAfterClose {
				t.Errorf("Read after Close: %d, %v", n, err)
			}
		}))
		closed := 0
		body := closeHook{strings.NewReader("unread"), func() error { closed++; return errHere }}
		r := httptest.NewRequest("POST", "/", body)
		r.ContentLength = -1 // it is not read ahead
		if err := newWire().serve(ctx, h, r); err != nil || closed != 1 {
			t.Errorf("closed %d times: %v", closed, err)
		}
		return nil
	})
}

// A brokenDeadlines is the ResponseWriter of a middleware whose deadlines end in a panic, or by a
// Goexit.
type brokenDeadlines struct {
	*wire
	end func()
}

func (w brokenDeadlines) SetReadDeadline(at time.Time) error {
	defer w.end()
	return w.wire.SetReadDeadline(at)
}

// TestDeadlinePanics: a panic of SetReadDeadline when a cancelled task is reading goes to OnError,
// and ends neither the handler nor the program. A Goexit is nothing at all.
func TestDeadlinePanics(t *testing.T) {
	for _, leaves := range []bool{false, true} {
		var got error
		r := rondo.Runner{OnError: func(_ rondo.TaskInfo, err error) { got = errors.Join(got, err) }}
		err := r.Run(t.Context(), func(ctx context.Context) error {
			w := brokenDeadlines{newWire(), func() { panic(errHere) }}
			if leaves {
				w.end = runtime.Goexit
			}
			h := httptask.Handler(ctx, http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
				err := rondo.Group(r.Context(), func(g *rondo.Scope) error {
					_ = rondo.LoopOf(g).Post(func() { g.Cancel(errHere) })
					_, err := r.Body.Read(make([]byte, 1))
					return err
				})
				if err != errHere {
					t.Errorf("Read: %v", err)
				}
				say(to, "answer")
			}))
			err := away(ctx, func() error { h.ServeHTTP(w, httptest.NewRequest("POST", "/", w)); return nil })
			if w.Body.String() != "answer" {
				t.Errorf("the answer is %q", w.Body)
			}
			return err
		})
		if err != nil || leaves != (got == nil) || !leaves && !errors.Is(got, errHere) {
			t.Errorf("leaves=%v: Run: %v; OnError: %v", leaves, err, got)
		}
	}
}

// TestLengthOfHandler: a write beyond Content-Length fails at once, after large writes too, which
// are not kept.
func TestLengthOfHandler(t *testing.T) {
	run(t, func(ctx context.Context) error {
		h := httptask.Handler(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100003")
			say(w, strings.Repeat("x", 100_000))
			_, err := io.WriteString(w, "four")
			if !errors.Is(err, http.ErrContentLength) {
				t.Errorf("Write: %v", err)
			}
		}))
		return away(ctx, func() error {
			plainly(t, &http.Server{Handler: h, ErrorLog: silent}, func(address string) error {
				c := connect(t, address)
				defer c.Close()
				say(c, get)
				_, err := io.Copy(io.Discard, c)
				return err
			})
			return nil
		})
	})
}

// TestLogOfServerPanics: what a Server cannot log, because ErrorLog panics, goes to OnError, once,
// and the loop goes on.
func TestLogOfServerPanics(t *testing.T) {
	if !peer.Watches {
		return // net/http has the connections
	}
	var got []string
	r := rondo.Runner{OnError: func(_ rondo.TaskInfo, err error) { got = append(got, err.Error()) }}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		s := &httptask.Server{HTTP: http.Server{ErrorLog: newLog(nil), Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom") })}}
		s.HTTP.ErrorLog.SetOutput(panicking{})
		return serving(ctx, s, func(ctx context.Context, address string) error {
			return away(ctx, func() error { _, err := talk(address, sameRow{send: get, closes: true}); return err })
		})
	})
	if err != nil || len(got) != 1 || !strings.Contains(got[0], "no room") || !strings.Contains(got[0], "boom") {
		t.Errorf("Run: %v; OnError: %q", err, got)
	}
}

// TestLogPanics: the error of a task of a handler goes to OnError if ErrorLog panics, and the loop
// goes on.
func TestLogPanics(t *testing.T) {
	var got error
	r := rondo.Runner{OnError: func(_ rondo.TaskInfo, err error) { got = errors.Join(got, err) }}
	err := r.Run(context.Background(), func(ctx context.Context) error {
		server := &http.Server{ErrorLog: newLog(nil)}
		server.ErrorLog.SetOutput(panicking{})
		h := httptask.Handler(ctx, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			rondo.Go(r.Context(), func(ctx context.Context) error { _ = rondo.WaitCanceled(ctx); return errHere })
			_ = rondo.Yield(r.Context())
		}))
		request := httptest.NewRequest("GET", "/", nil)
		return newWire().serve(ctx, h, request.WithContext(context.WithValue(request.Context(), http.ServerContextKey, server)))
	})
	if err != nil || !errors.Is(got, errHere) || !strings.Contains(got.Error(), "panic in ErrorLog: no room") {
		t.Errorf("Run: %v; OnError: %v", err, got)
	}
}

type panicking struct{}

func (panicking) Write([]byte) (int, error) { panic("no room") }

// TestCopyOfAFile: behind net/http a file is read on a goroutine of net/http, also if it is given
// to io.Copy itself. So the loop goes on while the file, here a pipe, has nothing yet. A Reader of
// the program is read in the task, where it may wait.
func TestCopyOfAFile(t *testing.T) {
	run(t, func(ctx context.Context) error {
		h := httptask.Handler(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			late := func(text string) *os.File {
				from, to, err := os.Pipe()
				if err != nil {
					panic(err)
				}
				rondo.Go(r.Context(), func(context.Context) error {
					say(to, text)
					return to.Close()
				})
				return from
			}
			first := late("hello")
			defer first.Close()
			n, err := io.CopyN(w, first, 5)
			second := late(", you")
			defer second.Close()
			m, failure := io.Copy(w, second)
			inTask := readHook(func() {
				if rondo.Current(r.Context()) == nil {
					t.Error("a Reader of the program is not read in the task")
				}
			})
			k, other := io.Copy(w, io.MultiReader(inTask, strings.NewReader(" there")))
			if err := errors.Join(err, failure, other); n != 5 || m != 5 || k != 6 || err != nil {
				t.Errorf("%d, %d and %d bytes were copied, %v", n, m, k, err)
			}
		}))
		return away(ctx, func() error {
			plainly(t, &http.Server{Handler: h}, func(address string) error {
				got, err := talk(address, sameRow{send: "GET / HTTP/1.0\r\n\r\n", closes: true})
				if !strings.HasSuffix(got, "\r\n\r\nhello, you there") {
					t.Errorf("the answer is %q", got)
				}
				return err
			})
			return nil
		})
	})
}

// TestEndWhileBodyComes: a request whose body is still read when the loop ends is answered with
// status 503: by net/http, or, if its handler was started first, by that.
func TestEndWhileBodyComes(t *testing.T) {
	began, end, ended := make(chan http.Handler, 1), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- rondo.Run(t.Context(), func(ctx context.Context) error {
			began <- httptask.Handler(ctx, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusServiceUnavailable)
			}))
			_, _, err := rondo.Receive(ctx, end)
			return err
		})
	}()
	var err error
	body := readHook(func() { close(end); err = <-ended })
	w, r := httptest.NewRecorder(), httptest.NewRequest("POST", "/", body)
	r.ContentLength = 1 // it is read before the request goes to the loop
	(<-began).ServeHTTP(w, r)
	if w.Code != http.StatusServiceUnavailable || err != nil {
		t.Errorf("status %d; Run: %v", w.Code, err)
	}
}

// TestHijackOnGoroutine: a goroutine for which a handler waits may take the connection over.
func TestHijackOnGoroutine(t *testing.T) {
	h := httptask.Blocking(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		say(c, "HTTP/1.1 200 OK\r\n\r\nhello")
	}))
	inTasks(t, &httptask.Server{HTTP: http.Server{Handler: h}}, func(ctx context.Context, address string) error {
		return away(ctx, func() error {
			got, err := talk(address, sameRow{send: get, closes: true})
			if !strings.HasSuffix(got, "hello") {
				t.Errorf("the answer is %q", got)
			}
			return err
		})
	})
}

// TestAfterTaken: when a handler that has taken its connection over has ended, what it has left
// behind sets no deadline by the request's writer any more.
func TestAfterTaken(t *testing.T) {
	if !peer.Watches {
		return // net/http has the connections
	}
	for _, panics := range []bool{false, true} {
		s := &httptask.Server{HTTP: http.Server{ErrorLog: silent, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			go func() {
				defer c.Close()
				<-r.Context().Done()
				control := http.NewResponseController(w)
				if control.SetReadDeadline(time.Time{}) == nil || control.SetWriteDeadline(time.Time{}) == nil {
					t.Errorf("the handler panics: %v; a deadline was set later", panics)
				}
				say(c, "over")
			}()
			if panics {
				panic(http.ErrAbortHandler)
			}
		})}}
		inTasks(t, s, func(ctx context.Context, address string) error {
			return away(ctx, func() error {
				got, err := talk(address, sameRow{send: get, closes: true})
				if got != "over" {
					t.Errorf("the handler panics: %v; the client got %q", panics, got)
				}
				return err
			})
		})
	}
}

// TestAfterHijack: a handler that has taken its connection over gets an error for what it does
// with the answer, of a Server and behind net/http. net/http panics there.
func TestAfterHijack(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		f, err := os.Open("doc.go")
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		if err := http.NewResponseController(w).Flush(); !errors.Is(err, http.ErrHijacked) {
			t.Errorf("Flush: %v", err)
		}
		if n, err := io.Copy(w, f); n != 0 || !errors.Is(err, http.ErrHijacked) {
			t.Errorf("%d bytes of a file were copied: %v", n, err)
		}
		say(c, "hello")
	})
	inTasks(t, &httptask.Server{HTTP: http.Server{Handler: h, ErrorLog: silent}}, func(ctx context.Context, own string) error {
		behind := httptask.Handler(ctx, h)
		return away(ctx, func() error {
			plainly(t, &http.Server{Handler: behind, ErrorLog: silent}, func(plain string) error {
				for _, at := range []string{own, plain} {
					got, err := talk(at, sameRow{send: get, closes: true})
					if err != nil || !strings.HasSuffix(got, "\r\n\r\nhello") {
						t.Errorf("the client got %q, %v", got, err)
					}
				}
				return nil
			})
			return nil
		})
	})
}

// TestBodyReadByTwo: a task and a goroutine of a handler read one body to its end, and each sees
// its trailer then, which was not announced.
func TestBodyReadByTwo(t *testing.T) {
	run(t, func(ctx context.Context) error {
		h := httptask.Handler(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var read [2]string
			first, second := make(chan struct{}), make(chan struct{})
			go func() {
				read[1] = readTrailer(r)
				<-first
				close(second)
			}()
			read[0] = readTrailer(r)
			close(first)
			_, _, err := rondo.Receive(r.Context(), second)
			fmt.Fprint(w, read, err)
		}))
		return away(ctx, func() error {
			plainly(t, &http.Server{Handler: h}, func(address string) error {
				got, err := talk(address, sameRow{send: lines("POST / HTTP/1.1", "Host: h", "Connection: close", "Transfer-Encoding: chunked",
					"", "5", "hello", "0", "Sum: 7", ""), closes: true})
				if !strings.HasSuffix(got, "[7 7] <nil>") {
					t.Errorf("%q", got)
				}
				return err
			})
			return nil
		})
	})
}

// readTrailer reads a body, and returns the field Sum of its trailer.
func readTrailer(r *http.Request) string {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return err.Error()
	}
	return r.Trailer.Get("Sum")
}
