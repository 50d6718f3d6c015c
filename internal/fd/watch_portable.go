//go:build rondo_portable || !(linux || darwin || freebsd || dragonfly)

package fd

import "github.com/rondo-go/rondo/internal/driver"

// hasInput asks a socket of the driver. No other FD comes here.
func (f *FD) hasInput() bool { return f.Virtual().Ready(driver.Readable) }

// watchSys is WatchInput of Std. A goroutine waits meanwhile. What it has reported is there until
// the loop's next Read: who only asks, as TLS does before it looks, must not be sent to wait again.
func (f *FD) watchSys(w Watcher) (ready bool) {
	if f.read.check() != nil || f.read.reported {
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
			f.read.reported = true
			w.Ready()
		})
	})
	return false
}

// watchesDescriptors says that the driver watches descriptors.
const watchesDescriptors = false

// Unwatches reports whether FD.Unwatch works for descriptors.
const Unwatches = watchesDescriptors

func (f *FD) atEnd() bool { return false }
