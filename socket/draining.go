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
// whose handshake has begun finish it: a round trip. If the loop has stood still meanwhile, some
// may wait to be accepted, so the listener is closed only after lookTime without one.
const (
	drainTime = 100 * time.Millisecond
	lookTime  = time.Millisecond
)

// A draining is a Listener whose Close lets the task that accepts go on for
// drainTime. It belongs to the loop.
type draining struct {
	*Listener
	accepting bool
	ending    bool
	looking   bool   // lookTime runs
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
	return d.acceptFor(drainTime)
}

// acceptFor ends what accepts after that time.
func (d *draining) acceptFor(long time.Duration) error {
	driver := d.fd.Loop().Driver()
	return d.SetDeadline(driver.Time(driver.Now()).Add(long))
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
		case err == nil:
			d.looking = false
			return nil
		case !d.ending || !errors.Is(err, os.ErrDeadlineExceeded):
			return err
		case d.looking:
			_ = d.Listener.Close()
			d.ended()
			return d.fail("accept", net.ErrClosed)
		}
		d.looking = true
		if err := d.acceptFor(lookTime); err != nil {
			return err
		}
	}
}
