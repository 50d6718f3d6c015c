package socket_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// A secret is what a tls.Conn and a TLSConn have in common.
type secret interface {
	net.Conn
	Handshake() error
	HandshakeContext(ctx context.Context) error
	ConnectionState() tls.ConnectionState
	VerifyHostname(host string) error
	CloseWrite() error
	NetConn() net.Conn
}

// A makeSecret makes one of them.
type makeSecret struct {
	server, client func(ctx context.Context, c net.Conn, config *tls.Config) secret
}

// eitherTLS runs a test with a tls.Conn and with a TLSConn. With one task at a
// time they behave the same.
func eitherTLS(t *testing.T, test func(t *testing.T, by makeSecret)) {
	t.Run("tls.Conn", func(t *testing.T) { test(t, stdTLS) })
	t.Run("TLSConn", func(t *testing.T) { test(t, rondoTLS) })
}

var stdTLS = makeSecret{
	func(_ context.Context, c net.Conn, config *tls.Config) secret { return tls.Server(c, config) },
	func(_ context.Context, c net.Conn, config *tls.Config) secret { return tls.Client(c, config) },
}

var rondoTLS = makeSecret{
	func(ctx context.Context, c net.Conn, config *tls.Config) secret {
		return socket.TLSServer(ctx, c, config)
	},
	func(ctx context.Context, c net.Conn, config *tls.Config) secret {
		return socket.TLSClient(ctx, c, config)
	},
}

// secured returns the two ends of a TLS connection over a and b, after the
// handshake.
func (by makeSecret) secured(t testing.TB, ctx context.Context, a, b net.Conn) (server, client secret) {
	t.Helper()
	s, c := certificate(t)
	s.NextProtos, c.NextProtos = []string{"theme", "episode"}, []string{"coda", "episode"}
	server, client = by.server(ctx, a, s), by.client(ctx, b, c)
	err := both(ctx, func(context.Context) error { return server.Handshake() }, func(context.Context) error { return client.Handshake() })
	if err != nil {
		t.Fatal(err)
	}
	return server, client
}

// certificate returns the configs for a self-signed certificate of 127.0.0.1. The signatures of
// its kind of key have one length, so a simulated run can be repeated.
func certificate(t testing.TB) (server, client *tls.Config) {
	t.Helper()
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, key)
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

// TestTLSEnds: what TLS negotiates (ALPN), a deadline that passes and is moved,
// the end of one side and of both.
func TestTLSEnds(t *testing.T) { eitherTLS(t, tlsEnds) }

func tlsEnds(t *testing.T, by makeSecret) {
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		s, c := by.secured(t, ctx, a, b)
		if got := c.ConnectionState().NegotiatedProtocol; got != "episode" {
			t.Errorf("agreed on %q", got)
		}
		if err := c.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
			return err
		}
		p := make([]byte, 10)
		_, err := c.Read(p)
		timedOut(t, "Read", err)
		if err := c.SetReadDeadline(time.Time{}); err != nil {
			return err
		}
		if _, err := s.Write([]byte("late")); err != nil {
			return err
		}
		if n, err := c.Read(p); string(p[:n]) != "late" {
			t.Errorf("after the deadline: %q, %v", p[:n], err)
		}
		// One side ends by close_notify, the other goes on.
		if err := c.CloseWrite(); err != nil {
			return err
		}
		if n, err := s.Read(p); n != 0 || err != io.EOF {
			t.Errorf("at the end of one side: %d, %v", n, err)
		}
		if _, err := s.Write([]byte("still")); err != nil {
			return err
		}
		if n, err := c.Read(p); string(p[:n]) != "still" {
			t.Errorf("on the other: %q, %v", p[:n], err)
		}
		if err := s.Close(); err != nil {
			return err
		}
		if n, err := c.Read(p); n != 0 || err != io.EOF {
			t.Errorf("at the end of both: %d, %v", n, err)
		}
		return nil
	})
}

// TestTLSCut: a connection that ends within a record was cut off. crypto/tls
// accepts one that ends between two records without close_notify.
func TestTLSCut(t *testing.T) { eitherTLS(t, tlsCut) }

func tlsCut(t *testing.T, by makeSecret) {
	run(t, func(ctx context.Context) error {
		for begun, want := range map[string]error{"": io.EOF, "\x17\x03\x03\x01\x00half": io.ErrUnexpectedEOF} {
			a, b := pair(t, ctx)
			_, c := by.secured(t, ctx, a, b)
			if _, err := io.WriteString(a, begun); err != nil {
				return err
			}
			if err := a.Close(); err != nil {
				return err
			}
			if _, err := c.Read(make([]byte, 1)); err != want {
				t.Errorf("%q and the end: %v", begun, err)
			}
		}
		return nil
	})
}

