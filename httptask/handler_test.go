package httptask_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/sim"
)

// inHandler runs fn as the handler of one request, POST with a body, and returns the
// answer.
func inHandler(t *testing.T, body string, fn http.HandlerFunc) (answer string) {
	t.Helper()
	inTasks(t, &httptask.Server{HTTP: http.Server{Handler: fn, ErrorLog: silent}}, func(ctx context.Context, address string) error {
		return away(ctx, func() error {
			defer http.DefaultClient.CloseIdleConnections()
			a, err := http.Post("http://"+address, "text/plain", strings.NewReader(body))
			if err != nil {
				return err
			}
			defer a.Body.Close()
			b, err := io.ReadAll(a.Body)
			answer = fmt.Sprint(a.StatusCode, " ", string(b))
			return err
		})
	})
	return answer
}

// TestPanic: a panic in a handler ends its connection and nothing else, and the log has
// the handler's stack.
func TestPanic(t *testing.T) {
	var logged logbook
	mux := http.NewServeMux()
	mux.HandleFunc("/panic", func(w http.ResponseWriter, r *http.Request) { explode() })
	mux.HandleFunc("/ok", func(w http.ResponseWriter, r *http.Request) { say(w, "ok") })
	s := &httptask.Server{HTTP: http.Server{Handler: mux, ErrorLog: log.New(&logged, "", 0)}}
	inTasks(t, s, func(ctx context.Context, address string) error {
		client := httptask.Client(ctx)
		defer client.CloseIdleConnections()
		for range 3 {
			if _, err := ask(ctx, client, "http://"+address+"/panic"); !errors.Is(err, io.EOF) {
				t.Errorf("the client got %v", err)
			}
			if body, err := ask(ctx, client, "http://"+address+"/ok"); body != "ok" || err != nil {
				return fmt.Errorf("%q, %v", body, err)
			}
		}
		return nil
	})
	// The client asks once more where it reuses a connection.
	if text := logged.String(); strings.Count(text, ": boom\n") < 3 || !strings.Contains(text, "explode(") {
		t.Errorf("the log:\n%s", text)
	}
}

//go:noinline
func explode() { panic(errors.New("boom")) }

// TestPanicValue: middleware around Handler finds the error that a handler panicked
// with.
func TestPanicValue(t *testing.T) {
	boom := errors.New("boom")
	run(t, func(ctx context.Context) error {
		h := httptask.Handler(ctx, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(boom) }))
		return away(ctx, func() error {
			defer func() {
				if err, ok := recover().(error); !ok || !errors.Is(err, boom) {
					t.Errorf("ServeHTTP panicked with %v", err)
				}
			}()
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
			return errors.New("ServeHTTP returned")
		})
	})
}

// TestTimeout: a handler's own time limit ends its read, and it can still answer.
func TestTimeout(t *testing.T) {
	t.Parallel()
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := rondo.Timeout(r.Context(), 20*time.Millisecond, func(ctx context.Context) error {
			_, err := io.ReadAll(r.Body)
			return err
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Timeout returned %v", err)
		}
		http.Error(w, "too slow", http.StatusRequestTimeout)
	})
	inTasks(t, &httptask.Server{HTTP: http.Server{Handler: h}}, func(ctx context.Context, address string) error {
		return away(ctx, func() error {
			got, err := talk(address, sameRow{send: "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\nabc", closes: true})
			if !strings.HasPrefix(got, "HTTP/1.1 408 ") || !strings.HasSuffix(got, "too slow\n") {
				t.Errorf("%q", got)
			}
			return err
		})
	})
}

// TestFile: a file is copied away from the loop, in order with what is written.
func TestFile(t *testing.T) {
	name := t.TempDir() + "/file"
	text := strings.Repeat("rondo ", 100_000)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got := inHandler(t, "", func(w http.ResponseWriter, r *http.Request) {
		f, err := os.Open(name)
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		say(w, "<")
		if n, err := io.CopyN(w, f, 6); n != 6 || err != nil {
			t.Error(n, err)
		}
		say(w, "|")
		if n, err := io.Copy(w, f); n != int64(len(text)-6) || err != nil {
			t.Error(n, err)
		}
		say(w, ">")
	})
	if want := "200 <rondo |" + text[6:] + ">"; got != want {
		t.Errorf("%.60q (%d bytes)", got, len(got))
	}
	if got := inHandler(t, "", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, name) }); got != "200 "+text {
		t.Errorf("ServeFile: %.60q", got)
	}
}

