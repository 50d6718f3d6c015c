//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package httptask_test

// Clients that do what no client should: what they get, and that the Server goes on.

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/internal/peer"
)

// hostile are conversations in which a client misbehaves. Each ends by the server.
var hostile = []struct {
	name   string
	pieces []string
	half   bool
	want   string // with DATE in place of the date
}{
	{"a body that the client was not told to send", []string{"POST /early HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n", "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n"}, true,
		"HTTP/1.1 200 OK\r\nDate: DATE\r\nContent-Length: 21\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n/early and no body of"},
	{"a body that the handler closes before the client was told to send it", []string{"POST /close HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"}, true,
		"HTTP/1.1 200 OK\r\nDate: DATE\r\nContent-Length: 10\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n<nil> true"},
	{"a body that the client was not told to send, and does not send", []string{"POST /early HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"}, false,
		"HTTP/1.1 200 OK\r\nDate: DATE\r\nContent-Length: 21\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n/early and no body of"},
	{"the same, closed", []string{"POST /close HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"}, false,
		"HTTP/1.1 200 OK\r\nDate: DATE\r\nContent-Length: 10\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n<nil> true"},
	{"the same, and the handler panics", []string{"POST /abort HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"}, false, ""},
	{"too long a body for the options of the server", []string{lines("OPTIONS * HTTP/1.1", "Host: h", "Content-Length: 4097", "") + strings.Repeat("x", 4097)}, true,
		"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nDate: DATE\r\nConnection: close\r\n\r\n"},
	{"more than the length", []string{"GET /long HTTP/1.1\r\nHost: h\r\n\r\n"}, true,
		"HTTP/1.1 200 OK\r\nContent-Length: 700\r\nDate: DATE\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n" + strings.Repeat("x", 700)},
}

func misused(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/early":
		fmt.Fprint(w, "/early and no body of")
		_, _ = io.ReadAll(r.Body)
	case "/close":
		closed := r.Body.Close()
		_, err := r.Body.Read(make([]byte, 1))
		fmt.Fprint(w, closed, " ", errors.Is(err, http.ErrBodyReadAfterClose))
	case "/abort":
		panic(http.ErrAbortHandler)
	case "/long":
		w.Header().Set("Content-Length", "700")
		n, err := io.Copy(w, onlyReader{strings.NewReader(strings.Repeat("x", 1000))})
		if n != 700 || !errors.Is(err, http.ErrContentLength) {
			panic(fmt.Sprint("copied ", n, ", ", err))
		}
	}
}

// An onlyReader has no other method.
type onlyReader struct{ io.Reader }

// TestHostile: what each of them gets.
func TestHostile(t *testing.T) {
	t.Parallel()
	var log logbook
	s := &httptask.Server{HTTP: http.Server{Handler: http.HandlerFunc(misused), ErrorLog: newLog(&log)}}
	inTasks(t, s, func(ctx context.Context, address string) error {
		return away(ctx, func() error {
			for _, row := range hostile {
				c, err := net.Dial("tcp", address)
				if err != nil {
					return err
				}
				var got []byte
				var reading sync.WaitGroup
				reading.Go(func() { got, err = io.ReadAll(c) })
				for _, p := range row.pieces {
					say(c, p)
				}
				if row.half {
					_ = c.(*net.TCPConn).CloseWrite() // it fails if the server has closed already
				}
				reading.Wait()
				c.Close()
				text := date.ReplaceAllString(string(got), "Date: DATE")
				if text != row.want || err != nil {
					t.Errorf("%s: %q, %v\nwant %q", row.name, text, err, row.want)
				}
			}
			return nil
		})
	})
	if log.String() != "" {
		t.Error(log.String())
	}
}

