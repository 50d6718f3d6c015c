//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package poll

import "github.com/rondo-go/rondo/internal/driver"

const both = driver.Readable | driver.Writable

// A watch is what is known of one descriptor: who is told of each direction. A
// direction that has a sink is registered with the kernel and one that has none
// is not. Round counts the registrations the number has had, so that an event
// of an earlier owner of the number can be told apart and dropped.
type watch struct {
	read, write driver.Sink
	round       int64
}

// armed gives the directions that have a sink.
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

// holds tells whether s is the sink of every direction in want. Sinks are
// compared by ==, so a sink is best a pointer.
func (w *watch) holds(want driver.Events, s driver.Sink) bool {
	return (want&driver.Readable == 0 || w.read == s) &&
		(want&driver.Writable == 0 || w.write == s)
}

// set makes s the sink of the directions given; nil forgets theirs.
func (w *watch) set(which driver.Events, s driver.Sink) {
	if which&driver.Readable != 0 {
		w.read = s
	}
	if which&driver.Writable != 0 {
		w.write = s
	}
}

// tell reports ev to the sinks it concerns: once, if both are the same. A sink
// may arm and disarm in Ready, so the other one is told only if the watch is
// still in its round.
func (w *watch) tell(read, write driver.Events) {
	reader, writer, round := w.read, w.write, w.round
	if read != 0 && write != 0 && reader == writer {
		read, write = read|write, 0
	}
	if read != 0 && reader != nil {
		reader.Ready(read)
	}
	if write != 0 && writer != nil && w.round == round && w.write == writer {
		writer.Ready(write)
	}
}

// Watches are kept in pages, by number: descriptors are small numbers, but one
// made by F_DUPFD may be large, and then only its page is made.
const (
	pageBits = 6
	pageSize = 1 << pageBits
)

// A watchTable finds the watch of a descriptor. Watches never move.
type watchTable struct{ pages []*[pageSize]watch }

// at gives the watch of fd and makes its page if need be.
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

// find gives the watch of fd, or nil if its page was never made.
func (t *watchTable) find(fd uintptr) *watch {
	page := fd >> pageBits
	if page >= uintptr(len(t.pages)) || t.pages[page] == nil {
		return nil
	}
	return &t.pages[page][fd&(pageSize-1)]
}
