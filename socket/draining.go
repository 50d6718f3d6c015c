package socket

// Draining ends a listener without a lost connection.
//
// The law: a client that has connected is served. A listening socket that is closed resets
// the connections that it has not accepted. So it first refuses new ones, then all
// that have come are accepted, and then it is closed.

import (
	"errors"
	"net"
	"os"
	"time"

	"github.com/rondo-go/rondo/internal/fd"
)

// drainTime is how long a listener still accepts when it ends. In that time, clients
// whose handshake has begun finish it: a round trip.
const drainTime = 100 * time.Millisecond

// A draining is a Listener whose Close lets the task that accepts go on for
// drainTime. It belongs to the loop.
type draining struct {
	*Listener
	accepting bool
	ending    bool
	ended     func() // called when it is closed, after all that had come were accepted
}

// Close begins the end if a task accepts, and otherwise closes the listener. Once the
// end has begun, the task that accepts closes it.
func (d *draining) Close() error {
	switch {
	case !d.accepting:
		return d.Listener.Close()
	case d.ending:
		return nil
	}
	d.ending = true
	d.file.remove()
	d.refuseNew()
	driver := d.fd.Loop().Driver()
	return d.SetDeadline(driver.Time(driver.Now()).Add(drainTime))
}

// Accept is Listener.Accept.
func (d *draining) Accept() (net.Conn, error) { return d.accept(use{}) }

func (d *draining) accept(use use) (net.Conn, error) {
	d.accepting = true
	c, err := d.Listener.accept(use)
	d.accepting = false
	if err != nil {
		return nil, d.closed(err)
	}
	return c, nil
}

// acceptAny accepts a connection that no loop has yet. Only tasks may call it.
func (d *draining) acceptAny() (accepted, error) {
	d.accepting = true
	a, err := d.Listener.acceptAny(fd.TaskOf(d.fd.Loop(), "Accept"))
	d.accepting = false
	if err != nil {
		return a, d.closed(d.fail("accept", err))
	}
	return a, nil
}

// closed closes the listener if all that had come were accepted.
func (d *draining) closed(err error) error {
	if !d.ending || !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	_ = d.Listener.Close()
	d.ended()
	return d.fail("accept", net.ErrClosed)
}
