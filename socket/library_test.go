package socket_test

// Code that reads and writes a net.Conn runs in tasks unchanged.

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"iter"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// serve runs a server while body runs.
func serve(t testing.TB, ctx context.Context, handler func(ctx context.Context, c net.Conn) error, wrap func(net.Listener) net.Listener, body func(ctx context.Context, addr string) error) error {
	t.Helper()
	l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	var outer net.Listener = l
	if wrap != nil {
		outer = wrap(l)
	}
	s := &socket.Server{Handler: handler, OnError: func(c net.Conn, err error) { t.Errorf("server: %v", err) }}
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(func(ctx context.Context) error {
			if err := s.Serve(ctx, outer); err != socket.ErrServerClosed {
				t.Errorf("Serve returned %v", err)
			}
			return nil
		})
		if err := body(g, l.Addr().String()); err != nil {
			return err
		}
		return s.Shutdown(g)
	})
}

// TestProxy: two tasks with an io.Copy each, ended by half-closes.
func TestProxy(t *testing.T) {
	run(t, func(ctx context.Context) error {
		return serve(t, ctx, echo, nil, func(ctx context.Context, addr string) error {
			proxy := func(ctx context.Context, c net.Conn) error {
				up, err := socket.Dial(ctx, "tcp", addr)
				if err != nil {
					return err
				}
				defer up.Close()
				pump := func(to, from net.Conn) func(ctx context.Context) error {
					return func(ctx context.Context) error {
						_, err := io.Copy(to, from)
						to.(*socket.Conn).CloseWrite()
						return err
					}
				}
				return both(ctx, pump(up, c), pump(c, up))
			}
			return serve(t, ctx, proxy, nil, func(ctx context.Context, addr string) error {
				return rondo.Group(ctx, func(g *rondo.Scope) error {
					for i := range 10 {
						g.Go(func(ctx context.Context) error { return roundTrip(t, ctx, addr, bytes.Repeat([]byte{byte(i)}, 1<<20)) })
					}
					return nil
				})
			})
		})
	})
}

// roundTrip sends data and half-closes, while another task reads it back.
func roundTrip(t testing.TB, ctx context.Context, addr string, data []byte) error {
	t.Helper()
	c, err := socket.Dial(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	return both(ctx, func(ctx context.Context) error {
		if _, err := c.Write(data); err != nil {
			return err
		}
		return c.(*socket.Conn).CloseWrite()
	}, func(ctx context.Context) error {
		got, err := io.ReadAll(c)
		if !bytes.Equal(got, data) {
			t.Errorf("%d bytes came back of %d", len(got), len(data))
		}
		return err
	})
}

// certificate returns the configs for a self-signed certificate of 127.0.0.1.
func certificate(t testing.TB) (server, client *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}},
		&tls.Config{RootCAs: pool, ServerName: "127.0.0.1"}
}

// TestTLS: both ends of many connections in tasks, a reader and a writer each.
func TestTLS(t *testing.T) {
	server, client := certificate(t)
	run(t, func(ctx context.Context) error {
		wrap := func(l net.Listener) net.Listener { return tls.NewListener(l, server) }
		return serve(t, ctx, echo, wrap, func(ctx context.Context, addr string) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				for i := range 20 {
					g.Go(func(ctx context.Context) error {
						raw, err := socket.Dial(ctx, "tcp", addr)
						if err != nil {
							return err
						}
						c := tls.Client(raw, client)
						defer c.Close()
						// Two tasks in the handshake would meet at its
						// sync.Mutex, which stops the loop.
						if err := c.Handshake(); err != nil {
							return err
						}
						data := bytes.Repeat([]byte{byte(i)}, 100_000)
						return both(ctx, func(ctx context.Context) error {
							_, err := c.Write(data)
							return err
						}, func(ctx context.Context) error {
							got := make([]byte, len(data))
							_, err := io.ReadFull(c, got)
							if !bytes.Equal(got, data) {
								t.Error("something else came back")
							}
							return err
						})
					})
				}
				return nil
			})
		})
	})
}

// TestHTTPServer: net/http.Server accepts from a Listener on goroutines of its
// own, while a task dials it and talks to it.
func TestHTTPServer(t *testing.T) {
	run(t, func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			fmt.Fprintf(w, "%s %s %d", r.Method, r.URL.Path, len(body))
		})}
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error {
				_, err := rondo.Offload(ctx, func(context.Context) (int, error) { return 0, s.Serve(l) })
				if err != http.ErrServerClosed {
					t.Errorf("Serve returned %v", err)
				}
				return nil
			})
			for i := range 10 {
				if err := ask(t, g, l.Addr().String(), i); err != nil {
					return err
				}
			}
			_, err := rondo.Offload(g, func(ctx context.Context) (int, error) { return 0, s.Shutdown(ctx) })
			return err
		})
	})
}

// ask posts to a server from a task.
func ask(t testing.TB, ctx context.Context, addr string, size int) error {
	c, err := socket.Dial(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	req, err := http.NewRequest("POST", "http://"+addr+"/path", strings.NewReader(strings.Repeat("x", size)))
	if err != nil {
		return err
	}
	if err := req.Write(c); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), req)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(resp.Body)
	if want := fmt.Sprintf("POST /path %d", size); string(body) != want {
		t.Errorf("got %q, want %q", body, want)
	}
	return err
}

// TestNested: the body of an iter.Pull inside a task reads the connection, and
// suspends the task.
func TestNested(t *testing.T) {
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		defer a.Close()
		defer b.Close()
		var order []string
		return both(ctx, func(ctx context.Context) error {
			next, stop := iter.Pull(func(yield func(string) bool) {
				lines := bufio.NewScanner(a)
				for lines.Scan() && yield(lines.Text()) {
				}
			})
			defer stop()
			for {
				line, ok := next()
				if !ok {
					break
				}
				order = append(order, line)
			}
			if got := strings.Join(order, " "); got != "one two three" {
				t.Errorf("read %q", got)
			}
			return nil
		}, func(ctx context.Context) error {
			for i, line := range []string{"one", "two", "three"} {
				waiting(ctx, "read", 1)
				if len(order) != i {
					t.Errorf("%d lines were read before the next was sent, not %d", len(order), i)
				}
				if _, err := fmt.Fprintln(b, line); err != nil {
					return err
				}
				for len(order) == i {
					if err := rondo.Yield(ctx); err != nil {
						return err
					}
				}
			}
			return b.CloseWrite()
		})
	})
}