// TestBodyClosedElsewhere: a goroutine closes a body that the client was not told to send, while
// the handler answers. It is for the race detector.
func TestBodyClosedElsewhere(t *testing.T) {
	t.Parallel()
	s := &httptask.Server{HTTP: http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		closed := make(chan error, 1)
		go func() { closed <- r.Body.Close() }()
		_ = rondo.Yield(r.Context())
		w.WriteHeader(http.StatusEarlyHints)
		err := http.NewResponseController(w).Flush()
		shut, _ := rondo.Offload(r.Context(), func(context.Context) (error, error) { return <-closed, nil })
		if errors.Join(err, shut) != nil {
			t.Error(err, shut)
		}
	})}}
	inTasks(t, s, func(ctx context.Context, address string) error {
		return away(ctx, func() error {
			for range 20 {
				text := "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"
				c, err := net.Dial("tcp", address)
				if err != nil {
					return err
				}
				say(c, text)
				got, err := io.ReadAll(c)
				c.Close()
				if !strings.HasPrefix(string(got), "HTTP/1.1 103") || err != nil {
					t.Errorf("%q, %v", got, err)
				}
			}
			return nil
		})
	})
}

// TestCannotTellClient: a handler is cancelled if its client cannot be told to send the body.
func TestCannotTellClient(t *testing.T) {
	if !peer.Watches {
		return // net/http has the connections
	}
	s := &httptask.Server{HTTP: http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		failed := http.NewResponseController(w).SetWriteDeadline(time.Unix(1, 0))
		if err := r.Context().Err(); failed != nil || err != nil {
			t.Errorf("at first: %v, %v", failed, err)
		}
		n, err := r.Body.Read(make([]byte, 3))
		if n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) || r.Context().Err() != context.Canceled {
			t.Errorf("Read returned %d, %v; the ctx has %v", n, err, r.Context().Err())
		}
	})}}
	inTasks(t, s, func(ctx context.Context, address string) error {
		return away(ctx, func() error {
			got, err := talk(address, sameRow{send: post("abc", "Expect: 100-continue"), closes: true})
			if got != "" {
				t.Errorf("the client got %q", got)
			}
			return err
		})
	})
}

// TestLeavesAfterBodyReadElsewhere: a goroutine reads a long body to its end, and then the client
// leaves: the handler is cancelled. Each round takes another moment between the two.
func TestLeavesAfterBodyReadElsewhere(t *testing.T) {
	if !peer.Watches {
		return // net/http has the connections
	}
	read, gone := make(chan int64), make(chan struct{})
	s := &httptask.Server{HTTP: http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_ = rondo.Shield(r.Context(), func(ctx context.Context) error {
			return rondo.OffloadFunc(ctx, func(context.Context) error {
				n, err := io.Copy(io.Discard, r.Body)
				read <- n
				<-r.Context().Done()
				gone <- struct{}{}
				return err
			})
		})
	})}}
	const length = 1 << 20
	inTasks(t, s, func(ctx context.Context, address string) error {
		return rondo.OffloadFunc(ctx, func(context.Context) error {
			for range 30 {
				c, err := net.Dial("tcp", address)
				if err != nil {
					return err
				}
				say(c, fmt.Sprintf("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", length, strings.Repeat("a", length)))
				if n := <-read; n != length {
					t.Errorf("%d bytes were read", n)
				}
				if err := c.Close(); err != nil {
					return err
				}
				<-gone
			}
			return nil
		})
	})
}

