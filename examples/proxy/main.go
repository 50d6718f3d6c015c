// Command proxy terminates TLS: it accepts TLS connections and forwards their bytes,
// both ways, over plain ones. To try it with the echo server behind it:
//
//	go run ./examples/echo
//	go run ./examples/proxy -to localhost:7777
//	openssl s_client -quiet -connect localhost:7443
//
// Without -cert and -key it makes its own certificate at each start. With -plain it
// uses no TLS, and with -plain -idle 0 the bytes never leave the kernel (splice). It
// passes on the end of one direction while the other continues. A slow reader slows
// down its writer. On Ctrl-C it gives connections the time -grace to finish.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/signals"
	"github.com/rondo-go/rondo/socket"
)

var (
	address = flag.String("addr", "localhost:7443", "where to listen")
	to      = flag.String("to", "localhost:7777", "where to forward to")
	cert    = flag.String("cert", "", "file of the certificate, PEM")
	key     = flag.String("key", "", "file of its key, PEM")
	plain   = flag.Bool("plain", false, "no TLS")
	setup   = flag.Duration("setup", 10*time.Second, "limit for the handshake, and for connecting")
	idle    = flag.Duration("idle", 5*time.Minute, "how long both sides may be silent; 0 for ever")
	grace   = flag.Duration("grace", 5*time.Second, "how long to wait for connections at the end")
)

// forward copies until src ends, and passes the end on.
func forward(dst, src stream) error {
	if _, err := io.Copy(dst, src); err != nil {
		return err
	}
	return dst.CloseWrite()
}

// serve handles one connection. Its group ends if nothing has arrived for *idle.
func serve(ctx context.Context, c net.Conn, config *tls.Config) error {
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		near := stream(c.(*socket.Conn))
		if config != nil {
			s := socket.TLSServer(g, c, config)
			if err := rondo.Timeout(g, *setup, s.HandshakeContext); err != nil {
				return err
			}
			near = s
		}
		conn, err := (&socket.Dialer{Timeout: *setup}).DialContext(g, "tcp", *to)
		if err != nil {
			return err
		}
		defer conn.Close()
		far := stream(conn.(*socket.Conn))
		if *idle > 0 {
			near, far = lively{near, g}, lively{far, g}
			g.SetDeadline(rondo.Now(g).Add(*idle))
		}
		return rondo.Group(g, func(h *rondo.Scope) error {
			h.Go(func(context.Context) error { return forward(far, near) })
			return forward(near, far)
		})
	})
}

// certificate returns the certificate of the files, or a new one.
func certificate(ctx context.Context) (tls.Certificate, error) {
	if *cert != "" || *key != "" {
		return tls.LoadX509KeyPair(*cert, *key)
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	t := &x509.Certificate{DNSNames: []string{"localhost"}, NotAfter: rondo.Now(ctx).AddDate(0, 3, 0)}
	der, err := x509.CreateCertificate(rand.Reader, t, t, private.Public(), private)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, err
}

// run serves until a signal comes, and then lets the connections finish.
func run(ctx context.Context) error {
	var config *tls.Config
	if !*plain {
		c, err := certificate(ctx)
		if err != nil {
			return err
		}
		config = &tls.Config{Certificates: []tls.Certificate{c}}
	}
	l, err := socket.Listen(ctx, "tcp", *address)
	if err != nil {
		return err
	}
	fmt.Println("listening on", l.Addr())
	s := &socket.Server{MaxConns: 1000, Handler: func(ctx context.Context, c net.Conn) error { return serve(ctx, c, config) }}
	return signals.Serve(ctx, s, l, *grace)
}

func main() {
	flag.Parse()
	if err := rondo.Run(context.Background(), run); err != nil {
		log.Fatal(err)
	}
}
