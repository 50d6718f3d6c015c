package httptask_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/internal/peer"
)

// A slowBody is code of the program: it uses what tasks share, and suspends.
type slowBody struct {
	ctx    context.Context
	count  *int
	left   int
	closed *int
}

func (b *slowBody) Read(p []byte) (int, error) {
	if b.left--; b.left < 0 {
		return 0, io.EOF
	}
	*b.count++
	return copy(p, "piece,"), rondo.Sleep(b.ctx, time.Millisecond)
}

func (b *slowBody) Close() error { *b.closed++; return nil }

// TestUpload: the body of a request is read in a task, while others run.
func TestUpload(t *testing.T) {
	h := http.HandlerFunc(echo)
	inTasks(t, &httptask.Server{HTTP: http.Server{Handler: h}}, func(ctx context.Context, address string) error {
		client := httptask.Client(ctx)
		defer client.CloseIdleConnections()
		count, closed := 0, 0
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			for range 5 {
				g.Go(func(ctx context.Context) error {
					return uploadPieces(t, client, address, &slowBody{ctx, &count, 10, &closed})
				})
			}
			return nil
		})
		if count != 50 {
			t.Errorf("%d pieces were read", count)
		}
		return errors.Join(err, until(ctx, func() bool { return closed == 5 }))
	})
}

// uploadPieces sends a body of ten pieces to a server that returns it.
func uploadPieces(t *testing.T, client *http.Client, address string, body io.Reader) error {
	a, err := client.Post("http://"+address, "", body)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	got, err := io.ReadAll(a.Body)
	if string(got) != strings.Repeat("piece,", 10) {
		t.Errorf("%q came back", got)
	}
	return err
}

// TestUploadInALimit: the limit of a scope does not hold back the body of a request for which a
// task of the scope waits.
func TestUploadInALimit(t *testing.T) {
	inTasks(t, &httptask.Server{HTTP: http.Server{Handler: http.HandlerFunc(echo)}}, func(ctx context.Context, address string) error {
		count, closed := 0, 0
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.SetLimit(1)
			client := httptask.Client(g)
			for range 2 {
				g.Go(func(ctx context.Context) error {
					defer client.CloseIdleConnections()
					return uploadPieces(t, client, address, &slowBody{ctx, &count, 10, &closed})
				})
			}
			return nil
		})
	})
}

// TestUploadAgain: a body that the request can make again is code of the program each time.
func TestUploadAgain(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "/", http.StatusTemporaryRedirect)
			return
		}
		echo(w, r)
	})
	inTasks(t, &httptask.Server{HTTP: http.Server{Handler: h}}, func(ctx context.Context, address string) error {
		client := httptask.Client(ctx)
		defer client.CloseIdleConnections()
		count, made, closed := 0, 0, 0
		body := func() (io.ReadCloser, error) {
			made++
			return &slowBody{ctx, &count, 10, &closed}, nil
		}
		first, _ := body()
		r, err := http.NewRequestWithContext(ctx, "POST", "http://"+address+"/moved", first)
		if err != nil {
			return err
		}
		r.GetBody = body
		a, err := client.Do(r)
		if err != nil {
			return err
		}
		defer a.Body.Close()
		got, err := io.ReadAll(a.Body)
		if string(got) != strings.Repeat("piece,", 10) || made != 2 {
			t.Errorf("%q came back, of %d bodies", got, made)
		}
		// net/http closes the first one twice.
		return errors.Join(err, until(ctx, func() bool { return closed >= made }))
	})
}

