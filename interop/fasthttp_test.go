package interop_test

// fasthttp in tasks: its server's ServeConn in a task for each connection, with
// requests from curl and as raw bytes, and its client with Rondo's Dial.

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/interop/internal/peer"
	"github.com/rondo-go/rondo/socket"
)

// serving runs body while a server, on a free port, serves each connection in a
// task.
func serving(t *testing.T, ctx context.Context, handler func(ctx context.Context, c net.Conn) error, body func(ctx context.Context, address string) error) error {
	t.Helper()
	l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &socket.Server{Handler: handler, OnError: func(_ net.Conn, err error) { t.Errorf("server: %v", err) }}
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(func(ctx context.Context) error {
			if err := s.Serve(ctx, l); err != socket.ErrServerClosed {
				return err
			}
			return nil
		})
		if err := body(g, l.Addr().String()); err != nil {
			return err
		}
		return s.Shutdown(g)
	})
}

// command runs a program on a goroutine, writes input to it, and returns its
// output.
func command(ctx context.Context, input io.Reader, path string, args ...string) (string, error) {
	return rondo.Offload(ctx, func(ctx context.Context) (string, error) {
		cmd := exec.CommandContext(ctx, path, args...)
		cmd.Stdin = input
		var said bytes.Buffer
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil {
			err = fmt.Errorf("%s %s: %w: %s", filepath.Base(path), strings.Join(args, " "), err, &said)
		}
		return string(out), err
	})
}

// fast is a fasthttp server whose handlers share a counter without a lock. A GET of
// /slow waits for room as a task waits; the answer to a POST is its body.
type fast struct {
	served int
	at     overlap
	server fasthttp.Server
}

func newFast(ctx context.Context) *fast {
	f := new(fast)
	f.server.MaxRequestBodySize = 2 << 20
	f.server.NoDefaultServerHeader = true
	f.server.Handler = func(r *fasthttp.RequestCtx) {
		f.served++
		switch {
		case r.IsPost():
			r.SetBody(r.PostBody())
		case string(r.Path()) == "/slow":
			leave := f.at.enter()
			_ = rondo.Sleep(ctx, time.Millisecond)
			leave()
			fallthrough
		default:
			fmt.Fprintf(r, "%s %d\n", r.Path(), r.ConnRequestNum())
		}
	}
	return f
}

func (f *fast) serve(_ context.Context, c net.Conn) error { return f.server.ServeConn(c) }

// TestFasthttpServer: curl sends two requests on one connection, and a POST of a
// megabyte whose answer is the same megabyte.
func TestFasthttpServer(t *testing.T) {
	curl := peer.Need(t, "curl")
	body := filepath.Join(t.TempDir(), "body")
	sent := strings.Repeat("0123456789abcdef", 1<<16)
	if err := os.WriteFile(body, []byte(sent), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, func(ctx context.Context) error {
		f := newFast(ctx)
		return serving(t, ctx, f.serve, func(ctx context.Context, address string) error {
			url := "http://" + address
			out, err := command(ctx, nil, curl, "-sS", url+"/a", url+"/b")
			if want := "/a 1\n/b 2\n"; err != nil || out != want {
				t.Errorf("curl got %q, not %q: %v", out, want, err)
			}
			out, err = command(ctx, nil, curl, "-sS", "--data-binary", "@"+body, url)
			if err != nil || out != sent {
				t.Errorf("sent %d bytes, %d came back: %v", len(sent), len(out), err)
			}
			if f.served != 3 {
				t.Errorf("the server counted %d requests", f.served)
			}
			return nil
		})
	})
}

// TestFasthttpServerTogether: 20 clients send a slow request at once.
func TestFasthttpServerTogether(t *testing.T) {
	const clients = 20
	curl := peer.Need(t, "curl")
	run(t, func(ctx context.Context) error {
		f := newFast(ctx)
		err := serving(t, ctx, f.serve, func(ctx context.Context, address string) error {
			args := []string{"-sS", "--parallel", "--parallel-immediate", "--parallel-max", fmt.Sprint(clients)}
			for range clients {
				args = append(args, "http://"+address+"/slow")
			}
			out, err := command(ctx, nil, curl, args...)
			if n := strings.Count(out, "/slow 1\n"); n != clients {
				t.Errorf("%d of %d clients got an answer on their own connection:\n%s", n, clients, out)
			}
			return err
		})
		f.at.want(t, 2)
		return err
	})
}

// TestFasthttpServerPipelined: 50 requests in one write and then the end of input
// get 50 answers and then the end.
func TestFasthttpServerPipelined(t *testing.T) {
	const n = 50
	run(t, func(ctx context.Context) error {
		f := newFast(ctx)
		return serving(t, ctx, f.serve, func(ctx context.Context, address string) error {
			c, err := socket.Dial(ctx, "tcp", address)
			if err != nil {
				return err
			}
			defer c.Close()
			var requests strings.Builder
			for i := range n {
				fmt.Fprintf(&requests, "GET /%d HTTP/1.1\r\nHost: h\r\n\r\n", i)
			}
			if _, err := io.WriteString(c, requests.String()); err != nil {
				return err
			}
			if err := c.(*socket.Conn).CloseWrite(); err != nil {
				return err
			}
			answers := bufio.NewReader(c)
			for i := range n {
				a, err := http.ReadResponse(answers, nil)
				if err != nil {
					return fmt.Errorf("answer %d: %w", i, err)
				}
				body, err := io.ReadAll(a.Body)
				if want := fmt.Sprintf("/%d %d\n", i, i+1); err != nil || string(body) != want {
					t.Errorf("answer %d is %q, not %q: %v", i, body, want, err)
				}
			}
			if b, err := answers.ReadByte(); err != io.EOF {
				t.Errorf("after the answers: %q, %v", b, err)
			}
			return nil
		})
	})
}

