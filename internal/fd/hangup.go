package fd

import "github.com/rondo-go/rondo/internal/driver"

// A connection whose peer may leave while no task reads. The driver reports a hang-up once,
// perhaps while data is left to be read; so the Watcher is called at the report, and again
// after each operation that follows it. A task that reads finds out by itself: once an
// operation has returned the end of the stream or an error, nobody is called any more.
//
// The Watcher is in the place of the one that the write side of a connection never has.

// WatchHangUps makes w be called, on the loop, whenever HungUp may have become true. It
// must not wait. Where goroutines wait for descriptors it is never called. It is called
// once, before the connection is used. register is false if
// WatchInput, which then need not ask the system, comes before any wait. Only on the loop.
func (f *FD) WatchHangUps(w Watcher, register bool) {
	if f.Virtual() == nil && (!watchesDescriptors || f.sys < 0) {
		return
	}
	f.write.watch, f.write.hangUps = w, true
	if register {
		_ = f.read.register() // a Read returns the error
	}
}

// noteHangUp calls the Watcher.
//
//go:noinline
func (f *FD) noteHangUp() {
	if f.write.hangUps && f.write.watch != nil {
		f.write.watch.Ready()
	}
}

// forgetHangUps is called when a task has learned that the peer has left. The Watcher is
// not called any more.
func (f *FD) forgetHangUps() {
	if f.write.hangUps {
		f.write.watch = nil
	}
}

// HungUp reports whether the peer has ended its side or the connection is broken, and no
// task has been told or is about to be: none reads or writes, and no goroutine has the
// connection. atEnd says that nothing is left to be read. Only on the loop.
func (f *FD) HungUp() (hungUp, atEnd bool) {
	if !f.read.hungUp || f.write.watch == nil || f.released || f.read.lock.busy() || f.write.lock.busy() {
		return false, false
	}
	f.mu.Lock()
	elsewhere, v := f.closed || f.std() != nil, f.Virtual()
	f.mu.Unlock()
	if elsewhere {
		return false, false
	}
	if v != nil {
		return true, v.Ready(driver.HangUp)
	}
	return true, f.atEnd()
}

// Activity reports whether bytes were read and written since it was called last. What
// goroutines do is not seen, so a connection that one of them uses is always active. Only on
// the loop.
func (f *FD) Activity() (read, wrote bool) {
	f.mu.Lock()
	foreign := f.std() != nil && f.Virtual() == nil
	f.mu.Unlock()
	read, wrote = f.read.moved || foreign, f.write.moved || foreign
	f.read.moved, f.write.moved = false, false
	return read, wrote
}
