package socket

// A session must know whether a TLSConn has something to read.
// Only crypto/tls knows that, and only by a Read. So one byte is read ahead,
// with a connection below that never waits: it says that it has nothing, by an
// error after which crypto/tls accepts another try.

import (
	"errors"
	"net"

	"github.com/rondo-go/rondo/internal/fd"
)

// An ahead is what was read before anyone asked for it. The holder of the lock
// reading uses it.
type ahead struct {
	has     bool       // there is a byte
	byte    [1]byte    // the byte
	looking bool       // the connection below must not wait
	watcher fd.Watcher // is called when the connection below has more; nil: nobody
}

// errNothing is the error of a connection that must not wait.
var errNothing = errors.New("rondo: nothing to read")

// mayRead reports whether a Read of c would not wait. If it would, the watcher
// is called when that changes.
func (a *ahead) mayRead(c net.Conn) bool {
	return a.watcher != nil && c.(watchable).watchInput(a.watcher)
}

// watchInput is fd.FD.WatchInput. It waits for nothing, but a turn may end in it.
func (c *TLSConn) watchInput(w fd.Watcher) (ready bool) {
	below := c.conn.(watchable)
	if !c.ready.Load() || !c.reading.Try() {
		// What there is belongs to the handshake, or to another reader.
		return below.watchInput(w)
	}
	defer c.reading.Release(c.loop)
	if c.ahead.has {
		return true
	}
	c.ahead.looking, c.ahead.watcher = true, w
	n, err := c.tls.Read(c.ahead.byte[:])
	c.ahead.looking, c.ahead.watcher = false, nil
	c.ahead.has = n > 0
	c.offer()
	return !errors.Is(err, errNothing)
}

// read is the Read of crypto/tls, after what was read ahead.
func (c *TLSConn) read(p []byte) (int, error) {
	if !c.ahead.has || len(p) == 0 {
		return c.tls.Read(p)
	}
	p[0], c.ahead.has = c.ahead.byte[0], false
	if len(p) == 1 {
		return 1, nil
	}
	// The rest of the record is there. An error comes again with the next Read.
	c.ahead.looking = true
	n, _ := c.tls.Read(p[1:])
	c.ahead.looking = false
	return 1 + n, nil
}