// TestFasthttpServerIdle: the server's own deadline ends an idle connection.
func TestFasthttpServerIdle(t *testing.T) {
	run(t, func(ctx context.Context) error {
		f := newFast(ctx)
		f.server.IdleTimeout = 20 * time.Millisecond
		return serving(t, ctx, f.serve, func(ctx context.Context, address string) error {
			c, err := socket.Dial(ctx, "tcp", address)
			if err != nil {
				return err
			}
			defer c.Close()
			if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
				return err
			}
			all, err := io.ReadAll(c)
			if err != nil || !bytes.HasSuffix(all, []byte("/ 1\n")) {
				t.Errorf("read %q: %v", all, err)
			}
			return nil
		})
	})
}

// fastClient returns a client for the address, whose connections belong to the loop
// of ctx. A fasthttp.Client works too, but its clean-up goroutine lives for another
// second.
func fastClient(t *testing.T, ctx context.Context, address string, conns int) *fasthttp.HostClient {
	client := &fasthttp.HostClient{
		Addr: address, MaxConns: conns, MaxIdleConnDuration: 10 * time.Millisecond,
		Dial: func(address string) (net.Conn, error) { return socket.Dial(ctx, "tcp", address) },
	}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		gone(t, "fasthttp.(*HostClient).connsCleaner")
	})
	return client
}

// TestFasthttpClient: tasks send requests to a server on the same loop. The client
// works in the task that calls it.
func TestFasthttpClient(t *testing.T) {
	const tasks, rounds = 20, 10
	var at overlap
	run(t, func(ctx context.Context) error {
		f := newFast(ctx)
		err := serving(t, ctx, f.serve, func(ctx context.Context, address string) error {
			client := fastClient(t, ctx, address, tasks)
			defer client.CloseIdleConnections()
			return all(ctx, tasks, func(ctx context.Context, i int) error {
				q, a := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
				defer fasthttp.ReleaseRequest(q)
				defer fasthttp.ReleaseResponse(a)
				for r := range rounds {
					want := strings.Repeat(fmt.Sprintln(i, r), 1000)
					q.SetRequestURI("http://" + address)
					q.Header.SetMethod("POST")
					q.SetBodyString(want)
					leave := at.enter()
					if err := client.Do(q, a); err != nil {
						return err
					}
					leave()
					if got := string(a.Body()); got != want {
						t.Errorf("sent %d bytes, %d came back", len(want), len(got))
					}
				}
				return nil
			})
		})
		if f.served != tasks*rounds {
			t.Errorf("the server counted %d requests", f.served)
		}
		return err
	})
	at.want(t, tasks)
}

// TestFasthttpClientTimeout: the server never answers. The client's own timeout is a
// deadline of the connection, and a scope ends the Read as well.
func TestFasthttpClientTimeout(t *testing.T) {
	run(t, func(ctx context.Context) error {
		silent := func(_ context.Context, c net.Conn) error {
			_, err := io.Copy(io.Discard, c)
			return err
		}
		return serving(t, ctx, silent, func(ctx context.Context, address string) error {
			client := fastClient(t, ctx, address, 1)
			ask := func(timeout time.Duration) error {
				q, a := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
				defer fasthttp.ReleaseRequest(q)
				defer fasthttp.ReleaseResponse(a)
				q.SetRequestURI("http://" + address)
				return client.DoTimeout(q, a, timeout)
			}
			turns, err := beats(ctx, func(context.Context) error { return ask(20 * time.Millisecond) })
			if err != fasthttp.ErrTimeout || turns == 0 {
				t.Errorf("the loop had %d turns, and the error is %v", turns, err)
			}
			err = rondo.Timeout(ctx, 20*time.Millisecond, func(context.Context) error { return ask(time.Hour) })
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("in a scope that has timed out the error is %v", err)
			}
			return nil
		})
	})
}

// TestFasthttpClientSmall: a client with fewer connections than tasks, set to wait
// for a free one, stops the loop.
func TestFasthttpClientSmall(t *testing.T) {
	run(t, func(ctx context.Context) error {
		f := newFast(ctx)
		return serving(t, ctx, f.serve, func(ctx context.Context, address string) error {
			client := fastClient(t, ctx, address, 1)
			client.MaxConnWaitTimeout = 20 * time.Millisecond
			get := func() error {
				_, _, err := client.Get(nil, "http://"+address+"/slow")
				return err
			}
			first := rondo.Go(ctx, func(context.Context) error { return get() })
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
			turns, err := beats(ctx, func(context.Context) error { return get() })
			if err != fasthttp.ErrNoFreeConns || turns != 0 {
				t.Errorf("the loop had %d turns, and the error is %v", turns, err)
			}
			return first.Wait(ctx)
		})
	})
}