// TestBodyReadElsewhere: a goroutine reads the body, which the client has to be told to send, and
// the handler answers meanwhile, or when the client has been told. What tells it comes before the
// answer or not at all.
func TestBodyReadElsewhere(t *testing.T) {
	t.Parallel()
	heard := make(chan struct{}, 1)
	s := &httptask.Server{HTTP: http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex()
		read := make(chan struct{})
		go func() {
			defer close(read)
			_, _ = r.Body.Read(make([]byte, 3))
		}()
		if r.URL.Path == "/told" {
			for range 3 { // beside what tells the client, in any order
				w.WriteHeader(http.StatusEarlyHints)
			}
			_ = rondo.OffloadFunc(r.Context(), func(context.Context) error { <-heard; return nil })
		}
		for range 3 {
			_, err := io.WriteString(w, "x")
			if err = errors.Join(err, http.NewResponseController(w).Flush()); err != nil {
				t.Error(err)
			}
		}
		_ = rondo.OffloadFunc(r.Context(), func(context.Context) error { <-read; return nil })
	})}}
	const told, hint = "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 Early Hints\r\n\r\n"
	converse := func(address, path string) error {
		c := connect(t, address)
		defer c.Close()
		say(c, "POST "+path+" HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: 3\r\n\r\n")
		from := bufio.NewReader(c)
		before := 0
		if path == "/told" {
			before = len(told) + 3*len(hint)
		}
		first := make([]byte, before)
		_, err := io.ReadFull(from, first)
		if path == "/told" {
			heard <- struct{}{}
			if strings.Count(string(first), told) != 1 || strings.Count(string(first), hint) != 3 {
				t.Errorf("before the answer came %q", first)
			}
		}
		say(c, "abc")
		all, failure := io.ReadAll(from)
		answer := strings.TrimPrefix(string(all), told)
		if !strings.HasPrefix(answer, "HTTP/1.1 200 OK\r\n") || strings.Contains(answer, "Continue") {
			t.Errorf("%s: %q, then %q, %v, %v", path, first, answer, err, failure)
		}
		return nil
	}
	inTasks(t, s, func(ctx context.Context, address string) error {
		return away(ctx, func() error {
			for range 20 {
				if err := errors.Join(converse(address, "/told"), converse(address, "/")); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// TestHalfClosedStall: a client ends its side and does not read. The end of the Server's time
// ends the answer, although the writes of one that has only ended its side are shielded.
func TestHalfClosedStall(t *testing.T) {
	run(t, func(ctx context.Context) error {
		l := listen(t)
		var began rondo.Event
		written := 0
		s := &httptask.Server{Grace: time.Millisecond, HTTP: http.Server{ErrorLog: silent, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			began.Set()
			for {
				n, err := w.Write(make([]byte, 1<<20))
				if written += n; err != nil {
					return
				}
			}
		})}}
		served := rondo.Go(ctx, func(ctx context.Context) error { _ = s.Serve(ctx, l); return nil })
		c := connect(t, l.Addr().String())
		defer c.Close()
		say(c, get)
		err := errors.Join(c.(*net.TCPConn).CloseWrite(), began.Wait(ctx), untilWriting(ctx))
		served.Cancel(nil)
		return errors.Join(err, served.Wait(ctx))
	})
}

// untilWriting waits until a task waits in a write.
func untilWriting(ctx context.Context) error {
	return until(ctx, func() bool {
		return slices.ContainsFunc(rondo.Tasks(ctx), func(t rondo.TaskInfo) bool { return t.State == "waiting" && t.Waiting == "write" })
	})
}

// TestCancelledInWrite: a client that ends its side while a write waits gets all of it. If the
// handler itself has cancelled the write, it ends, and the client sees that the answer is cut.
func TestCancelledInWrite(t *testing.T) {
	const size = 32 << 20 // more than the buffers of a connection take
	for _, leaves := range []bool{true, false} {
		var writing *rondo.Scope
		var failure error
		ended := false
		s := &httptask.Server{HTTP: http.Server{ErrorLog: silent, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(size))
			_ = rondo.Group(r.Context(), func(g *rondo.Scope) error {
				writing = g
				_, failure = w.Write(make([]byte, size))
				ended = true
				return nil
			})
		})}}
		inTasks(t, s, func(ctx context.Context, address string) error {
			c := connect(t, address)
			defer c.Close()
			say(c, get)
			if err := untilWriting(ctx); err != nil {
				return err
			}
			if leaves {
				if err := c.(*net.TCPConn).CloseWrite(); err != nil {
					return err
				}
				if err := until(ctx, func() bool { return writing.Err() != nil }); err != nil {
					return err
				}
			} else {
				writing.Cancel(nil)
				if err := until(ctx, func() bool { return ended }); err != nil {
					return err
				}
			}
			return away(ctx, func() error {
				a, err := http.ReadResponse(bufio.NewReader(c), nil)
				if err != nil {
					return err
				}
				n, err := io.Copy(io.Discard, a.Body)
				if whole := n == size && err == nil; whole != leaves {
					t.Errorf("the client leaves: %v; it got %d bytes, %v", leaves, n, err)
				}
				return nil
			})
		})
		if leaves && failure != nil || !leaves && !errors.Is(failure, context.Canceled) {
			t.Errorf("the client leaves: %v; Write: %v", leaves, failure)
		}
	}
}

