//go:build rondo_portable || !(linux || darwin || freebsd || dragonfly)

package fd

import "github.com/rondo-go/rondo/internal/driver"

// WatchInput makes w be called, once, as soon as a Read would not wait: there is
// data, the stream has ended, the deadline has passed, or the FD is closed. If
// that is so already it returns true, and w is not called. A goroutine waits
// meanwhile. Only on the loop.
func (f *FD) WatchInput(w Watcher) (ready bool) {
	if f.read.check() != nil {
		return true
	}
	f.read.loop.AddWakers(1)
	f.read.loop.GoFunc(func() {
		// Whatever its error is, Read returns it.
		_ = f.Foreign(driver.Readable, func(std Std) error {
			raw, err := rawOf(std)
			if err != nil {
				return err
			}
			return raw.Read(probe())
		})
		// The owner waits for the call, so the loop has not ended.
		_ = f.read.loop.Post(func() {
			f.read.loop.AddWakers(-1)
			w.Ready()
		})
	})
	return false
}
