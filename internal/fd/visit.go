package fd

// Goroutines around a simulated host use a socket by visits: what a task of the loop would do at
// once is put off until the loop does it. If the world lets goroutines in, each visit has an
// errand, a task that sees to it.
//
// The law: operations of goroutines and of tasks take effect in the order in which they are
// called. So every operation on the loop first does what is put off.
//
// Write, Close and what sets something return at once, as with the buffers of a system. If they
// waited, a library that holds a sync.Mutex meanwhile would keep all goroutines of the simulation
// from coming to rest, for which its clock waits. For the same reason none of them waits on the
// loop either: the socket takes all that Write has taken.

import (
	"context"
	"net"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/errtree"
	"github.com/rondo-go/rondo/internal/kernel"
)

// visits is what goroutines have left to be done. mu guards the first four fields; the others
// belong to the loop.
type visits struct {
	left   []*visit
	unsent int   // bytes that Write has taken and the socket has not
	failed error // of one of these Writes; the next Write returns it
	closed bool  // Close was called

	midway   bool // a task has written a part
	settling bool // op of a visit runs, which may use the FD
}

// A visit is an operation that is put off.
type visit struct {
	kind  driver.ErrandKind
	write bool
	begun bool   // guarded by mu
	op    func() // never waits
}

// unsentMost is how many bytes Write takes at most before it waits. It is far more than a
// connection holds otherwise, because a Write that waits under a lock can stop the world.
const unsentMost = 1 << 20

// visited reports whether a goroutine that is no task of the loop calls in a simulated cluster.
// On the loop it does what is put off.
func (f *FD) visited() bool {
	s := f.read.loop.Driver().Simulation()
	if s == nil || s.Host() == nil || f.Virtual() == nil {
		return false
	}
	if !f.read.loop.Inside() {
		return true
	}
	f.settle(nil)
	return false
}

// errand runs op on the loop, and waits for it. done is false if goroutines have no part in the
// simulation.
func (f *FD) errand(kind driver.ErrandKind, op func()) (done bool, err error) {
	return f.run(driver.Errand{Kind: kind, Do: func(context.Context) { op() }})
}

func (f *FD) run(e driver.Errand) (done bool, err error) {
	e.On = f.Virtual()
	return driver.HostOf(f.read.loop.Driver()).Run(e)
}

// putOff makes the loop do v. The caller holds mu: the loop does not look for v before that is
// among what is left.
func (f *FD) putOff(v *visit) (done bool, err error) {
	x := f.extra.visits
	if f.closed || x.closed {
		return true, net.ErrClosed
	}
	f.changed.Store(true) // before the errand, which may run as soon as it is there
	done, err = f.run(driver.Errand{Kind: v.kind, Later: true, Do: func(context.Context) { f.settle(v) }})
	if !done || err != nil {
		return done, err
	}
	at := len(x.left)
	for v.kind == driver.Sets && at > 0 && x.left[at-1].kind != driver.Sets {
		at--
	}
	x.left = slices.Insert(x.left, at, v)
	return true, nil
}

// settle does what is put off: all up to last, if that is not done yet, or all if last is nil. A
// Write, and what comes after it, waits for the end of a task's Write that is midway, which calls
// settle again.
func (f *FD) settle(last *visit) {
	x := f.extra.visits
	if x.settling || !f.changed.Load() {
		return
	}
	x.settling = true
	defer func() { x.settling = false }()
	for {
		f.mu.Lock()
		if last != nil && last.begun || len(x.left) == 0 || f.closed || x.left[0].write && x.midway {
			f.mu.Unlock()
			return
		}
		v := x.left[0]
		v.begun = true
		x.left[0], x.left = nil, x.left[1:]
		f.mu.Unlock()
		v.op()
	}
}

// wrotePart ends a call that has written n bytes of those of one Write, and says whether there
// are more to come. It is a function of its own for the sake of the stack of writeNow.
//
//go:noinline
func (f *FD) wrotePart(t kernel.Task, n int, more bool) {
	if f.Virtual() != nil {
		if f.extra.visits.midway = more; !more {
			f.settle(nil)
		}
	}
	t.Spend(n)
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
	return f.errand(driver.Takes, op)
}

// Give sends p as a datagram, for a goroutine. It does not wait, and a failure is not told. done
// is false if goroutines have no part in the simulation.
func (f *FD) Give(p []byte, to Peer) (done bool, err error) {
	if !f.visited() {
		return false, nil
	}
	p = slices.Clone(p)
	return f.onVisit(driver.Gives, func(s driver.Socket) { _ = s.Give(p, to) })
}

// onVisit puts op off. It is not called if the FD is closed by then.
func (f *FD) onVisit(kind driver.ErrandKind, op func(v driver.Socket)) (done bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.putOff(&visit{kind: kind, op: func() { op(f.Virtual()) }})
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
	done, failed := f.errand(driver.Takes, func() { n, err = f.Read(p) })
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
	later, done, err := f.tryLater(p)
	switch {
	case err != nil:
		return 0, done, err
	case later:
		return len(p), done, nil
	}
	var failed error
	done, err = f.errand(driver.Gives, func() {
		n, failed = f.Write(p)
		f.wrote(len(p), lasting(failed))
	})
	if err != nil {
		return 0, done, err
	}
	return n, done, failed
}

// tryLater puts the Write of p off, or reports that it has to wait because too much is unsent.
func (f *FD) tryLater(p []byte) (later, done bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	x := f.extra.visits
	switch {
	case f.closed || x.closed:
		return false, true, net.ErrClosed
	case x.failed != nil:
		err, x.failed = x.failed, lasting(x.failed)
		return false, true, err
	}
	if later = x.unsent+f.Virtual().Kept()+len(p) <= unsentMost; later {
		p = slices.Clone(p)
		done, err = f.putOff(&visit{kind: driver.Gives, write: true, op: func() { f.wrote(len(p), f.give(p)) }})
	}
	x.unsent += len(p)
	return later, done, err
}

// give hands p to the socket.
func (f *FD) give(p []byte) error {
	if errno := f.Virtual().Give(p, Peer{}); errno != 0 {
		f.forgetHangUps()
		return syscallError("write", errno)
	}
	if f.write.moved = true; f.read.hungUp {
		f.noteHangUp()
	}
	return nil
}

// wrote notes the end of a Write.
func (f *FD) wrote(size int, failed error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	x := f.extra.visits
	x.unsent -= size
	if failed != nil {
		x.failed = failed
	}
}

// lasting returns err if each Write that follows fails, too, and nil otherwise.
func lasting(err error) error {
	if errtree.Is(err, os.ErrDeadlineExceeded) || errtree.Is(err, syscall.EMSGSIZE) {
		return nil
	}
	return err
}

// setDeadlineVisit is SetDeadline of a goroutine, whose clock is the world's and not that of the
// host.
func (f *FD) setDeadlineVisit(which driver.Events, t time.Time) (done bool, err error) {
	left := max(time.Until(t), -1)
	return f.onVisit(driver.Sets, func(driver.Socket) {
		if !t.IsZero() {
			d := f.read.loop.Driver()
			t = d.Time(d.Now()).Add(left)
		}
		_ = f.SetDeadline(which, t)
	})
}

// closeVisit is Close of a goroutine.
func (f *FD) closeVisit() (done bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	done, err = f.putOff(&visit{kind: driver.Gives, op: func() { _ = f.Close() }})
	if done && err == nil {
		f.extra.visits.closed = true
	}
	return done, err
}
