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

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/fd"
)

// drainTime is how long a listener still accepts when it ends. In that time, clients
// whose handshake has begun finish it: a round trip. If the loop has stood still meanwhile, some
// may wait to be accepted, and the time begins anew.
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
	return d.acceptOn()
}

// acceptOn ends what accepts after drainTime.
func (d *draining) acceptOn() error {
	clock := d.fd.Loop().Driver()
	return d.SetDeadline(clock.Time(clock.Now()).Add(drainTime))
}

// Accept is Listener.Accept.
func (d *draining) Accept() (net.Conn, error) { return d.accept(use{}) }

func (d *draining) accept(use use) (c net.Conn, err error) {
	err = d.drain(func() error {
		c, err = d.Listener.accept(use)
		return err
	})
	return c, err
}

// acceptAny accepts a connection that no loop has yet. Only tasks may call it.
func (d *draining) acceptAny() (a accepted, err error) {
	err = d.drain(func() error {
		a, err = d.Listener.acceptAny(fd.TaskOf(d.fd.Loop(), "Accept"))
		return d.fail("accept", err)
	})
	return a, err
}

// drain calls accept, and closes the listener if all that had come were accepted.
func (d *draining) drain(accept func() error) error {
	for {
		d.accepting = true
		err := accept()
		d.accepting = false
		switch {
		case !d.ending || !errors.Is(err, os.ErrDeadlineExceeded):
			return err
		case !d.arrived():
			_ = d.Listener.Close()
			d.ended()
			return d.fail("accept", net.ErrClosed)
		}
		if err := d.acceptOn(); err != nil {
			return err
		}
	}
}

// arrived reports whether a connection waits to be accepted. An Accept whose time is over does not
// look.
func (l *Listener) arrived() bool {
	if l.virtual {
		return l.fd.Virtual().Ready(driver.Readable)
	}
	return hasArrived(l.std)
}