// TestPipelinedFlood: one client sends requests without a pause. Others have their turns.
func TestPipelinedFlood(t *testing.T) {
	answered := 0
	s := &httptask.Server{HTTP: http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { answered++ })}}
	inTasks(t, s, func(ctx context.Context, address string) error {
		c := connect(t, address)
		defer c.Close()
		go func() { _, _ = io.Copy(io.Discard, c) }()
		flood := bytes.Repeat([]byte(get), 1000)
		go func() {
			for {
				if _, err := c.Write(flood); err != nil {
					return
				}
			}
		}()
		for last := 0; last < 3000; last = answered {
			if err := rondo.Sleep(ctx, time.Millisecond); err != nil {
				return err
			}
		}
		return c.Close()
	})
}

// TestManyValues: a head has as many values as net/http of this Go allows, and no more.
func TestManyValues(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, len(r.Header["X"])) })
	plainly(t, &http.Server{Handler: h, ErrorLog: silent}, func(plain string) error {
		inTasks(t, &httptask.Server{HTTP: http.Server{Handler: h, ErrorLog: silent}}, func(ctx context.Context, own string) error {
			return away(ctx, func() error {
				for _, n := range []int{498, 499, 500, 501, 3000, 100_000} {
					text := "GET / HTTP/1.1\r\nHost: h\r\n" + strings.Repeat("X: \r\n", n) + "Connection: close\r\n\r\n"
					want, got := status(plain, text), status(own, text)
					if want != got {
						t.Errorf("%d values: %q; net/http: %q", n, got, want)
					}
				}
				return nil
			})
		})
		return nil
	})
}

// TestHeadLimit: a head has as many bytes as net/http allows, and no more, however it comes in.
func TestHeadLimit(t *testing.T) {
	t.Parallel()
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, len(r.Header["X"])) })
	plainly(t, &http.Server{Handler: h, ErrorLog: silent, MaxHeaderBytes: 3000}, func(plain string) error {
		s := &httptask.Server{HTTP: http.Server{Handler: h, ErrorLog: silent, MaxHeaderBytes: 3000}}
		inTasks(t, s, func(ctx context.Context, own string) error {
			return away(ctx, func() error {
				const begin, end = "GET / HTTP/1.1\r\nHost: h\r\nX: ", "\r\nConnection: close\r\n\r\n"
				for _, n := range []int{3000, 7095, 7096, 7097, 8000, 20_000} {
					text := begin + strings.Repeat("x", n-len(begin+end)) + end
					want, got := status(plain, text), status(own, text)
					if want != got || (want == "HTTP/1.1 431") != (n > 7096) {
						t.Errorf("%d bytes: %q; net/http: %q", n, got, want)
					}
				}
				return nil
			})
		})
		return nil
	})
}

// status returns the first line of the answer to a request.
func status(address, text string) string {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	go func() { _, _ = io.WriteString(c, text) }() // a server need not read all of it
	line := make([]byte, len("HTTP/1.1 200"))
	_, _ = io.ReadFull(c, line)
	return string(line)
}

// A held source gives something, and then nothing until it is let go.
type heldSource struct {
	given          bool
	reached, letGo chan struct{}
}

func (s *heldSource) Read(p []byte) (int, error) {
	if s.given {
		close(s.reached)
		<-s.letGo
		return 0, io.EOF
	}
	s.given = true
	return copy(p, "begun"), nil
}