// TestMultipart: net/http removes the files that it made of a form.
func TestMultipart(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	made := 0
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseMultipartForm(1); err != nil {
			t.Error(err)
		}
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Error(err)
		}
		made += len(files)
	})
	inTasks(t, &httptask.Server{HTTP: http.Server{Handler: h}}, func(ctx context.Context, address string) error {
		return away(ctx, func() error {
			from, to := io.Pipe()
			form := multipart.NewWriter(to)
			go func() {
				part, err := form.CreateFormFile("a", "a")
				if err == nil {
					_, err = part.Write(make([]byte, 100_000))
				}
				to.CloseWithError(errors.Join(err, form.Close()))
			}()
			defer http.DefaultClient.CloseIdleConnections()
			a, err := http.Post("http://"+address, form.FormDataContentType(), from)
			if err != nil {
				return err
			}
			return a.Body.Close()
		})
	})
	left, err := os.ReadDir(dir)
	if made != 1 || len(left) != 0 || err != nil {
		t.Errorf("%d files were made, %d are left: %v", made, len(left), err)
	}
}

// TestLeftBehind: a task or goroutine that uses the request when the handler has
// returned gets an error, and keeps nobody.
func TestLeftBehind(t *testing.T) {
	t.Parallel()
	var writing, reading, later error
	tasks := 3
	end := func() { tasks-- }
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		rondo.Go(ctx, func(ctx context.Context) error {
			defer end()
			for writing == nil {
				_, writing = w.Write(make([]byte, 100_000))
			}
			return nil
		})
		rondo.Go(ctx, func(ctx context.Context) error {
			defer end()
			for reading == nil {
				_, reading = r.Body.Read(make([]byte, 100_000))
			}
			return nil
		})
		rondo.Go(ctx, func(ctx context.Context) error {
			defer end()
			err := rondo.WaitCanceled(ctx)
			_, later = w.Write([]byte("x"))
			w.WriteHeader(500)
			return err
		})
		if err := rondo.Sleep(ctx, 10*time.Millisecond); err != nil {
			t.Error(err)
		}
	})
	inTasks(t, &httptask.Server{HTTP: http.Server{Handler: h, ErrorLog: silent}}, func(ctx context.Context, address string) error {
		c := connect(t, address)
		defer c.Close()
		if _, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\nabc"); err != nil {
			return err
		}
		return until(ctx, func() bool { return tasks == 0 && later != nil })
	})
	for _, err := range []error{writing, reading, later} {
		if err == nil {
			t.Errorf("writing %v, reading %v, later %v", writing, reading, later)
		}
	}
	if later == nil || !strings.Contains(later.Error(), "the handler of this request has returned") {
		t.Errorf("a write after the end returned %v", later)
	}
}

// TestMiddleware: a ResponseWriter that is none of net/http's is used as it is.
func TestMiddleware(t *testing.T) {
	run(t, func(ctx context.Context) error {
		h := httptask.Handler(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("A", "1")
			w.WriteHeader(201)
			w.Header().Set("B", "1")
			say(w, "hello")
			_, hijacks := w.(http.Hijacker)
			_, _, err := http.NewResponseController(w).Hijack()
			fmt.Fprint(w, hijacks, " ", errors.Is(err, http.ErrNotSupported))
		}))
		return away(ctx, func() error {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
			if a := w.Result(); a.StatusCode != 201 || a.Header.Get("A") != "1" || a.Header.Get("B") != "" || w.Body.String() != "hellofalse true" {
				t.Errorf("%d %v %q", a.StatusCode, a.Header, w.Body)
			}
			return nil
		})
	})
}

// TestTimeoutHandler: around Handler it cancels the task.
func TestTimeoutHandler(t *testing.T) {
	var cause error
	run(t, func(ctx context.Context) error {
		h := http.TimeoutHandler(httptask.Handler(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			cause = rondo.Sleep(r.Context(), time.Hour)
		})), 10*time.Millisecond, "slow")
		w := httptest.NewRecorder()
		err := away(ctx, func() error {
			h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
			return nil
		})
		if w.Code != 503 || w.Body.String() != "slow" {
			t.Errorf("%d %q", w.Code, w.Body)
		}
		return errors.Join(err, until(ctx, func() bool { return cause != nil }))
	})
	if !errors.Is(cause, context.DeadlineExceeded) {
		t.Errorf("the handler's wait returned %v", cause)
	}
}

