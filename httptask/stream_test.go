package httptask_test

// Tests of long exchanges: streams in both directions, clients that stall, go away
// or reset, and handlers that are cancelled.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/internal/peer"
)

// TestBothWays: a handler answers each line as it comes, with HTTP/1.1 in full duplex;
// one task reads while another is in the middle of a write.
func TestBothWays(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		if err := c.EnableFullDuplex(); err != nil {
			t.Error(err)
		}
		w.WriteHeader(200)
		if err := c.Flush(); err != nil {
			t.Error(err)
		}
		lines := rondo.NewQueue[string](1)
		err := rondo.Group(r.Context(), func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error {
				in := bufio.NewScanner(r.Body)
				for in.Scan() {
					if err := lines.Put(ctx, in.Text()); err != nil {
						return err
					}
				}
				lines.Close()
				return in.Err()
			})
			for line := range lines.All(g) {
				fmt.Fprintln(w, "got", line)
				if err := c.Flush(); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	inTasks(t, &httptask.Server{HTTP: http.Server{Handler: h}}, func(ctx context.Context, address string) error {
		return away(ctx, func() error {
			from, to := io.Pipe()
			defer http.DefaultClient.CloseIdleConnections()
			a, err := http.Post("http://"+address, "", from)
			if err != nil {
				return err
			}
			defer a.Body.Close()
			in := bufio.NewReader(a.Body)
			for i := range 20 {
				fmt.Fprintln(to, i)
				line, err := in.ReadString('\n')
				if want := fmt.Sprintln("got", i); line != want || err != nil {
					return fmt.Errorf("%q, %v; want %q", line, err, want)
				}
			}
			to.Close()
			_, err = in.ReadByte()
			if err == io.EOF {
				return nil
			}
			return fmt.Errorf("after the end: %v", err)
		})
	})
}

// A peer that stalls in any way holds up its own handler and no other.
func TestStall(t *testing.T) {
	endless := strings.Repeat("x", 1<<20)
	for _, row := range []struct{ name, send string }{
		{"headers", "GET / HTTP/1.1\r\nHost: h\r\nX-"},
		{"small body", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc"},
		{"large body", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10000000\r\n\r\nabc"},
		{"chunked body", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"},
		{"body after 100-continue", "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n"},
		{"does not read", "GET /endless HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"does not read what is flushed", "GET /flushed HTTP/1.1\r\nHost: h\r\n\r\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			stalled := 0
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/quick" {
					say(w, "quick")
					return
				}
				stalled++
				defer func() { stalled-- }()
				_, err := io.Copy(io.Discard, r.Body)
				for err == nil {
					if _, err = io.WriteString(w, endless); err == nil && r.URL.Path == "/flushed" {
						err = http.NewResponseController(w).Flush()
					}
				}
			})
			s := &httptask.Server{HTTP: http.Server{Handler: h, ErrorLog: silent}, Grace: -1}
			inTasksCut(t, s, func(ctx context.Context, address string) error {
				peers := make([]net.Conn, 5)
				for i := range peers {
					c := connect(t, address)
					defer c.Close()
					if _, err := io.WriteString(c, row.send); err != nil {
						return err
					}
					peers[i] = c
				}
				if row.name != "headers" {
					if err := until(ctx, func() bool { return stalled == len(peers) }); err != nil {
						return err
					}
				}
				client := httptask.Client(ctx)
				defer client.CloseIdleConnections()
				for range 20 {
					if body, err := ask(ctx, client, "http://"+address+"/quick"); body != "quick" || err != nil {
						return fmt.Errorf("%q, %v", body, err)
					}
				}
				if row.name != "headers" && stalled != len(peers) {
					t.Errorf("%d handlers are stalled, not %d", stalled, len(peers))
				}
				return nil
			})
			if stalled != 0 {
				t.Errorf("%d handlers have outlived the server", stalled)
			}
		})
	}
}

// inTasksCut is inTasks for a server that is ended by its ctx.
func inTasksCut(t testing.TB, s *httptask.Server, use func(ctx context.Context, address string) error) {
	t.Helper()
	cut := errors.New("cut")
	run(t, func(ctx context.Context) error {
		l := listen(t)
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			served := g.Go(func(ctx context.Context) error { return s.Serve(ctx, l) })
			err := use(g, l.Addr().String())
			served.Cancel(cut)
			if end := served.Wait(ctx); !errors.Is(end, cut) {
				t.Errorf("Serve returned %v", end)
			}
			return err
		})
		return err
	})
}

// TestGone: a client that closes or resets its connection cancels the handler, whatever
// that waits for.
func TestGone(t *testing.T) {
	t.Parallel()
	for _, wait := range []string{"sleep", "read", "write", "flush"} {
		for _, reset := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/reset=%v", wait, reset), func(t *testing.T) {
				var err, after error
				started, ended := false, false
				h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					ctx := r.Context()
					started = true
					for err == nil {
						switch wait {
						case "sleep":
							err = rondo.Sleep(ctx, time.Hour)
						case "read":
							_, err = r.Body.Read(make([]byte, 100))
						case "write":
							_, err = w.Write(make([]byte, 100_000))
						case "flush":
							_, _ = w.Write(make([]byte, 1000))
							err = http.NewResponseController(w).Flush()
						}
					}
					after = rondo.Sleep(ctx, time.Hour)
					ended = true
				})
				send := "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
				if wait == "read" {
					send = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\nabc"
				}
				inTasks(t, &httptask.Server{HTTP: http.Server{Handler: h, ErrorLog: silent}}, func(ctx context.Context, address string) error {
					c, err := net.Dial("tcp", address)
					if err != nil {
						return err
					}
					if _, err := io.WriteString(c, send); err != nil {
						return err
					}
					if err := until(ctx, func() bool { return started }); err != nil {
						return err
					}
					if reset {
						if err := c.(*net.TCPConn).SetLinger(0); err != nil {
							return err
						}
					}
					if err := c.Close(); err != nil {
						return err
					}
					return until(ctx, func() bool { return ended })
				})
				if err == nil {
					t.Error("no wait failed")
				}
				if !errors.Is(after, context.Canceled) && !errors.Is(after, http.ErrServerClosed) {
					t.Errorf("the ctx was not cancelled: %v", after)
				}
			})
		}
	}
}

// TestCopyTooLong: no more of a reader, or of a part of a file, is copied than Content-Length says.
// The client gets that, and the handler an error. So it is in net/http since Go 1.27.
func TestCopyTooLong(t *testing.T) {
	if !peer.Watches {
		return // net/http has the connections
	}
	const length = 1000
	for name, wrap := range map[string]func(f *os.File) io.Reader{
		"reader":         func(f *os.File) io.Reader { return struct{ io.Reader }{f} },
		"part of a file": func(f *os.File) io.Reader { return io.LimitReader(f, length+10) },
	} {
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			f, err := os.Open("doc.go")
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			w.Header().Set("Content-Length", strconv.Itoa(length))
			if n, err := io.Copy(w, wrap(f)); n != length || !errors.Is(err, http.ErrContentLength) {
				t.Errorf("%s: %d bytes were copied, %v", name, n, err)
			}
		})
		inTasks(t, &httptask.Server{HTTP: http.Server{Handler: h}}, func(ctx context.Context, address string) error {
			b, err := ask(ctx, httptask.Client(ctx), "http://"+address)
			if len(b) != length {
				t.Errorf("%s: the client got %d bytes", name, len(b))
			}
			return err
		})
	}
}
