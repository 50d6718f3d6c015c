package main

// HTTP over TLS 1.3: the servers of site with a certificate, and their load. The load is
// goroutines of crypto/tls, one for each connection, on a CPU of its own.

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
)

// selfSigned returns a certificate that no client knows.
func selfSigned() (*tls.Config, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, nil
}

func secureByServer(ctx context.Context, l net.Listener, h http.Handler) error {
	config, err := selfSigned()
	if err != nil {
		return err
	}
	s := &httptask.Server{HTTP: http.Server{Handler: h, TLSConfig: config}}
	return rondo.Run(ctx, func(ctx context.Context) error { return s.ServeTLS(ctx, l, "", "") })
}

func secureByNetHTTP(ctx context.Context, l net.Listener, h http.Handler) error {
	config, err := selfSigned()
	if err != nil {
		return err
	}
	s := &http.Server{Handler: h, TLSConfig: config}
	defer context.AfterFunc(ctx, func() { s.Close() })()
	if err := s.ServeTLS(l, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return context.Cause(ctx)
}

func secureServers() []server {
	return []server{
		{"httptask-server-tls", ownServer, true, httpInGo("site-server-tls")},
		{"net-http-tls", netHTTP, false, httpInGo("site-net-http-tls")},
	}
}

// dialSecure opens a connection with TLS 1.3 that ends with a reset.
func dialSecure(address string) (net.Conn, error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	if err := c.(*net.TCPConn).SetLinger(0); err != nil {
		return nil, err
	}
	// The server is another process of this program: nobody is in between.
	return tls.Client(c, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}), nil
}

// secureLoad is load for an exchange over TLS.
func secureLoad(address string, count int, e httpExchange) error {
	conns := make([]net.Conn, count)
	size := 0
	for i := range conns {
		c, err := dialSecure(address)
		if err != nil {
			return err
		}
		if size, err = e.answerSize(c); err != nil {
			return err
		}
		conns[i] = c
	}
	fmt.Println("ready")
	return answerNumbers(func(n int) (string, error) {
		var left atomic.Int64
		left.Store(int64(n))
		began := time.Now()
		var all errgroup.Group
		for _, c := range conns {
			all.Go(func() error {
				for answer := make([]byte, size); left.Add(-1) >= 0; {
					if _, err := io.WriteString(c, e.request); err != nil {
						return err
					}
					if _, err := io.ReadFull(c, answer); err != nil {
						return err
					}
				}
				return nil
			})
		}
		err := all.Wait()
		return strconv.FormatInt(int64(time.Since(began)), 10), err
	})
}