// TestC185StalledHandshake: a handshake without an answer ends by a deadline,
// by the scope around it, and by its ctx. The connection can be closed, and
// nothing is left.
func TestC185StalledHandshake(t *testing.T) { eitherTLS(t, stalledHandshake) }

func stalledHandshake(t *testing.T, by makeSecret) {
	_, client := certificate(t)
	for way, handshake := range map[string]func(ctx context.Context, c secret) error{
		"deadline": func(ctx context.Context, c secret) error {
			if err := c.SetDeadline(time.Now().Add(time.Millisecond)); err != nil {
				return err
			}
			return c.Handshake()
		},
		"scope": func(ctx context.Context, c secret) error {
			return rondo.Timeout(ctx, time.Millisecond, func(context.Context) error { return c.Handshake() })
		},
		"ctx": func(ctx context.Context, c secret) error {
			return rondo.Timeout(ctx, time.Millisecond, c.HandshakeContext)
		},
		"std ctx": func(ctx context.Context, c secret) error {
			ctx, cancel := context.WithTimeout(ctx, time.Millisecond)
			defer cancel()
			return c.HandshakeContext(ctx)
		},
	} {
		t.Run(way, func(t *testing.T) {
			run(t, func(ctx context.Context) error {
				a, b := pair(t, ctx)
				c := by.client(ctx, b, client)
				err := handshake(ctx, c)
				if !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Handshake returned %v", err)
				}
				if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
					t.Errorf("Close returned %v", err)
				}
				// The peer sees the hello, unless the time was over before that, and the end.
				if _, err := io.ReadAll(a); err != nil {
					t.Errorf("the peer got %v", err)
				}
				return nil
			})
		})
	}
}

// buffered is a connection of which some was already read.
type buffered struct {
	net.Conn
	r *bufio.Reader
}

func (b buffered) Read(p []byte) (int, error) { return b.r.Read(p) }

// TestC187StartTLS: a line in plain text, and in the same segment the beginning
// of the handshake. What the reader of the line has read too much is not lost.
func TestC187StartTLS(t *testing.T) { eitherTLS(t, startTLS) }

func startTLS(t *testing.T, by makeSecret) {
	server, client := certificate(t)
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		return both(ctx, func(context.Context) error {
			r := bufio.NewReader(a)
			if line, err := r.ReadString('\n'); line != "STARTTLS\n" {
				return fmt.Errorf("the line is %q: %w", line, err)
			}
			if r.Buffered() == 0 {
				t.Error("the handshake has not begun in the same segment: the test shows nothing")
			}
			s := by.server(ctx, buffered{a, r}, server)
			if _, err := s.Write([]byte("welcome")); err != nil {
				return err
			}
			return s.Close()
		}, func(context.Context) error {
			c := by.client(ctx, &firstTogether{Conn: b, first: []byte("STARTTLS\n")}, client)
			got, err := io.ReadAll(c)
			if string(got) != "welcome" {
				t.Errorf("got %q", got)
			}
			return err
		})
	})
}

// firstTogether sends something before the first Write, with it.
type firstTogether struct {
	net.Conn
	first []byte
}

func (f *firstTogether) Write(p []byte) (int, error) {
	n := len(f.first)
	if n == 0 {
		return f.Conn.Write(p)
	}
	m, err := f.Conn.Write(append(f.first, p...))
	f.first = nil
	return max(m-n, 0), err
}

// TestC189TLSOverTLS: a TLS connection is a net.Conn, so another one can run
// inside it.
func TestC189TLSOverTLS(t *testing.T) { eitherTLS(t, tlsOverTLS) }

func tlsOverTLS(t *testing.T, by makeSecret) {
	run(t, func(ctx context.Context) error {
		a, b := pair(t, ctx)
		outerServer, outerClient := by.secured(t, ctx, a, b)
		s, c := by.secured(t, ctx, outerServer, outerClient)
		text := longText(300_000)
		return both(ctx, func(ctx context.Context) error {
			err := echo(ctx, s)
			return errors.Join(err, s.CloseWrite())
		}, func(context.Context) error {
			_, err := c.Write(text)
			return errors.Join(err, c.CloseWrite())
		}, func(context.Context) error {
			got, err := io.ReadAll(c)
			if !bytes.Equal(got, text) {
				t.Errorf("%d bytes of %d came back", len(got), len(text))
			}
			return err
		})
	})
}