// TestRetriedUpload: net/http asks for another copy of the body on a goroutine, and gets one that
// is read and closed in tasks.
func TestRetriedUpload(t *testing.T) {
	refused := errors.New("refused")
	run(t, func(ctx context.Context) error {
		count, made, closed := 0, 0, 0
		client := &http.Client{Transport: httptask.Transport(ctx, roundTripper(func(r *http.Request) (*http.Response, error) {
			for range 3 {
				body, err := r.GetBody()
				if err != nil {
					return nil, err
				}
				text, err := io.ReadAll(body)
				if err := errors.Join(err, body.Close()); err != nil || len(text) != 60 {
					return nil, fmt.Errorf("%d bytes, %w", len(text), err)
				}
			}
			if _, err := r.GetBody(); err == nil || err.Error() != "no more" {
				return nil, fmt.Errorf("the fourth copy: %w", err)
			}
			return nil, errors.Join(refused, r.Body.Close())
		}))}
		r, err := http.NewRequestWithContext(ctx, "POST", "http://nowhere.invalid", &slowBody{ctx, &count, 10, &closed})
		if err != nil {
			return err
		}
		r.GetBody = func() (io.ReadCloser, error) {
			if made++; made > 3 {
				return nil, errors.New("no more")
			}
			return &slowBody{ctx, &count, 10, &closed}, rondo.Yield(ctx)
		}
		if _, err := client.Do(r); !errors.Is(err, refused) || count != 30 || closed != 4 {
			t.Errorf("%v, %d pieces were read, %d bodies closed", err, count, closed)
		}
		return nil
	})
}

// TestBodyIsClosed: the body of a request is closed whenever net/http does so. The scope of the
// Transport may be cancelled by then, or have ended, and so may the loop.
func TestBodyIsClosed(t *testing.T) {
	for _, when := range []string{"in the scope", "when it is cancelled", "when it has ended", "after the loop"} {
		t.Run(when, func(t *testing.T) {
			count, closed := 0, 0
			var sent io.ReadCloser
			shut := func() error { return sent.Close() }
			keep := roundTripper(func(r *http.Request) (*http.Response, error) {
				sent = r.Body
				return httptest.NewRecorder().Result(), nil
			})
			run(t, func(ctx context.Context) error {
				err := rondo.Group(ctx, func(g *rondo.Scope) error {
					r, err := http.NewRequestWithContext(g, "POST", "http://nowhere.invalid", &slowBody{g, &count, 1, &closed})
					if err != nil {
						return err
					}
					if _, err := httptask.Transport(g, keep).RoundTrip(r); err != nil {
						return err
					}
					if when == "when it is cancelled" {
						g.Cancel(nil)
						return rondo.Shield(g, func(ctx context.Context) error { return away(ctx, shut) })
					}
					if when == "in the scope" {
						return away(g, shut)
					}
					return nil
				})
				if when == "when it has ended" {
					err = errors.Join(err, away(ctx, shut))
				}
				return err
			})
			if when == "after the loop" {
				if err := shut(); err != nil {
					t.Error(err)
				}
			}
			if closed != 1 {
				t.Errorf("the body was closed %d times", closed)
			}
		})
	}
}

// An endlessBody waits for ever.
type endlessBody struct {
	ctx          context.Context
	err          *error
	read, closed *bool
}

func (b endlessBody) Read([]byte) (int, error) {
	*b.read = true
	*b.err = rondo.Sleep(b.ctx, time.Hour)
	return 0, *b.err
}

func (b endlessBody) Close() error { *b.closed = true; return nil }

