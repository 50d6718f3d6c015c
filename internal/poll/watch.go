//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package poll

import "github.com/rondo-go/rondo/internal/driver"

const both = driver.Readable | driver.Writable

// A watch is what is known of one descriptor: the sink of each direction. A
// direction with a sink is registered with the kernel, one without is not.
// Round counts the registrations of the number, so that an event of an earlier
// descriptor with the same number is recognised and dropped.
type watch struct {
	read, write driver.Sink
	round       int64
}

// armed returns the directions that have a sink.
func (w *watch) armed() driver.Events {
	var ev driver.Events
	if w.read != nil {
		ev |= driver.Readable
	}
	if w.write != nil {
		ev |= driver.Writable
	}
	return ev
}

// has reports whether s is the sink of every direction in want. Sinks are
// compared by ==, so a sink should be a pointer.
func (w *watch) has(want driver.Events, s driver.Sink) bool {
	return (want&driver.Readable == 0 || w.read == s) &&
		(want&driver.Writable == 0 || w.write == s)
}

// set makes s the sink of the given directions; nil removes theirs.
func (w *watch) set(which driver.Events, s driver.Sink) {
	if which&driver.Readable != 0 {
		w.read = s
	}
	if which&driver.Writable != 0 {
		w.write = s
	}
}

// notify reports events to the sinks that they concern: once, if both are the
// same. A sink may arm and disarm in Ready, so the second one is called only if
// the watch is still in the same round.
func (w *watch) notify(read, write driver.Events) {
	reader, writer, round := w.read, w.write, w.round
	if reader == writer {
		read, write = read|write, 0
	}
	if read != 0 && reader != nil {
		reader.Ready(read)
	}
	if write != 0 && writer != nil && w.round == round && w.write == writer {
		writer.Ready(write)
	}
}

// Watches are in pages, by number: descriptors are small numbers, but one
// made by F_DUPFD may be large, and then only its page is made.
const (
	pageBits = 6
	pageSize = 1 << pageBits
)

// A watchTable finds the watch of a descriptor. Watches never move.
type watchTable struct{ pages []*[pageSize]watch }

// at returns the watch of fd, and makes its page if needed.
func (t *watchTable) at(fd uintptr) *watch {
	page := fd >> pageBits
	for page >= uintptr(len(t.pages)) {
		t.pages = append(t.pages, nil)
	}
	if t.pages[page] == nil {
		t.pages[page] = new([pageSize]watch)
	}
	return &t.pages[page][fd&(pageSize-1)]
}

// find returns the watch of fd, or nil if its page was never made.
func (t *watchTable) find(fd uintptr) *watch {
	page := fd >> pageBits
	if page >= uintptr(len(t.pages)) || t.pages[page] == nil {
		return nil
	}
	return &t.pages[page][fd&(pageSize-1)]
}
