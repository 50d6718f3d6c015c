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
