package fd

// A connection that no task reads: its owner is called when there is something to
// read.

// WatchInput makes w be called, once, as soon as a Read would not wait: there is
// data, the stream has ended, the deadline has passed, or the FD is closed. If
// that is so already it returns true, and w is not called. Only on the loop.
func (f *FD) WatchInput(w Watcher) (ready bool) {
	if f.Virtual() != nil {
		return f.watchNow(w)
	}
	return f.watchSys(w)
}

// watchNow is WatchInput where an operation never blocks.
func (f *FD) watchNow(w Watcher) (ready bool) {
	s := &f.read
	if s.check() != nil {
		return true
	}
	switch {
	case !s.armed:
		// The driver reports what is there already.
		if s.register() != nil {
			return true // Read returns the error
		}
	case s.reported || s.ready && f.hasInput():
		return true
	}
	s.ready = false
	s.Watch(w)
	return false
}
