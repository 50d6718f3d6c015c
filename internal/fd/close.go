package fd

// The end of an FD: by Close, or by the garbage collector.

import (
	"net"
	"runtime"
)

// Close ends every operation that waits, in tasks and in goroutines, with
// net.ErrClosed, and all later ones. A second Close returns net.ErrClosed. The
// loop's descriptor is closed on the loop, so a number in use there never
// becomes another file's. If Close is called elsewhere, that happens a moment
// later.
func (f *FD) Close() error {
	if f.visited() {
		if done, err := f.closeVisit(); done {
			return err
		}
	}
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return net.ErrClosed
	}
	f.markClosed()
	f.changed.Store(true)
	std, mine, slow := f.std(), f.onLoop, f.slow
	f.mu.Unlock()
	var err error
	switch {
	case std == nil:
	case slow && f.read.loop.Inside():
		f.read.loop.GoFunc(func() { std.Close() })
	default:
		err = std.Close()
	}
	if !mine {
		return err
	}
	if f.read.loop.Inside() {
		f.release()
	} else if f.read.loop.Post(f.release) != nil {
		// The loop has ended: no task can be using it.
		f.closeSys()
	}
	return err
}

// markClosed makes f closed, which it has not been. Then it is no connection of the loop
// any more. The caller holds mu.
func (f *FD) markClosed() {
	f.closed = true
	if f.peer != nil {
		f.read.loop.AddConns(-1)
	}
}

// release is the part of Close that runs on the loop.
func (f *FD) release() {
	f.disarm()
	f.read.End()
	f.write.End()
	f.closeSys()
}

// Linger sets whether close may block because there is a linger time. If so,
// close is called on another goroutine.
func (f *FD) Linger(slow bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.slow = slow
}

// Guard closes f when owner, the user's connection, is garbage, as package net
// does. f itself is no garbage while the driver watches it, so f must not refer
// to owner. It is called before the FD is used.
func Guard[T any](f *FD, owner *T) {
	f.guarded = true
	f.ensureExtra().dropped = runtime.AddCleanup(owner, (*FD).drop, f)
}

// drop is called by the garbage collector, so it must not block.
func (f *FD) drop() {
	f.mu.Lock()
	closed := f.closed
	f.mu.Unlock()
	if !closed {
		f.read.loop.GoFunc(func() { _ = f.Close() })
	}
}

// stopCleanup says that the garbage collector need not close f. The caller holds mu.
func (f *FD) stopCleanup() {
	if f.extra != nil {
		f.extra.dropped.Stop()
	}
}