// TestAnswerLeftBehind: a handler returns while a goroutine, for which it does not wait any more
// because the client has ended its side, is in the middle of writing the answer. The client sees
// that the answer is cut, also if the handler does not return but panics. No file of a form is
// left.
func TestAnswerLeftBehind(t *testing.T) {
	if !peer.Watches {
		return // net/http has the connections
	}
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	for _, panics := range []bool{false, true} {
		answerLeftBehind(t, dir, panics)
		if left, err := os.ReadDir(dir); len(left) > 0 || err != nil {
			t.Errorf("the handler panics: %v; %d files are left, %v", panics, len(left), err)
		}
	}
}

func answerLeftBehind(t *testing.T, dir string, panics bool) {
	source := &heldSource{reached: make(chan struct{}), letGo: make(chan struct{})}
	ended := make(chan error, 1)
	s := &httptask.Server{HTTP: http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseMultipartForm(1); err != nil {
			t.Error(err)
		}
		if made, err := os.ReadDir(dir); len(made) != 1 || err != nil {
			t.Errorf("%d files are made, %v", len(made), err)
		}
		_ = http.NewResponseController(w).Flush()
		left := make(chan struct{})
		go func() {
			_, err := io.Copy(w, source)
			_, later := io.WriteString(w, "later")
			ended <- errors.Join(err, later)
		}()
		_, _, _ = rondo.Receive(r.Context(), left)
		if panics {
			panic(http.ErrAbortHandler)
		}
	})}}
	inTasks(t, s, func(ctx context.Context, address string) error {
		return away(ctx, func() error {
			c := connect(t, address)
			defer c.Close()
			say(c, postFile())
			if _, err := io.ReadFull(c, make([]byte, len("HTTP/1.1 200 OK"))); err != nil {
				return err
			}
			<-source.reached
			if err := c.(*net.TCPConn).CloseWrite(); err != nil {
				return err
			}
			if rest, err := io.ReadAll(c); err == nil {
				t.Errorf("the answer looks complete: %q", rest)
			}
			close(source.letGo)
			if err := <-ended; err == nil {
				t.Error("a goroutine that was left behind has written to an answer that had ended")
			}
			return nil
		})
	})
}

// postFile returns a request that has a file in a form.
func postFile() string {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("a", "a")
	if err == nil {
		_, err = part.Write(make([]byte, 1000))
	}
	if err := errors.Join(err, form.Close()); err != nil {
		panic(err)
	}
	return post(body.String(), "Content-Type: "+form.FormDataContentType())
}

// TestFormOfPanic: the file of a form goes when a handler panics. net/http leaves it.
func TestFormOfPanic(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	made := 0
	s := &httptask.Server{HTTP: http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		err := r.ParseMultipartForm(1)
		files, failed := os.ReadDir(dir)
		if err := errors.Join(err, failed); err != nil {
			t.Error(err)
		}
		made = len(files)
		panic(http.ErrAbortHandler)
	})}}
	inTasks(t, s, func(ctx context.Context, address string) error {
		return away(ctx, func() error { _, err := talk(address, sameRow{send: postFile(), closes: true}); return err })
	})
	left, err := os.ReadDir(dir)
	if made != 1 || len(left) > 0 || err != nil {
		t.Errorf("%d files were made, %d are left: %v", made, len(left), err)
	}
}

