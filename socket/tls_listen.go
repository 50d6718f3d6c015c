package socket

// NewTLSListener and DialTLS make TLSConns.

import (
	"context"
	"crypto/tls"
	"net"

	"github.com/rondo-go/rondo/internal/kernel"
)

// NewTLSListener returns a listener that makes a *TLSConn of each connection
// that l accepts, as tls.NewListener makes a *tls.Conn. The handshake is not
// part of Accept, so a silent client delays only its own task. ctx names the
// loop whose tasks will use the connections. It never suspends. It panics if
// ctx belongs to no loop.
func NewTLSListener(ctx context.Context, l net.Listener, config *tls.Config) net.Listener {
	return &tlsListener{l, mustLoop(ctx, "NewTLSListener"), config}
}

type tlsListener struct {
	net.Listener
	loop   kernel.Loop
	config *tls.Config
}

// Accept waits for a connection. It suspends the task.
func (l *tlsListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return newTLSServer(l.loop, c, l.config), nil
}

// DialTLS is Dial and the handshake. If the config has no ServerName it uses
// the host of the address; a nil config is an empty one. It suspends the task,
// and cancelling ctx ends it. Its errors are those of Dial and of
// HandshakeContext.
func DialTLS(ctx context.Context, network, address string, config *tls.Config) (*TLSConn, error) {
	raw, err := Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	config = config.Clone()
	if config == nil {
		config = new(tls.Config)
	}
	if config.ServerName == "" {
		config.ServerName = address
		if host, _, err := net.SplitHostPort(address); err == nil {
			config.ServerName = host
		}
	}
	c := TLSClient(ctx, raw, config)
	if err := c.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, err
	}
	return c, nil
}
