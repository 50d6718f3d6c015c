package fd

// What a goroutine does with a socket of a simulated host. If the world lets goroutines in,
// each operation is an errand: a task of the loop does it.
//
// The law: Write, Close and what sets something return at once, as with the buffers of a
// system. If they waited, a library that holds a sync.Mutex meanwhile would keep all goroutines
// of the simulation from coming to rest, for which its clock waits.

import (
	"context"
	"net"
	"slices"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
)

// visits is what goroutines have left to be done. It is guarded by mu.
type visits struct {
	unsent int   // bytes that Write has taken
	failed error // of the last of these Writes
	closed bool  // Close was called
}

// unsentMost is how many bytes Write takes at most before it waits. It is far more than a
// connection holds otherwise, because a Write that waits under a lock can stop the world.
const unsentMost = 1 << 20

// visited reports whether a goroutine that is no task of the loop calls in a simulated
// cluster.
func (f *FD) visited() bool {
	s := f.read.loop.Driver().Simulation()
	return s != nil && s.Host() != nil && !f.read.loop.Inside() && f.Virtual() != nil
}

// visit runs op on the loop, for an FD that has a socket of the driver. done is false if
// goroutines have no part in the simulation.
func (f *FD) visit(kind driver.ErrandKind, later bool, op func()) (done bool, err error) {
	return driver.HostOf(f.read.loop.Driver()).Run(driver.Errand{On: f.Virtual(), Kind: kind, Later: later, Do: func(context.Context) { op() }})
}

// Take runs op on the loop, for Accept and the like of a goroutine. done is false if goroutines
// have no part in the simulation.
func (f *FD) Take(op func()) (done bool, err error) {
	if !f.visited() {
		return false, nil
	}
	if f.closing() {
		return true, net.ErrClosed
	}
	return f.visit(driver.Takes, false, op)
}

// Give is Take for what is sent: it does not wait for op.
func (f *FD) Give(op func()) (done bool, err error) {
	if !f.visited() {
		return false, nil
	}
	if f.closing() {
		return true, net.ErrClosed
	}
	return f.visit(driver.Gives, true, op)
}

func (f *FD) closing() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed || f.extra.visits.closed
}

// readVisit is Read of a goroutine.
func (f *FD) readVisit(p []byte) (n int, done bool, err error) {
	if f.closing() {
		return 0, true, net.ErrClosed
	}
	done, failed := f.visit(driver.Takes, false, func() { n, err = f.Read(p) })
	if failed != nil {
		return 0, done, failed
	}
	if err != nil && n == 0 && f.closing() {
		err = net.ErrClosed
	}
	return n, done, err
}

// writeVisit is Write of a goroutine.
func (f *FD) writeVisit(p []byte) (n int, done bool, err error) {
	f.mu.Lock()
	x := &f.extra.visits
	err = x.failed
	if f.closed || x.closed {
		err = net.ErrClosed
	}
	later := x.unsent+len(p) <= unsentMost
	if err != nil {
		f.mu.Unlock()
		return 0, true, err
	}
	x.unsent += len(p)
	f.mu.Unlock()
	size := len(p)
	if later {
		p = slices.Clone(p)
	}
	var failed error
	done, err = f.visit(driver.Gives, later, func() {
		n, failed = f.Write(p)
		f.mu.Lock()
		x.unsent -= size
		x.failed = failed
		f.mu.Unlock()
	})
	switch {
	case err != nil:
		return 0, done, err
	case later:
		return size, done, nil
	}
	return n, done, failed
}

// setDeadlineVisit is SetDeadline of a goroutine, whose clock is the world's and not that of the
// host.
func (f *FD) setDeadlineVisit(which driver.Events, t time.Time) (done bool, err error) {
	if f.closing() {
		return true, net.ErrClosed
	}
	left := max(time.Until(t), -1)
	return f.visit(driver.Sets, true, func() {
		if !t.IsZero() {
			d := f.read.loop.Driver()
			t = d.Time(d.Now()).Add(left)
		}
		_ = f.SetDeadline(which, t)
	})
}

// closeVisit is Close of a goroutine. What was written before is sent first; what waits to read
// ends at once.
func (f *FD) closeVisit() (done bool, err error) {
	f.mu.Lock()
	x := &f.extra.visits
	if f.closed || x.closed {
		f.mu.Unlock()
		return true, net.ErrClosed
	}
	x.closed = true
	unsent := x.unsent > 0
	f.mu.Unlock()
	if unsent {
		done, err = f.visit(driver.Sets, true, func() {
			d := f.read.loop.Driver()
			_ = f.SetDeadline(driver.Readable, d.Time(d.Now()))
		})
		if !done || err != nil {
			return done, err
		}
	}
	return f.visit(driver.Gives, true, func() { _ = f.Close() })
}