// TestHijackWhileHandlerReturns: the handler returns in the middle of a goroutine's Hijack, which
// has the connection all the same, with what came after the request.
func TestHijackWhileHandlerReturns(t *testing.T) {
	taken, letGo := make(chan struct{}), make(chan struct{})
	ended := make(chan any, 1)
	s := &httptask.Server{HTTP: http.Server{
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateHijacked { // called on the goroutine
				close(taken)
				<-letGo
			}
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			go func() {
				defer func() { ended <- recover() }()
				c, rw, err := w.(http.Hijacker).Hijack()
				if err != nil {
					panic(err)
				}
				defer c.Close()
				line, err := rw.ReadString('\n')
				fmt.Fprint(c, line, err)
			}()
			_, _, _ = rondo.Receive(r.Context(), taken)
			_ = rondo.LoopOf(r.Context()).Post(func() { close(letGo) }) // when it has returned
		}),
	}}
	inTasks(t, s, func(ctx context.Context, address string) error {
		return away(ctx, func() error {
			c := connect(t, address)
			defer c.Close()
			say(c, get+"early\n")
			if panicked := <-ended; panicked != nil {
				return fmt.Errorf("Hijack panics: %v", panicked)
			}
			if got, err := io.ReadAll(c); string(got) != "early\n<nil>" || err != nil {
				t.Errorf("the client got %q, %v", got, err)
			}
			return nil
		})
	})
}

// TestAnswerBeforeTasks: a client has its answer when the handler has returned, while a task that
// the handler has started goes on in a Shield. The next request is read when that has ended.
func TestAnswerBeforeTasks(t *testing.T) {
	var heard rondo.Event
	ended := false
	mux := http.NewServeMux()
	mux.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) {
		rondo.Go(r.Context(), func(ctx context.Context) error {
			return rondo.Shield(ctx, func(ctx context.Context) error {
				err := heard.Wait(ctx)
				ended = true
				return err
			})
		})
		say(w, "answer")
	})
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, ended) })
	inTasks(t, &httptask.Server{HTTP: http.Server{Handler: mux}}, func(ctx context.Context, address string) error {
		defer heard.Set()
		c := connect(t, address)
		defer c.Close()
		if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			return err
		}
		from := bufio.NewReader(c)
		ask := func(text string) (string, error) {
			return rondo.Offload(ctx, func(context.Context) (string, error) {
				say(c, text)
				a, err := http.ReadResponse(from, nil)
				if err != nil {
					return "", err
				}
				body, err := io.ReadAll(a.Body)
				return string(body), err
			})
		}
		if got, err := ask(post("abc") + get); got != "answer" || err != nil {
			return fmt.Errorf("the first answer: %q, %w", got, err)
		}
		heard.Set()
		if got, err := ask(""); got != "true" || err != nil {
			return fmt.Errorf("the second answer: %q, %w", got, err)
		}
		return nil
	})
}

// TestAnswerOfCancelled: a request is cancelled, by the failure of one of its tasks or with the
// context of the program. What its handler answers then reaches the client, while another task
// goes on in a Shield.
func TestAnswerOfCancelled(t *testing.T) {
	for _, fails := range []bool{true, false} {
		base, end := context.WithCancel(t.Context())
		defer end()
		var heard rondo.Event
		s := &httptask.Server{HTTP: http.Server{
			ErrorLog:    silent,
			BaseContext: func(net.Listener) context.Context { return base },
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				rondo.Go(r.Context(), func(ctx context.Context) error { return rondo.Shield(ctx, heard.Wait) })
				if fails {
					rondo.Go(r.Context(), func(context.Context) error { return errHere })
				} else {
					end()
				}
				_ = rondo.WaitCanceled(r.Context())
				w.WriteHeader(http.StatusInternalServerError)
				say(w, "failed")
			}),
		}}
		inTasks(t, s, func(ctx context.Context, address string) error {
			defer heard.Set()
			return away(ctx, func() error {
				c := connect(t, address)
				defer c.Close()
				if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
					return err
				}
				say(c, get)
				a, err := http.ReadResponse(bufio.NewReader(c), nil)
				if err != nil {
					return fmt.Errorf("a task fails: %v: %w", fails, err)
				}
				body, err := io.ReadAll(a.Body)
				if a.StatusCode != http.StatusInternalServerError || string(body) != "failed" {
					t.Errorf("a task fails: %v: %d %q, %v", fails, a.StatusCode, body, err)
				}
				return nil
			})
		})
	}
}