// TestInTask: in a task, a Handler is a function call, also when time is simulated.
func TestInTask(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		h := httptask.Handler(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := rondo.Sleep(r.Context(), time.Hour); err != nil {
				t.Error(err)
			}
			say(w, "late")
		}))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		if w.Body.String() != "late" {
			t.Errorf("%q", w.Body)
		}
	})
}

// TestEnded: requests for a scope or loop that is ending, or has ended, are refused.
func TestEnded(t *testing.T) {
	var ofLoop, ofScope, ofCancelled http.Handler
	h := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a handler was called") })
	ask := func(what string, h http.Handler) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		if w.Code != 503 || !strings.Contains(w.Body.String(), "is ending, or has ended.") {
			t.Errorf("%s: %d %q", what, w.Code, w.Body)
		}
	}
	run(t, func(ctx context.Context) error {
		ofLoop = httptask.Handler(ctx, h)
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			ofScope = httptask.Handler(g, h)
			return nil
		})
		return errors.Join(err, rondo.Group(ctx, func(g *rondo.Scope) error {
			ofCancelled = httptask.Handler(g, h)
			g.Cancel(nil)
			return rondo.Shield(ctx, func(ctx context.Context) error {
				return away(ctx, func() error {
					ask("a scope that has ended", ofScope)
					ask("a scope that is cancelled", ofCancelled)
					return nil
				})
			})
		}))
	})
	ask("a loop that has ended", ofLoop)
	ask("a scope of such a loop", ofScope)
	var ended context.Context
	run(t, func(ctx context.Context) error {
		ended = ctx
		return nil
	})
	ask("a Handler that was made when its loop had ended", httptask.Handler(ended, h))
}

// panics runs fn and checks its panic.
func panics(t testing.TB, want string, fn func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
			t.Errorf("panic %q, not %q", got, want)
		}
	}()
	fn()
}

// TestMisuse: what a caller got wrong is told in one sentence.
func TestMisuse(t *testing.T) {
	h := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	bare := context.Background()
	var none context.Context
	panics(t, "rondo: httptask.Handler with a nil context", func() { httptask.Handler(none, h) })
	panics(t, "rondo: httptask.Handler: this ctx belongs to no running loop; pass the ctx of a task", func() { httptask.Handler(bare, h) })
	panics(t, "rondo: httptask.Client: this ctx belongs to no running loop; pass the ctx of a task", func() { httptask.Client(bare) })
	panics(t, "rondo: httptask.Transport: this ctx belongs to no running loop; pass the ctx of a task", func() { httptask.Transport(bare, nil) })
	run(t, func(ctx context.Context) error {
		panics(t, "rondo: httptask.Handler with a nil handler", func() { httptask.Handler(ctx, nil) })
		panics(t, "rondo: httptask.Handler with a nil handler", func() { httptask.Handler(ctx, http.HandlerFunc(nil)) })
		panics(t, "rondo: httptask.Serve with a nil handler", func() { _ = httptask.Serve(ctx, nil, nil) })
		panics(t, "rondo: httptask.Serve with a nil Listener", func() { _ = httptask.Serve(ctx, nil, h) })
		if err := new(httptask.Server).ListenAndServe(bare); !errors.Is(err, rondo.ErrNoLoop) {
			t.Errorf("ListenAndServe outside a loop: %v", err)
		}
		l := listen(t)
		if err := httptask.Serve(bare, l, h); !errors.Is(err, rondo.ErrNoLoop) {
			t.Errorf("Serve outside a loop: %v", err)
		}
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("the listener is open: %v", err)
		}
		return nil
	})
}

