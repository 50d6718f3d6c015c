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
	"net"
	"net/http"
	"strings"
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
	var log logbook
	s := &httptask.Server{HTTP: http.Server{Handler: http.HandlerFunc(misused), ErrorLog: newLog(&log)}}
	inTasks(t, s, func(ctx context.Context, address string) error {
		return away(ctx, func() error {
			for _, row := range hostile {
				c, err := net.Dial("tcp", address)
				if err != nil {
					return err
				}
				for _, p := range row.pieces {
					say(c, p)
				}
				if row.half {
					err = c.(*net.TCPConn).CloseWrite()
				}
				got, failure := io.ReadAll(c)
				c.Close()
				text := date.ReplaceAllString(string(got), "Date: DATE")
				if text != row.want || errors.Join(err, failure) != nil {
					t.Errorf("%s: %q, %v\nwant %q", row.name, text, errors.Join(err, failure), row.want)
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
		c, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		defer c.Close()
		say(c, "POST "+path+" HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: 3\r\n\r\n")
		from := bufio.NewReader(c)
		before := 0
		if path == "/told" {
			before = len(told) + 3*len(hint)
		}
		first := make([]byte, before)
		_, err = io.ReadFull(from, first)
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
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
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
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			return err
		}
		defer c.Close()
		say(c, get)
		err = errors.Join(c.(*net.TCPConn).CloseWrite(), began.Wait(ctx))
		for stalled := false; err == nil && !stalled; {
			err = rondo.Yield(ctx)
			for _, t := range rondo.Tasks(ctx) {
				stalled = stalled || t.State == "waiting" && t.Waiting == "write"
			}
		}
		served.Cancel(nil)
		return errors.Join(err, served.Wait(ctx))
	})
}

// TestPipelinedFlood: one client sends requests without a pause. Others have their turns.
func TestPipelinedFlood(t *testing.T) {
	answered := 0
	s := &httptask.Server{HTTP: http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { answered++ })}}
	inTasks(t, s, func(ctx context.Context, address string) error {
		c, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
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