// TestCloseNotify: the channel has a value when the client has left, also if it is asked for only
// then.
func TestCloseNotify(t *testing.T) {
	if !peer.Watches {
		return // net/http has the connections
	}
	for _, early := range []bool{false, true} {
		noticed := false
		s := &httptask.Server{HTTP: http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			left := w.(interface{ CloseNotify() <-chan bool })
			if early {
				left.CloseNotify()
			}
			_ = rondo.WaitCanceled(r.Context())
			noticed = len(left.CloseNotify()) == 1
		})}}
		inTasks(t, s, func(ctx context.Context, address string) error {
			return away(ctx, func() error {
				c := connect(t, address)
				defer c.Close()
				say(c, get)
				if err := c.(*net.TCPConn).CloseWrite(); err != nil {
					return err
				}
				_, err := io.Copy(io.Discard, c)
				return err
			})
		})
		if !noticed {
			t.Errorf("early %v: the channel has no value", early)
		}
	}
}

// TestContextBeforeAnswer: as with net/http, the context of a handler that has returned is done
// before its answer ends.
func TestContextBeforeAnswer(t *testing.T) {
	var handled context.Context
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handled = r.Context()
		say(w, "answer")
	})
	t.Run("server", func(t *testing.T) {
		inTasks(t, &httptask.Server{HTTP: http.Server{Handler: h}}, func(ctx context.Context, address string) error {
			c := connect(t, address)
			defer c.Close()
			say(c, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n")
			if err := until(ctx, func() bool { return handled != nil && handled.Err() != nil }); err != nil {
				return err
			}
			say(c, "abc") // for which the answer waits
			return away(ctx, func() error {
				_, err := http.ReadResponse(bufio.NewReader(c), nil)
				return err
			})
		})
	})
	t.Run("handler", func(t *testing.T) {
		run(t, func(ctx context.Context) error {
			derived := make([]context.Context, 20_000) // it takes a while to cancel them
			end := make([]context.CancelFunc, len(derived))
			inner := httptask.Handler(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				for i := range derived {
					derived[i], end[i] = context.WithCancel(r.Context())
				}
			}))
			return away(ctx, func() error {
				inner.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
				for i, ctx := range derived {
					defer end[i]()
					if ctx.Err() == nil {
						return errors.New("net/http may send the end of the answer, and a context is not done")
					}
				}
				return nil
			})
		})
	})
}

// TestAnswerLeftBehindOthers: goroutines that were left behind, in the middle of writing answers
// and of reading bodies, do not touch the buffers of other requests.
func TestAnswerLeftBehindOthers(t *testing.T) {
	t.Parallel()
	const rounds = 50
	var behind sync.WaitGroup
	elsewhere := func(r *http.Request, fn func()) { // as Offload does, but for reports of what is left
		behind.Add(1)
		ended := make(chan struct{})
		go func() {
			defer behind.Done()
			defer close(ended)
			defer func() {
				if v := recover(); v != nil {
					t.Error("a goroutine that was left behind panicked:", v)
				}
			}()
			fn()
		}()
		_, _, _ = rondo.Receive(r.Context(), ended) // fails when the client leaves
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		elsewhere(r, func() {
			for range 2000 {
				if _, err := io.WriteString(w, strings.Repeat("x", 3000)); err != nil {
					return
				}
			}
		})
	})
	mux.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) {
		elsewhere(r, func() { _, _ = io.Copy(io.Discard, r.Body) })
	})
	mux.HandleFunc("GET /other", func(w http.ResponseWriter, r *http.Request) {
		for range 3 {
			say(w, strings.Repeat("o", 1000))
			_ = rondo.Yield(r.Context())
		}
	})
	s := &httptask.Server{HTTP: http.Server{Handler: mux, ErrorLog: silent}}
	inTasks(t, s, func(ctx context.Context, address string) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			for _, begin := range []string{get, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n" + strings.Repeat("x", 50_000)} {
				for range 4 {
					g.Go(func(ctx context.Context) error {
						return rondo.OffloadFunc(ctx, func(context.Context) error { return leaves(t, address, begin, rounds) })
					})
				}
			}
			return rondo.OffloadFunc(g, func(context.Context) error { return others(t, address, rounds) })
		})
	})
	behind.Wait()
}

