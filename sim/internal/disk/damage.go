package disk

// Damage is what disks do that no Sync can prevent: sectors rot, writes are lost or land
// elsewhere, a Sync lies, and a power failure tears what a journal keeps together.
//
// The law: damage changes only the bytes and names that it says, and every reader sees the same
// damage.

import (
	"bytes"
	"io/fs"
	"slices"
	"time"

	"github.com/rondo-go/rondo/sim/internal/choice"
)

// Faults are what is wrong with a disk. The zero value is a disk that is well.
type Faults struct {
	Fails      bool   // each operation fails with EIO
	Full       bool   // what needs space fails with ENOSPC
	Room       int    // of a full disk: how many bytes can still be written to it
	ReadErrors uint64 // one read in four fails with EIO; which ones follows from the number; 0: none
	NoFiles    bool   // no file can be opened: EMFILE

	LostWrites        int  // so many of the next writes are confirmed and do not happen
	MisdirectedWrites int  // so many of the next writes go to another place
	LyingSync         bool // Sync and SyncDir succeed and make nothing certain
	TornNames         bool // a power failure keeps any of the changes of names, and halves of renames

	Slow time.Duration // how long each read, write and Sync takes
}

// readFails reports whether the next read fails, while read errors come and go.
func (d *Disk) readFails() bool {
	if d.Faults.ReadErrors == 0 {
		return false
	}
	d.reads++
	return choice.Mix(d.Faults.ReadErrors+d.reads)&3 == 0
}

// fits returns how many of n bytes a write can still write, and takes the room for them.
func (d *Disk) fits(n int) int {
	if !d.Faults.Full {
		return n
	}
	n = min(n, d.Faults.Room)
	d.Faults.Room -= n
	return n
}

// A stray is where a write goes in place of where it should.
type stray struct {
	what string
	file *inode // nil: nowhere
	at   int64
}

// strays returns where a write goes astray, or nil if it does not. The place is in another
// sector of any file, and follows from where the write should go.
func (d *Disk) strays(n *inode, at int64, size int) *stray {
	switch f := &d.Faults; {
	case f.LostWrites > 0:
		f.LostWrites--
		return &stray{what: "lost write"}
	case f.MisdirectedWrites > 0:
		f.MisdirectedWrites--
	default:
		return nil
	}
	var places []stray
	for _, name := range sortedNames(d.files) {
		file := d.files[name]
		for to := at % sector; to < int64(len(file.durable)); to += sector {
			if file != n || to != at {
				places = append(places, stray{"misdirected write", file, to})
			}
		}
	}
	if len(places) == 0 {
		return &stray{what: "lost write"}
	}
	return &places[choice.Scale(choice.Mix(uint64(at)<<20^uint64(size)), uint64(len(places)))]
}

// lands writes p where it goes, as far as the file there is long, and returns how many bytes
// were lost or overwritten.
func (s *stray) lands(p []byte) int {
	if s.file == nil {
		return len(p)
	}
	copy(s.file.durable[s.at:], p)
	if s.at >= int64(len(s.file.data)) {
		return 0
	}
	return copy(s.file.data[s.at:], p)
}

// Rot flips a bit of what has been synced. Of all the bits that are, where says which one, as a
// part of 1<<16. It returns the name of the file and the place of the byte, or "" if nothing has
// been synced.
func (d *Disk) Rot(where, bit uint64) (name string, at int64) {
	total := uint64(0)
	for _, name := range sortedNames(d.files) {
		total += uint64(len(d.files[name].durable))
	}
	place := int64(where * total >> 16)
	for _, name := range sortedNames(d.files) {
		n := d.files[name]
		if place >= int64(len(n.durable)) {
			place -= int64(len(n.durable))
			continue
		}
		n.durable[place] ^= 1 << (bit % 8)
		if place < int64(len(n.data)) {
			n.data[place] ^= 1 << (bit % 8)
		}
		return name, place
	}
	return "", 0
}

// tearNames keeps any of the changes of names, and of a rename either half or both.
func (d *Disk) tearNames() {
	fate := d.draws.Draw(func(random uint64) uint64 { return random & 0xffff })
	if fate != 0 {
		d.draws.Say(func(host func(number uint64) string) string {
			return "the power failure tore the names on the disk of " + host(d.host)
		})
	}
	survives := func(i int) bool { return fate == 0 || choice.Mix(fate+uint64(i))&1 == 0 }
	for i, c := range d.log {
		if from := c.from; from != "" {
			c.from = ""
			if survives(2*i + 1) {
				delete(d.synced, from)
			}
		}
		if survives(2 * i) {
			c.apply(d.synced)
		}
	}
}

// Names returns the names of the files, sorted, as programs see them.
func (d *Disk) Names() []string { return sortedNames(d.files) }

// Read returns the bytes of a file as programs see them.
func (d *Disk) Read(name string) ([]byte, error) {
	if n := d.files[name]; n != nil {
		return bytes.Clone(n.data), nil
	}
	return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
}

// Durable returns the bytes of a file that a power failure would certainly leave.
func (d *Disk) Durable(name string) ([]byte, error) {
	if n := d.synced[name]; n != nil {
		return bytes.Clone(n.durable), nil
	}
	return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
}

// Plant makes a file have these bytes, for programs and after a power failure. Files that are
// open have them too.
func (d *Disk) Plant(name string, data []byte, at time.Time) {
	n := d.files[name]
	if n == nil {
		n = &inode{mode: 0o600}
		d.files[name] = n
	}
	d.log = slices.DeleteFunc(d.log, func(c change) bool { return c.name == name && c.from == "" })
	for i, c := range d.log {
		if c.name == name {
			d.log[i] = change{name: c.from}
		}
		if c.from == name {
			d.log[i].from = "" // the rename must not take the name away
		}
	}
	d.synced[name] = n
	n.data, n.durable, n.writes, n.changed = bytes.Clone(data), bytes.Clone(data), nil, at
}