// TestCancelRequest: a task that is cancelled ends its request, whatever that waits
// for; and the server's handler ends too.
func TestCancelRequest(t *testing.T) {
	t.Parallel()
	for _, wait := range []string{"answer", "body of the answer", "body of the request", "relay", "before"} {
		t.Run(wait, func(t *testing.T) {
			cut := errors.New("cut")
			asked, ended, want := 0, 0, 1
			if wait == "relay" {
				want = 2
			}
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				defer func() { ended++ }()
				if wait == "body of the answer" || r.URL.Path == "/endless" {
					w.(http.Flusher).Flush()
				}
				_, _ = io.Copy(io.Discard, r.Body)
				_ = rondo.Sleep(r.Context(), time.Hour)
			})
			inTasks(t, &httptask.Server{HTTP: http.Server{Handler: h}}, func(ctx context.Context, address string) error {
				client := httptask.Client(ctx)
				defer client.CloseIdleConnections()
				var upload error
				read, closed := false, false
				task := rondo.Go(ctx, func(ctx context.Context) error {
					var body io.Reader
					if wait == "body of the request" || wait == "before" {
						body = endlessBody{ctx, &upload, &read, &closed}
					}
					if wait == "relay" { // a body whose Read has no ctx of its own
						a, err := client.Get("http://" + address + "/endless")
						if err != nil {
							return err
						}
						defer a.Body.Close()
						body = struct{ io.Reader }{a.Body}
					}
					if wait == "before" {
						rondo.Current(ctx).Cancel(cut)
					}
					// The context is none of the task's: its cancellation ends the request anyway.
					a, err := client.Post("http://"+address, "", body)
					if err != nil {
						return err
					}
					defer a.Body.Close()
					_, err = io.ReadAll(a.Body)
					return err
				})
				if wait != "before" {
					if err := until(ctx, func() bool { return asked == want && (read || wait != "body of the request") }); err != nil {
						return err
					}
					task.Cancel(cut)
				}
				if err := task.Wait(ctx); !errors.Is(err, cut) {
					t.Errorf("the request returned %v", err)
				}
				return until(ctx, func() bool { return ended == asked && (!read || upload != nil) && (closed || wait != "before") })
			})
		})
	}
}

// TestGoroutineClient: a goroutine that is no task uses a Client too.
func TestGoroutineClient(t *testing.T) {
	h := http.HandlerFunc(echo)
	inTasks(t, &httptask.Server{HTTP: http.Server{Handler: h}}, func(ctx context.Context, address string) error {
		client := httptask.Client(ctx)
		defer client.CloseIdleConnections()
		return away(ctx, func() error {
			a, err := client.Post("http://"+address, "", io.NopCloser(strings.NewReader("hello")))
			if err != nil {
				return err
			}
			defer a.Body.Close()
			b, err := io.ReadAll(a.Body)
			if string(b) != "hello" {
				t.Errorf("%q", b)
			}
			if err != nil {
				return err
			}
			if a, err = client.Head("http://" + address); err == nil && a.Body != http.NoBody { // as of net/http
				t.Errorf("the body of an answer without one is a %T", a.Body)
			}
			return err
		})
	})
}