// leaves makes requests and leaves in their middle.
func leaves(t *testing.T, address, begin string, rounds int) error {
	for i := range rounds {
		c := connect(t, address)
		say(c, begin)
		if strings.HasPrefix(begin, "GET") {
			if _, err := io.CopyN(io.Discard, c, 1000); err != nil {
				c.Close()
				return err
			}
		}
		if i%2 == 0 {
			_ = c.(*net.TCPConn).SetLinger(0)
		}
		if err := c.Close(); err != nil {
			return err
		}
	}
	return nil
}

// others makes requests whose answers must be whole.
func others(t *testing.T, address string, rounds int) error {
	c := connect(t, address)
	defer c.Close()
	from := bufio.NewReader(c)
	for range rounds {
		say(c, "GET /other HTTP/1.1\r\nHost: h\r\n\r\n")
		a, err := http.ReadResponse(from, nil)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(a.Body)
		if err != nil || string(body) != strings.Repeat("o", 3000) {
			return fmt.Errorf("another request was answered with %q, %v", body, err)
		}
	}
	return nil
}

// TestTasksWrite: several tasks of a handler write at the same time, more than the client has room
// for. Each Write comes as a whole.
func TestTasksWrite(t *testing.T) {
	const writes, length = 200, 20_000
	s := &httptask.Server{HTTP: http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = rondo.Group(r.Context(), func(g *rondo.Scope) error {
			for _, text := range []string{"a", "b"} {
				g.Go(func(context.Context) error {
					for range writes {
						if _, err := io.WriteString(w, strings.Repeat(text, length)+"\n"); err != nil {
							t.Error(err)
						}
					}
					return nil
				})
			}
			return nil
		})
	})}}
	inTasks(t, s, func(ctx context.Context, address string) error {
		return away(ctx, func() error {
			c := connect(t, address)
			defer c.Close()
			say(c, get)
			a, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				return err
			}
			got, err := io.ReadAll(a.Body)
			for _, text := range []string{"a", "b"} {
				if n := strings.Count(string(got), strings.Repeat(text, length)+"\n"); n != writes {
					t.Errorf("%d of %d Writes of %s have come as a whole, with %v", n, writes, text, err)
				}
			}
			if len(got) != 2*writes*(length+1) {
				t.Errorf("%d bytes have come, %v", len(got), err)
			}
			return nil
		})
	})
}

// TestTurnCancelled: a Write that is cancelled while it waits for another one returns the cause,
// and the client sees that the answer is cut.
func TestTurnCancelled(t *testing.T) {
	read := make(chan struct{})
	s := &httptask.Server{HTTP: http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = rondo.Group(r.Context(), func(g *rondo.Scope) error {
			g.Go(func(context.Context) error {
				if _, err := w.Write(make([]byte, 32<<20)); err == nil {
					_, err = w.Write(make([]byte, 32<<20))
					if err == nil {
						t.Error("nothing has cut the answer")
					}
				}
				return nil
			})
			var failed error
			second := g.Go(func(context.Context) error { _, failed = w.Write([]byte("second")); return nil })
			_ = rondo.Yield(g)
			second.Cancel(nil)
			_ = second.Wait(g)
			if !errors.Is(failed, context.Canceled) {
				t.Errorf("the second Write: %v", failed)
			}
			close(read)
			return nil
		})
	})}}
	inTasks(t, s, func(ctx context.Context, address string) error {
		return away(ctx, func() error {
			c := connect(t, address)
			defer c.Close()
			say(c, get)
			<-read
			a, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err == nil {
				_, err = io.Copy(io.Discard, a.Body)
			}
			if err == nil {
				t.Error("the answer has come as a whole")
			}
			return nil
		})
	})
}
