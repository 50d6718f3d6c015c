package socket_test

// These examples are about TLS.

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http/httptest"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// configs returns the two sides of TLS with a certificate for tests, of example.com.
func configs() (server, client *tls.Config) {
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return &tls.Config{Certificates: s.TLS.Certificates}, &tls.Config{RootCAs: roots, ServerName: "example.com"}
}

// A server with TLS is a Server on a listener that adds it.
func ExampleNewTLSListener() {
	server, client := configs()
	loop(func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", "localhost:0")
		if err != nil {
			return err
		}
		tl := socket.NewTLSListener(ctx, l, server)
		rondo.Go(ctx, func(ctx context.Context) error { return socket.Serve(ctx, tl, hello) })
		c, err := socket.DialTLS(ctx, "tcp", l.Addr().String(), client)
		if err != nil {
			return err
		}
		defer c.Close()
		answer, err := io.ReadAll(c)
		fmt.Print(string(answer))
		return err
	})
	// Output: hello
}

func ExampleDialTLS() {
	loop(func(ctx context.Context) error {
		c, err := socket.DialTLS(ctx, "tcp", "localhost:1", nil) // nobody listens there
		if err == nil {
			c.Close()
		}
		fmt.Println(err != nil)
		return nil
	})
	// Output: true
}

// TLS over a connection that is there already, as after STARTTLS.
func ExampleTLSClient() {
	server, client := configs()
	loop(func(ctx context.Context) error {
		near, far := socket.Pipe(ctx)
		rondo.Go(ctx, func(ctx context.Context) error {
			c := socket.TLSServer(ctx, far, server)
			defer c.Close()
			return hello(ctx, c)
		})
		c := socket.TLSClient(ctx, near, client)
		defer c.Close()
		line, err := io.ReadAll(c)
		fmt.Print(string(line))
		return err
	})
	// Output: hello
}

// The server's side of the same. The handshake is done by the first Read or Write.
func ExampleTLSServer() {
	server, client := configs()
	loop(func(ctx context.Context) error {
		near, far := socket.Pipe(ctx)
		rondo.Go(ctx, func(ctx context.Context) error {
			return socket.TLSClient(ctx, near, client).HandshakeContext(ctx)
		})
		c := socket.TLSServer(ctx, far, server)
		err := c.HandshakeContext(ctx)
		fmt.Println(c.ConnectionState().HandshakeComplete, err)
		return nil
	})
	// Output: true <nil>
}