// TestCut: a write that a cancellation has ended cuts the answer, and a client that has only
// ended its side gets all of it.
func TestCut(t *testing.T) {
	const size = 4 << 20
	for i := range 8 {
		half, engine, copied := i&1 != 0, i&2 != 0, i&4 != 0
		t.Run(fmt.Sprint("half=", half, " engine=", engine, " copied=", copied), func(t *testing.T) {
			say := say
			if copied {
				say = func(w io.Writer, text string) {
					_, _ = w.(io.ReaderFrom).ReadFrom(struct{ io.Reader }{strings.NewReader(text)})
				}
			}
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if copied {
					w.Header().Set("Content-Length", strconv.Itoa(size))
				}
				say(w, strings.Repeat("x", size/2))
				if half {
					_ = rondo.WaitCanceled(r.Context())
				} else {
					_ = rondo.Timeout(r.Context(), 0, func(ctx context.Context) error {
						say(w, strings.Repeat("y", size/4))
						return nil
					})
				}
				say(w, strings.Repeat("x", size/2))
			})
			use := func(address string) error {
				c := connect(t, address)
				defer c.Close()
				_, _ = io.WriteString(c, get)
				if half {
					if err := c.(*net.TCPConn).CloseWrite(); err != nil {
						return err
					}
				}
				a, err := http.ReadResponse(bufio.NewReader(c), nil)
				if err != nil {
					return err
				}
				b, err := io.ReadAll(a.Body)
				if half && (len(b) != size || err != nil) || !half && (err == nil || len(b) > size/2 && b[size/2] == 'x') {
					t.Errorf("%d bytes, %v", len(b), err)
				}
				return nil
			}
			if engine {
				inTasks(t, &httptask.Server{HTTP: http.Server{Handler: h, ErrorLog: silent}}, func(ctx context.Context, address string) error {
					return away(ctx, func() error { return use(address) })
				})
				return
			}
			run(t, func(ctx context.Context) error {
				return rondo.Group(ctx, func(g *rondo.Scope) error {
					return away(ctx, func() error {
						plainly(t, &http.Server{Handler: httptask.Handler(g, h), ErrorLog: silent}, use)
						return nil
					})
				})
			})
		})
	}
}

// TestWriteDeadline: a write that has passed its deadline says so, also of HTTP/2, which ends the
// stream then and cancels the handler.
func TestWriteDeadline(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprint("http2=", http2), func(t *testing.T) {
			wrote := make(chan error, 1)
			h := func(w http.ResponseWriter, r *http.Request) {
				control := http.NewResponseController(w)
				err := errors.Join(control.Flush(), control.SetWriteDeadline(time.Now().Add(20*time.Millisecond)))
				for err == nil {
					_, err = w.Write(make([]byte, 100_000))
				}
				wrote <- err
			}
			run(t, func(ctx context.Context) error {
				s := httptest.NewUnstartedServer(httptask.Handler(ctx, http.HandlerFunc(h)))
				s.Config.ErrorLog, s.EnableHTTP2 = silent, http2
				if http2 {
					s.StartTLS()
				} else {
					s.Start() // crypto/tls would try for 5 s to tell the client of the end
				}
				return away(ctx, func() error {
					defer s.Close()
					a, err := s.Client().Get(s.URL)
					if err != nil {
						return err
					}
					defer a.Body.Close() // nothing is read
					if err := <-wrote; !errors.Is(err, os.ErrDeadlineExceeded) {
						t.Errorf("Write returned %v", err)
					}
					return nil
				})
			})
		})
	}
}

// A slowWriter is interrupted an hour before its Write returns.
type slowWriter struct {
	*httptest.ResponseRecorder
	begun, interrupted chan struct{}
	begin, interrupt   sync.Once
	written            atomic.Bool
}

func (w *slowWriter) Write([]byte) (int, error) {
	w.begin.Do(func() { close(w.begun) })
	<-w.interrupted
	<-time.After(time.Hour)
	w.written.Store(true)
	return 0, os.ErrDeadlineExceeded
}

func (w *slowWriter) SetWriteDeadline(time.Time) error {
	w.interrupt.Do(func() { close(w.interrupted) })
	return nil
}

