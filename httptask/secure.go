package httptask

// TLS of an engine: a configuration as net/http's ServeTLS makes it, and what comes between the
// handshake and the first request. HTTP/1 goes on in the session; every other protocol that the
// handshake has agreed on is net/http's.

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/errtree"
	"github.com/rondo-go/rondo/internal/report"
	"github.com/rondo-go/rondo/socket"
)

// secure returns the configuration of ServeTLS, made of the user's, which may be nil. http2 says
// that HTTP/2 can be served.
func (s *Server) secure(ctx context.Context, users *tls.Config, certFile, keyFile string, http2 bool) (*tls.Config, error) {
	config := new(tls.Config)
	if users != nil {
		config = users.Clone()
	}
	offered := slices.DeleteFunc(slices.Clone(config.NextProtos), func(p string) bool { return p == "h2" && !http2 })
	if http2 && !slices.Contains(offered, "h2") {
		offered = append(offered, "h2")
	}
	if !slices.Contains(offered, "http/1.1") {
		offered = append(offered, "http/1.1")
	}
	config.NextProtos = offered
	has := len(config.Certificates) > 0 || config.GetCertificate != nil || config.GetConfigForClient != nil
	if certFile == "" && keyFile == "" {
		if !has {
			return nil, errNoCertificate
		}
		return config, nil
	}
	c, err := rondo.Offload(ctx, func(context.Context) (tls.Certificate, error) {
		return tls.LoadX509KeyPair(certFile, keyFile)
	})
	if err != nil {
		return nil, fmt.Errorf("httptask: certificate %s with key %s: %w", certFile, keyFile, err)
	}
	config.Certificates = []tls.Certificate{c}
	return config, nil
}

var errNoCertificate = errors.New("httptask: TLS without a certificate: name the files of one, or set Certificates of the tls.Config")

// offersHTTP2 reports whether net/http would serve HTTP/2 over TLS.
func (s *Server) offersHTTP2() bool {
	if p := s.HTTP.Protocols; p != nil {
		return p.HTTP2()
	}
	_, has := s.HTTP.TLSNextProto["h2"]
	return has || s.HTTP.TLSNextProto == nil && !strings.Contains(os.Getenv("GODEBUG"), "http2server=0")
}

// handshakeLimit is how long a handshake may take: the least of three limits, as in net/http,
// or the default of a socket.Server.
func (e *engine) handshakeLimit() (limit time.Duration) {
	for _, d := range []time.Duration{e.http.ReadHeaderTimeout, e.http.ReadTimeout, e.http.WriteTimeout} {
		if d > 0 && (limit == 0 || d < limit) {
			limit = d
		}
	}
	return limit
}

// Secured is called when the handshake is done.
func (n *connection) Secured(ctx context.Context) error {
	state := n.conn.(*socket.TLSConn).ConnectionState()
	n.tls = &state
	switch state.NegotiatedProtocol {
	case "", "http/1.1", "http/1.0":
		n.waitForHead()
		return nil
	}
	if n.engine.other == nil {
		return io.EOF
	}
	return n.handOver(nil)
}

// handshakeFailed returns what to log for a handshake that has failed. A client that speaks
// HTTP without TLS is told so, as by net/http.
func handshakeFailed(c *socket.TLSConn, err error) string {
	if wrong, ok := errtree.As[tls.RecordHeaderError](err); ok {
		switch string(wrong.RecordHeader[:]) {
		case "GET /", "HEAD ", "POST ", "PUT /", "OPTIO":
			// If it fails, the client is gone.
			_, _ = io.WriteString(c.NetConn(), "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n")
			return "client sent an HTTP request to an HTTPS server"
		}
	}
	return report.Text(err)
}
