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
	case s.reported && !f.readElsewhere() || s.ready && f.hasInput():
		return true
	}
	s.ready = false
	s.Watch(w)
	return false
}

// readElsewhere reports whether goroutines may have read what the driver has reported: then only
// the kernel knows whether it is still there.
func (f *FD) readElsewhere() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.std() != nil
}

// Unwatch undoes WatchInput, if the Watcher has not been called. Only on the loop, and only
// if CanUnwatch.
func (f *FD) Unwatch() { f.read.Unwatch() }

// CanUnwatch reports whether Unwatch works: not where a goroutine waits for the input.
func (f *FD) CanUnwatch() bool { return Unwatches || f.Virtual() != nil }

// Ended reports whether a Read would find the end of the stream or an error at once. It
// takes nothing. Only on the loop.
func (f *FD) Ended() bool {
	if f.read.check() != nil {
		return true
	}
	if v := f.Virtual(); v != nil {
		return v.Ended()
	}
	return f.atEnd()
}
