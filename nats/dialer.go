package nats

import (
	"net"
	"sync"

	natsgo "github.com/nats-io/nats.go"
)

// A dialer dials as the client would, and keeps the latest connection. A write to a
// server that does not read holds the client's lock; closing the connection below it
// is the one way to end that.
type dialer struct {
	natsgo.CustomDialer // the user's, or a net.Dialer

	mu   sync.Mutex
	conn net.Conn
	over bool // cut was called
}

// newDialer makes the dialer that the options ask for.
func newDialer(o *natsgo.Options) *dialer {
	switch {
	case o.CustomDialer != nil:
		return &dialer{CustomDialer: o.CustomDialer}
	case o.Dialer != nil:
		return &dialer{CustomDialer: o.Dialer}
	}
	return &dialer{CustomDialer: &net.Dialer{Timeout: o.Timeout}}
}

// Dial dials, and keeps the connection.
func (d *dialer) Dial(network, address string) (net.Conn, error) {
	conn, err := d.CustomDialer.Dial(network, address)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.conn = conn
	if d.over {
		conn.Close()
	}
	return conn, nil
}

// SkipTLSHandshake is the user's dialer's, if it has one.
func (d *dialer) SkipTLSHandshake() bool {
	s, ok := d.CustomDialer.(interface{ SkipTLSHandshake() bool })
	return ok && s.SkipTLSHandshake()
}

// cut closes the connection below the client, and those that it may still dial.
func (d *dialer) cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over = true
	if d.conn != nil {
		d.conn.Close()
	}
}
