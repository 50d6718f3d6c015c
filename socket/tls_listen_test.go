package socket_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// TestTLSListener: a silent client delays nobody; DialTLS takes the server name
// from the address; a client without TLS can be answered in plain text.
func TestTLSListener(t *testing.T) {
	server, client := certificate(t)
	client.ServerName = ""
	run(t, func(ctx context.Context) error {
		l := listen(t, ctx)
		addr := l.Addr().String()
		var failed error
		s := &socket.Server{OnError: func(_ net.Conn, err error) { failed = err }, Handler: func(ctx context.Context, c net.Conn) error {
			err := c.(*socket.TLSConn).HandshakeContext(ctx)
			var plain tls.RecordHeaderError
			if errors.As(err, &plain) {
				_, err = io.WriteString(plain.Conn, "speak TLS")
				return err
			}
			return errors.Join(err, echo(ctx, c))
		}}
		served := rondo.Go(ctx, func(ctx context.Context) error {
			return s.Serve(ctx, socket.NewTLSListener(ctx, l, server))
		})
		silent, err := socket.Dial(ctx, "tcp", addr)
		if err != nil {
			return err
		}
		defer silent.Close()
		c, err := socket.DialTLS(ctx, "tcp", addr, client)
		if err != nil {
			return err
		}
		if c.NetConn().(*socket.Conn).LocalAddr() != c.LocalAddr() || c.RemoteAddr().String() != addr || client.ServerName != "" {
			t.Errorf("%v to %v", c.LocalAddr(), c.RemoteAddr())
		}
		if err := errors.Join(c.VerifyHostname("127.0.0.1"), roundTripTLS(t, c)); err != nil {
			t.Error(err)
		}
		plain, err := socket.Dial(ctx, "tcp", addr)
		if err != nil {
			return err
		}
		defer plain.Close()
		if _, err := io.WriteString(plain, "GET / HTTP/1.0\r\n\r\n"); err != nil {
			return err
		}
		if got, err := io.ReadAll(plain); string(got) != "speak TLS" {
			t.Errorf("without TLS: %q, %v", got, err)
		}
		var unknown *tls.CertificateVerificationError
		if _, err := socket.DialTLS(ctx, "tcp", addr, nil); !errors.As(err, &unknown) {
			t.Errorf("without a root: %v", err)
		}
		for failed == nil {
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
		}
		if !strings.Contains(failed.Error(), "remote error: tls: bad certificate") {
			t.Errorf("the server was told: %v", failed)
		}
		// The silent client is disconnected.
		if err := rondo.Timeout(ctx, time.Millisecond, s.Shutdown); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown: %v", err)
		}
		if err := served.Wait(ctx); err != socket.ErrServerClosed {
			return err
		}
		return c.Close()
	})
}

// TestHookOfHandshakeWaits: GetCertificate runs in the task that does the handshake, so it may wait
// with a ctx of the loop, in each kind of server.
func TestHookOfHandshakeWaits(t *testing.T) {
	server, client := certificate(t)
	one := &server.Certificates[0]
	handler := func(ctx context.Context, c net.Conn) error { return echo(ctx, c) }
	session := func(c net.Conn) func(ctx context.Context) error {
		return func(context.Context) error {
			p := make([]byte, 5)
			n, err := c.Read(p)
			_, failed := c.Write(p[:n])
			return errors.Join(err, failed)
		}
	}
	ignore := func(net.Conn, error) {} // the end of the client
	for name, s := range map[string]*socket.Server{
		"a handler":  {Handler: handler, OnError: ignore},
		"a session":  {Session: session, OnError: ignore},
		"a tls.Conn": {Handler: handler, OnError: ignore},
	} {
		run(t, func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				config := &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
					return rondo.Offload(g, func(context.Context) (*tls.Certificate, error) { return one, nil })
				}}
				l := listen(t, g)
				address, secured := l.Addr().String(), socket.NewTLSListener(g, l, config)
				if name == "a tls.Conn" {
					secured = tls.NewListener(l, config)
				}
				g.Go(func(ctx context.Context) error { return s.Serve(ctx, secured) })
				c, err := socket.DialTLS(g, "tcp", address, client)
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				err = errors.Join(roundTripTLS(t, c), c.Close())
				g.Cancel(nil)
				return err
			})
		})
	}
}

// roundTripTLS writes and reads back.
func roundTripTLS(t testing.TB, c net.Conn) error {
	p := make([]byte, 5)
	if _, err := fmt.Fprint(c, "hello"); err != nil {
		return err
	}
	_, err := io.ReadFull(c, p)
	if string(p) != "hello" {
		t.Errorf("%q came back", p)
	}
	return err
}

func TestTLSMisuse(t *testing.T) {
	ctx := context.Background()
	none := "this ctx belongs to no running loop"
	panics(t, "rondo: socket.TLSClient: "+none, func() { socket.TLSClient(ctx, nil, nil) })
	panics(t, "rondo: socket.TLSServer: "+none, func() { socket.TLSServer(ctx, nil, nil) })
	panics(t, "rondo: socket.NewTLSListener: "+none, func() { socket.NewTLSListener(ctx, nil, nil) })
	if _, err := socket.DialTLS(ctx, "tcp", "h", nil); !errors.Is(err, rondo.ErrNoLoop) {
		t.Errorf("DialTLS: %v", err)
	}
	run(t, func(ctx context.Context) error {
		panics(t, "rondo: socket.TLSClient with a Renegotiation", func() {
			socket.TLSClient(ctx, nil, &tls.Config{Renegotiation: tls.RenegotiateFreelyAsClient})
		})
		_, b := tlsPair(t, ctx)
		if err := b.CloseWrite(); err == nil || !strings.Contains(err.Error(), "handshake") {
			t.Errorf("CloseWrite before the handshake: %v", err)
		}
		return nil
	})
}