// TestWriteOutlivesHandler: a goroutine that a handler has left behind is in the middle of a
// write when the handler returns. net/http has its ResponseWriter back when that has ended.
func TestWriteOutlivesHandler(t *testing.T) {
	sim.Config{Seeds: 20, Goroutines: true}.Test(t, func(ctx context.Context) {
		w := &slowWriter{ResponseRecorder: httptest.NewRecorder(), begun: make(chan struct{}), interrupted: make(chan struct{})}
		h := httptask.Handler(ctx, http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
			go func() {
				<-time.After(time.Hour) // the handler waits by then, in all runs
				_, _ = to.Write(make([]byte, 1<<20))
			}()
			_, _, _ = rondo.Receive(r.Context(), w.begun)
		}))
		err := rondo.OffloadFunc(ctx, func(context.Context) error {
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
			if !w.written.Load() {
				return errors.New("ServeHTTP returns before a Write of its ResponseWriter")
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestHandlerBehindMiddleware: the handler's writer can do what that of a middleware can, and no
// more.
func TestHandlerBehindMiddleware(t *testing.T) {
	seen := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, flushes := w.(http.Flusher)
		_, hijacks := w.(http.Hijacker)
		fmt.Fprint(w, flushes, hijacks)
	})
	run(t, func(ctx context.Context) error {
		h := httptask.Handler(ctx, seen)
		for want, behind := range map[string]http.Handler{
			"true true": h,
			"false false": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				h.ServeHTTP(struct{ http.ResponseWriter }{w}, r)
			}),
			"true false": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				h.ServeHTTP(struct {
					http.ResponseWriter
					http.Flusher
				}{w, w.(http.Flusher)}, r)
			}),
			"false true": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				h.ServeHTTP(struct {
					http.ResponseWriter
					http.Hijacker
				}{w, w.(http.Hijacker)}, r)
			}),
			"false false ": http.TimeoutHandler(h, time.Minute, ""),
		} {
			err := away(ctx, func() error {
				plainly(t, &http.Server{Handler: behind}, func(address string) error {
					got, err := talk(address, sameRow{send: get})
					if !strings.Contains(got, "\r\n\r\n"+strings.TrimSpace(want)+"HTTP/1.1") {
						t.Errorf("%s: %q", want, got)
					}
					return err
				})
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// TestDeadlineOfRequest: the ctx of a request has the earlier one of the deadlines above it. A
// Server gives requests its Grace when its own ctx ends, so there that of BaseContext alone counts.
func TestDeadlineOfRequest(t *testing.T) {
	soon, late := time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)
	for _, c := range []struct{ loop, request, want time.Time }{
		{time.Time{}, soon, soon}, {late, soon, soon}, {soon, late, soon}, {soon, time.Time{}, soon},
	} {
		run(t, func(ctx context.Context) error {
			under := func(parent context.Context, at time.Time) (context.Context, context.CancelFunc) {
				if at.IsZero() {
					return context.WithCancel(parent)
				}
				return context.WithDeadline(parent, at)
			}
			above, cancel := under(ctx, c.loop)
			defer cancel()
			base, cancel := under(context.Background(), c.request)
			defer cancel()
			s := &httptask.Server{HTTP: http.Server{
				BaseContext: func(net.Listener) context.Context { return base },
				Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if got, _ := r.Context().Deadline(); !got.Equal(c.request) {
						t.Errorf("the deadline in a Server is %v, want %v", got, c.request)
					}
				}),
			}}
			err := serving(above, s, func(ctx context.Context, address string) error {
				return away(ctx, func() error { _, err := talk(address, sameRow{send: get}); return err })
			})
			if err != nil {
				return err
			}
			return rondo.Group(above, func(g *rondo.Scope) error {
				h := httptask.Handler(g, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if got, _ := r.Context().Deadline(); !got.Equal(c.want) {
						t.Errorf("the deadline is %v, want %v", got, c.want)
					}
				}))
				return away(g, func() error {
					plainly(t, &http.Server{Handler: h, BaseContext: func(net.Listener) context.Context { return base }}, func(address string) error {
						_, err := talk(address, sameRow{send: get})
						return err
					})
					return nil
				})
			})
		})
	}
}

// A severed writer is one of a middleware that has lost its client.
type severed struct {
	http.ResponseWriter
	http.Flusher
}

var errSevered = errors.New("severed")

func (severed) Write([]byte) (int, error) { return 0, errSevered }

// TestWriteAfterFailure: when what is kept, or a large Write, could not be passed on, each later
// Write fails too.
func TestWriteAfterFailure(t *testing.T) {
	f, err := os.Open("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for name, pass := range map[string]func(w http.ResponseWriter) error{
		"Flush":       func(w http.ResponseWriter) error { return http.NewResponseController(w).Flush() },
		"large Write": func(w http.ResponseWriter) error { _, err := w.Write(make([]byte, 100_000)); return err },
		"file":        func(w http.ResponseWriter) error { _, err := io.Copy(w, f); return err },
	} {
		for _, kept := range []string{"", "kept", strings.Repeat("kept", 1000)} { // the last one in two pieces
			if name != "large Write" && kept == "" {
				continue // nothing is passed on
			}
			run(t, func(ctx context.Context) error {
				h := httptask.Handler(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if _, err := io.WriteString(w, kept); err != nil {
						t.Errorf("Write: %v", err)
					}
					if err := pass(w); !errors.Is(err, errSevered) {
						t.Errorf("%s: %v", name, err)
					}
					if n, err := io.WriteString(w, "lost"); n != 0 || !errors.Is(err, errSevered) {
						t.Errorf("Write after %d bytes and a failed %s: %d, %v", len(kept), name, n, err)
					}
				}))
				return away(ctx, func() error {
					w := httptest.NewRecorder()
					h.ServeHTTP(severed{w, w}, httptest.NewRequest(http.MethodGet, "/", nil))
					return nil
				})
			})
		}
	}
}
