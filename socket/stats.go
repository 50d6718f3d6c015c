package socket

import (
	"net"
	"sync/atomic"

	"github.com/rondo-go/rondo/internal/kernel"
)

// Stats count what a server has done since it was made. The counters are of all loops on
// which it serves.
type Stats struct {
	Accepted      int64 // connections that were accepted, those that were refused included
	Open          int64 // connections that are open now
	RefusedByAddr int64 // closed at once: their address had Limits.ConnsPerAddr connections
	RefusedByRate int64 // closed at once: their address opened more than Limits.RatePerAddr
	Handshakes    int64 // TLS handshakes that failed or took too long
	Silent        int64 // closed because of Limits.FirstByte
	Idle          int64 // closed because of Limits.Idle
	PeerClosed    int64 // functions that were cancelled because the peer had left
	Errors        int64 // connections that ended with an error, panics included
	Panics        int64 // connections that ended with a panic, of a function or of a task that it has started
}

// counts are the counters of a server. Any goroutine may read them, and readers from outside
// find them while they are published.
type counts kernel.Server

// publish shows the counters to readers from outside until conceal is called. Both are
// called on the loop.
func (c *counts) publish(loop kernel.Loop, l net.Listener) {
	c.Name = ""
	if a := l.Addr(); a != nil {
		c.Name = a.String()
	}
	loop.AddServer((*kernel.Server)(c))
}

func (c *counts) conceal(loop kernel.Loop) { loop.RemoveServer((*kernel.Server)(c)) }

// all returns the counters in the order of the fields of Stats.
func (c *counts) all() [10]*atomic.Int64 {
	return [...]*atomic.Int64{&c.Accepted, &c.Open, &c.RefusedByAddr, &c.RefusedByRate, &c.Handshakes, &c.Silent, &c.Idle, &c.PeerClosed, &c.Errors, &c.Panics}
}

// add adds the counters to s.
func (c *counts) add(s *Stats) {
	for i, sum := range [...]*int64{
		&s.Accepted, &s.Open, &s.RefusedByAddr, &s.RefusedByRate, &s.Handshakes, &s.Silent, &s.Idle, &s.PeerClosed, &s.Errors, &s.Panics,
	} {
		*sum += c.all()[i].Load()
	}
}

// take adds the counters of a part that has ended.
func (c *counts) take(part *counts) {
	mine, theirs := c.all(), part.all()
	for i := range mine {
		mine[i].Add(theirs[i].Load())
	}
}

// late counts a connection that has passed a limit of time.
func (c *counts) late(err limitError) {
	switch err { // a handshake is counted where it fails
	case errFirstByte:
		c.Silent.Add(1)
	case errIdle:
		c.Idle.Add(1)
	}
}

// failed counts a connection that has ended with err.
func (c *counts) failed(err error) {
	c.Errors.Add(1)
	if hasPanic(err) {
		c.Panics.Add(1)
	}
}

// refused counts a connection and the verdict on it, and reports whether it is refused.
func (c *counts) refused(v verdict) bool {
	c.Accepted.Add(1)
	switch v {
	case tooMany:
		c.RefusedByAddr.Add(1)
	case tooFast:
		c.RefusedByRate.Add(1)
	}
	return v != welcome
}