// TestReverseProxy: httputil's proxy in tasks, before a server in tasks of the same
// loop: bodies both ways, an event stream. A FlushInterval above 0 holds a sync.Mutex
// while it waits for the client, here a task of the loop that the Mutex stops.
func TestReverseProxy(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /echo", echo)
	mux.HandleFunc("GET /events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 5 {
			fmt.Fprintf(w, "data: %d\n\n", i)
			w.(http.Flusher).Flush()
			if err := rondo.Sleep(r.Context(), time.Millisecond); err != nil {
				t.Error(err)
			}
		}
	})
	inTasks(t, &httptask.Server{HTTP: http.Server{Handler: mux}}, func(ctx context.Context, address string) error {
		for _, interval := range []time.Duration{0, -1} {
			base := new(http.Transport)
			proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address})
			proxy.Transport, proxy.FlushInterval = httptask.Transport(ctx, base), interval
			err := serving(ctx, &httptask.Server{HTTP: http.Server{Handler: proxy}}, func(ctx context.Context, address string) error {
				defer base.CloseIdleConnections()
				client := httptask.Client(ctx)
				defer client.CloseIdleConnections()
				body := strings.Repeat("rondo ", 50_000)
				a, err := client.Post("http://"+address+"/echo", "", strings.NewReader(body))
				if err != nil {
					return err
				}
				got, err := io.ReadAll(a.Body)
				a.Body.Close()
				if string(got) != body || err != nil {
					t.Errorf("%d bytes came back: %v", len(got), err)
				}
				events, err := ask(ctx, client, "http://"+address+"/events")
				if !strings.HasSuffix(events, "data: 4\n\n") {
					t.Errorf("%q", events)
				}
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// switching is a handler that takes its connection over, answers 101 Switching Protocols, and then
// calls serve.
func switching(t *testing.T, serve func(r *http.Request, c net.Conn, in io.Reader)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c, in, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		say(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+r.Header.Get("Upgrade")+"\r\n\r\n")
		serve(r, c, in)
	}
}

// TestReverseProxySwitches: httputil.ReverseProxy waits by a channel for the end of a connection
// that has switched protocols. In a task that is refused, because it would stop the loop; Blocking
// does it, of a Server and behind net/http.
func TestReverseProxySwitches(t *testing.T) {
	backend := httptest.NewServer(switching(t, func(_ *http.Request, c net.Conn, in io.Reader) { _, _ = io.Copy(c, in) }))
	defer backend.Close()
	ask := func(address string) (status int, echoed string, err error) {
		c := connect(t, address)
		defer c.Close()
		say(c, "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		in := bufio.NewReader(c)
		a, err := http.ReadResponse(in, nil)
		if err != nil || a.StatusCode != http.StatusSwitchingProtocols {
			return a.StatusCode, "", err
		}
		say(c, "hello\n")
		echoed, err = in.ReadString('\n')
		return a.StatusCode, echoed, err
	}
	to, err := url.Parse(backend.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, blocking := range []bool{false, true} {
		run(t, func(ctx context.Context) error {
			base, proxy := new(http.Transport), httputil.NewSingleHostReverseProxy(to)
			defer base.CloseIdleConnections()
			var h http.Handler = proxy
			proxy.ErrorLog, proxy.Transport = silent, httptask.Transport(ctx, base)
			want, wanted := http.StatusBadGateway, ""
			if blocking {
				h, proxy.Transport = httptask.Blocking(proxy), base
				want, wanted = http.StatusSwitchingProtocols, "hello\n"
			}
			check := func(address string) error {
				status, echoed, err := ask(address)
				if status != want || echoed != wanted {
					t.Errorf("blocking=%v: status %d, %q came back", blocking, status, echoed)
				}
				return err
			}
			return errors.Join(
				serving(ctx, &httptask.Server{HTTP: http.Server{Handler: h}}, func(ctx context.Context, address string) error {
					return away(ctx, func() error { return check(address) })
				}),
				away(ctx, func() (err error) {
					plainly(t, &http.Server{Handler: httptask.Handler(ctx, h)}, func(address string) error {
						err = check(address)
						return nil
					})
					return err
				}))
		})
	}
}

// A halfCloser writes, and can end that alone.
type halfCloser interface {
	io.Writer
	CloseWrite() error
}

// TestHalfClose: when protocols were switched, one side ends its sending, and the other one goes
// on and ends after it: through a ReverseProxy, of a Server and behind net/http, and between tasks.
// The side that ends first is the client, or the backend.
func TestHalfClose(t *testing.T) {
	run(t, func(ctx context.Context) error {
		var got []string // of the backend, which is a handler in a task, behind net/http
		backend := httptest.NewServer(httptask.Handler(ctx, switching(t, func(r *http.Request, c net.Conn, in io.Reader) {
			say(c, "begun\n")
			var err error
			if r.URL.Path == "/first" {
				err = c.(halfCloser).CloseWrite()
			}
			all, failed := io.ReadAll(in)
			if err := errors.Join(err, failed); err != nil {
				t.Error(err)
			}
			got = append(got, string(all))
			if r.URL.Path != "/first" {
				say(c, "rest")
			}
		})))
		defer func() { _ = away(ctx, func() error { backend.Close(); return nil }) }()
		to, err := url.Parse(backend.URL)
		if err != nil {
			return err
		}
		base := new(http.Transport)
		defer base.CloseIdleConnections()
		proxy := httputil.NewSingleHostReverseProxy(to)
		proxy.ErrorLog, proxy.Transport = silent, httptask.Transport(ctx, base)
		blocking := httptask.Blocking(proxy)
		for _, path := range []string{"/", "/first"} {
			got = nil
			err := errors.Join(
				serving(ctx, &httptask.Server{HTTP: http.Server{Handler: blocking}}, func(ctx context.Context, address string) error {
					return away(ctx, func() error { return halfCloseOver(t, address, path) })
				}),
				away(ctx, func() (err error) {
					plainly(t, &http.Server{Handler: httptask.Handler(ctx, blocking)}, func(address string) error {
						err = halfCloseOver(t, address, path)
						return nil
					})
					return err
				}),
				upgraded(ctx, &http.Client{Transport: proxy.Transport}, backend.URL+path, func(c io.ReadWriter) error {
					return halfClose(t, bufio.NewReader(c), c.(halfCloser), path)
				}),
				until(ctx, func() bool { return len(got) == 3 }))
			if err != nil || strings.Join(got, "") != "xxx" {
				t.Errorf("%s: the backend has read %q, %v", path, got, err)
			}
		}
		return nil
	})
}

// halfClose is a client of TestHalfClose whose protocols were switched.
func halfClose(t *testing.T, in *bufio.Reader, out halfCloser, path string) error {
	if line, err := in.ReadString('\n'); line != "begun\n" || err != nil {
		return fmt.Errorf("the client reads %q, %w", line, err)
	}
	want := "rest"
	if path == "/first" {
		want = ""
		if _, err := in.ReadByte(); err != io.EOF {
			t.Errorf("when the backend has ended its side, the client reads %v", err)
		}
	}
	say(out, "x")
	if err := out.CloseWrite(); err != nil {
		return err
	}
	rest, err := io.ReadAll(in)
	if string(rest) != want {
		t.Errorf("%s: the client reads %q, %v", path, rest, err)
	}
	return err
}

// halfCloseOver is halfClose of a new connection, on a goroutine.
func halfCloseOver(t *testing.T, address, path string) error {
	c := connect(t, address)
	defer c.Close()
	say(c, "GET "+path+" HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
	in := bufio.NewReader(c)
	if a, err := http.ReadResponse(in, nil); err != nil || a.StatusCode != http.StatusSwitchingProtocols {
		return fmt.Errorf("%v, %w", a, err)
	}
	return halfClose(t, in, c.(halfCloser), path)
}

// upgraded asks, in a task, for another protocol, and calls use with the connection.
func upgraded(ctx context.Context, client *http.Client, url string, use func(c io.ReadWriter) error) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "x")
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	c, ok := answer.Body.(io.ReadWriter)
	if !ok {
		return fmt.Errorf("status %d", answer.StatusCode)
	}
	return use(c)
}

// TestCancelStream: when protocols were switched, the cancellation of a task that reads ends its
// wait, with the cause, and the connection.
func TestCancelStream(t *testing.T) {
	ended := make(chan error, 1)
	backend := httptest.NewServer(switching(t, func(_ *http.Request, _ net.Conn, in io.Reader) {
		_, err := io.ReadAll(in)
		ended <- err
	}))
	defer backend.Close()
	run(t, func(ctx context.Context) error {
		base := new(http.Transport)
		defer base.CloseIdleConnections()
		client := &http.Client{Transport: httptask.Transport(ctx, base)}
		return upgraded(ctx, client, backend.URL, func(c io.ReadWriter) error {
			var failed error
			reading := rondo.Go(ctx, func(context.Context) error {
				_, failed = c.Read(make([]byte, 1))
				return nil
			})
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
			reading.Cancel(errHere)
			if _ = reading.Wait(ctx); failed != errHere {
				t.Errorf("Read returns %v", failed)
			}
			err, _, received := rondo.Receive(ctx, ended)
			return errors.Join(err, received)
		})
	})
}

// TestNoHalfClose: the stream of a RoundTripper that cannot end its sending side has no CloseWrite.
func TestNoHalfClose(t *testing.T) {
	run(t, func(ctx context.Context) error {
		client := &http.Client{Transport: httptask.Transport(ctx, roundTripper(func(*http.Request) (*http.Response, error) {
			answer := httptest.NewRecorder().Result()
			answer.Body = struct {
				io.ReadCloser
				io.Writer
			}{answer.Body, io.Discard}
			return answer, nil
		}))}
		return upgraded(ctx, client, "http://nowhere.invalid", func(c io.ReadWriter) error {
			if _, ok := c.(halfCloser); ok {
				t.Errorf("%T has the method", c)
			}
			return nil
		})
	})
}

// TestEndOfBodyAfterAnswer: a handler that has taken all bytes of a body, and answers before it has
// looked for the end, still finds the end. A ReverseProxy does so: its Transport looks for the end
// when it has sent the last byte, and the answer may have come back by then. Of a body of which
// something was left, the rest is gone.
func TestEndOfBodyAfterAnswer(t *testing.T) {
	if !peer.Watches {
		return // net/http has the connections
	}
	for _, chunked := range []bool{false, true} {
		for left, want := range []error{io.EOF, http.ErrBodyReadAfterClose} {
			handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if _, err := io.ReadFull(r.Body, make([]byte, 5-left)); err != nil {
					t.Error(err)
				}
				if err := http.NewResponseController(w).Flush(); err != nil {
					t.Error(err)
				}
				if n, err := r.Body.Read(make([]byte, 1)); n != 0 || err != want {
					t.Errorf("chunked %v, %d bytes left: read %d bytes after the answer, and %v; want %v", chunked, left, n, err, want)
				}
			})
			inTasks(t, &httptask.Server{HTTP: http.Server{Handler: handler}}, func(ctx context.Context, address string) error {
				client := httptask.Client(ctx)
				defer client.CloseIdleConnections()
				var body io.Reader = strings.NewReader("rondo")
				if chunked {
					body = struct{ io.Reader }{body}
				}
				a, err := client.Post("http://"+address, "", body)
				if err != nil {
					return err
				}
				return a.Body.Close()
			})
		}
	}
}

// TestRoundTripperLeaves: a RoundTripper that calls Goexit, as a fake one does that calls FailNow
// of a test, is an error for the task. So is the body of an answer.
func TestRoundTripperLeaves(t *testing.T) {
	leave := readHook(runtime.Goexit)
	for _, late := range []bool{false, true} {
		run(t, func(ctx context.Context) error {
			client := &http.Client{Transport: httptask.Transport(ctx, roundTripper(func(*http.Request) (*http.Response, error) {
				if !late {
					runtime.Goexit()
				}
				return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(leave)}, nil
			}))}
			a, err := client.Get("http://nowhere.invalid")
			if late && err == nil {
				_, err = io.ReadAll(a.Body)
				a.Body.Close()
			}
			if err == nil || !strings.Contains(err.Error(), "runtime.Goexit") {
				t.Errorf("late=%v: %v", late, err)
			}
			return nil
		})
	}
}

// TestRoundTripperFails: errors of the base come out as they are, and its answers.
func TestRoundTripperFails(t *testing.T) {
	down := errors.New("down")
	run(t, func(ctx context.Context) error {
		for _, row := range []struct {
			answer *http.Response
			err    error
			want   string
		}{
			{nil, down, "down"},
			{nil, nil, "nil *Response with a nil error"},
			{httptest.NewRecorder().Result(), nil, ""},
		} {
			client := &http.Client{Transport: httptask.Transport(ctx, roundTripper(func(*http.Request) (*http.Response, error) {
				return row.answer, row.err
			}))}
			a, err := client.Get("http://nowhere.invalid")
			if row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) ||
				row.want == "" && (err != nil || a.StatusCode != 200) || row.err != nil && !errors.Is(err, row.err) {
				t.Errorf("%v, %v", a, err)
			}
			if err == nil {
				a.Body.Close()
			}
			client.CloseIdleConnections()
		}
		return nil
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
