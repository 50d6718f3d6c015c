package sim

// This file has the disk of a simulated host.
//
// The law: what Sync or SyncDir has confirmed survives everything. Of the rest any part
// may survive a power failure, in any order, in sectors, as the seed says.

import (
	"io/fs"
	"maps"
	"os"
	slash "path"
	"slices"
	"strings"
	"syscall"
	"time"
)

// sector is what a disk writes whole or not at all.
const sector = 512

// A diskFault is what is wrong with a disk.
type diskFault uint8

const (
	diskWell diskFault = iota
	diskFails
	diskFull
)

// A disk is the file system of a host. It outlives the processes of the host.
type disk struct {
	host   *Host
	files  map[string]*inode // as programs see them
	synced map[string]*inode // as a power failure would leave them
	log    []change          // changes of names since SyncDir, in order
	fault  diskFault
	draws  *source

	syncTime uint64 // the most that a Sync takes
	syncs    *source
}

// A change is that of a name: it now stands for a file, or for none. A rename within a
// folder is one change, so all of it survives or nothing.
type change struct {
	name string
	file *inode // nil: removed
	from string // the name that the file had; "" unless it is such a rename
}

// An inode is a file.
type inode struct {
	data    []byte
	durable []byte // what is certainly there
	writes  []write
	mode    fs.FileMode
	changed time.Time
}

// A write is one that was not synced; with cut, the file was cut or extended to a
// length.
type write struct {
	at   int64
	data []byte
	cut  bool
	lost bool // a Sync of it has failed, so no later one makes it certain
}

func newDisk(h *Host) *disk {
	c := h.world.run.choices
	d := &disk{
		host: h, files: make(map[string]*inode), synced: make(map[string]*inode),
		draws: c.at(forDisk, h.number), syncs: c.at(forSync, h.number),
	}
	if !h.world.profile.calm {
		d.syncTime = [...]uint64{0, 1e6, 10e6, 50e6}[c.config(configDisk)%4]
	}
	return d
}

// powerFail leaves what survives.
func (d *disk) powerFail() {
	// A journal keeps the order of the changes of names: some of them, and none after.
	keep := len(d.log) - int(min(d.draws.draw(func(random uint64) uint64 { return scale(random, uint64(len(d.log)+1)) }), uint64(len(d.log))))
	for _, c := range d.log[:keep] {
		c.apply(d.synced)
	}
	d.log, d.fault = nil, diskWell
	d.files = make(map[string]*inode, len(d.synced))
	for _, name := range sortedNames(d.synced) {
		n := d.synced[name]
		old := *n
		kept := &inode{data: d.survivors(&old), mode: n.mode, changed: n.changed}
		kept.durable = slices.Clone(kept.data)
		d.files[name], d.synced[name] = kept, kept
	}
}

// survivors returns what is left of a file.
func (d *disk) survivors(n *inode) []byte {
	left := slices.Clone(n.durable)
	for _, w := range n.writes {
		if w.cut {
			if d.draws.pick(2) == 0 {
				left = resized(left, w.at)
			}
			continue
		}
		// 0: all of it survives; 1: nothing; else each sector as its bit says.
		fate := d.draws.draw(func(random uint64) uint64 {
			if random&3 < 2 {
				return random & 1
			}
			return random | 2
		})
		for from := 0; from < len(w.data); {
			end := min(len(w.data), from+sector-int((w.at+int64(from))%sector))
			if fate == 0 || fate > 1 && mix(fate+uint64(from))&1 == 0 {
				at := w.at + int64(from)
				if need := at + int64(end-from); need > int64(len(left)) {
					left = resized(left, need)
				}
				copy(left[at:], w.data[from:end])
			}
			from = end
		}
	}
	return left
}

func resized(b []byte, size int64) []byte {
	if size <= int64(len(b)) {
		return b[:size]
	}
	return append(b, make([]byte, size-int64(len(b)))...)
}

func sortedNames(files map[string]*inode) []string { return slices.Sorted(maps.Keys(files)) }

// A mount is the disk as one process sees it.
type mount struct {
	disk    *disk
	process *process // nil: of a simulation of a single loop
}

// check fails if the disk must not be used. Before it is changed a fault may strike.
func (m mount) check(op, name string, writes bool) error {
	p := m.process
	if p != nil && p.killed == nil && (writes || op == "remove") {
		p.world.faults.strikeDisk(p)
		if op == "sync" {
			m.wait()
		}
	}
	switch {
	case p != nil && p.killed != nil:
		return &fs.PathError{Op: op, Path: name, Err: fs.ErrClosed}
	case m.disk.fault == diskFails:
		return &fs.PathError{Op: op, Path: name, Err: syscall.EIO}
	case m.disk.fault == diskFull && writes:
		return &fs.PathError{Op: op, Path: name, Err: syscall.ENOSPC}
	}
	return nil
}

// wait lets the time pass that a Sync takes. The whole process waits, because its loop is
// in a system call.
func (m mount) wait() {
	p := m.process
	d := m.disk
	if p != p.world.running || p.world.calm {
		return
	}
	if took := d.syncs.draw(func(random uint64) uint64 { return scale(random, d.syncTime+1) }); took > 0 {
		p.block(time.Duration(min(took, 1<<40)))
	}
}

// change makes a change, which is not certain before SyncDir.
func (m mount) change(c change) {
	c.apply(m.disk.files)
	m.disk.log = append(m.disk.log, c)
}

func (c change) apply(files map[string]*inode) {
	if c.file == nil {
		delete(files, c.name)
	} else {
		files[c.name] = c.file
	}
	delete(files, c.from)
}

func (m mount) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	name = slash.Clean(name)
	n := m.disk.files[name]
	if err := m.check("open", name, n == nil && flag&os.O_CREATE != 0); err != nil {
		return nil, err
	}
	switch {
	case n == nil && flag&os.O_CREATE == 0:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	case n != nil && flag&(os.O_CREATE|os.O_EXCL) == os.O_CREATE|os.O_EXCL:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrExist}
	case n == nil:
		n = &inode{mode: perm, changed: m.now()}
		m.change(change{name: name, file: n})
	}
	f := &file{mount: m, name: name, inode: n, flag: flag}
	if flag&os.O_TRUNC != 0 && len(n.data) > 0 {
		if err := f.Truncate(0); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (m mount) now() time.Time {
	if m.process == nil {
		return epoch
	}
	return m.process.Time(m.process.Now())
}

func (m mount) Rename(old, new string) error {
	old, new = slash.Clean(old), slash.Clean(new)
	if err := m.check("rename", old, true); err != nil {
		return err
	}
	n := m.disk.files[old]
	if n == nil {
		return &os.LinkError{Op: "rename", Old: old, New: new, Err: fs.ErrNotExist}
	}
	if old == new {
		return nil
	}
	if slash.Dir(old) == slash.Dir(new) {
		m.change(change{name: new, file: n, from: old})
	} else {
		m.change(change{name: new, file: n})
		m.change(change{name: old})
	}
	return nil
}

func (m mount) Remove(name string) error {
	name = slash.Clean(name)
	if err := m.check("remove", name, false); err != nil {
		return err
	}
	if m.disk.files[name] == nil {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	m.change(change{name: name})
	return nil
}

// ReadDir lists the files of a folder, and the folders in it. A folder is there while it
// has a file.
func (m mount) ReadDir(name string) ([]fs.DirEntry, error) {
	name = slash.Clean(name)
	if err := m.check("readdir", name, false); err != nil {
		return nil, err
	}
	within := map[string]*inode{}
	for _, full := range sortedNames(m.disk.files) {
		one, ok := below(name, full)
		if !ok {
			continue
		}
		file := m.disk.files[full]
		folder, _, deeper := strings.Cut(one, "/")
		if deeper {
			one, file = folder, &inode{mode: fs.ModeDir | 0o755}
		}
		within[one] = file
	}
	var found []fs.DirEntry
	for _, one := range sortedNames(within) {
		found = append(found, fs.FileInfoToDirEntry(info{one, within[one]}))
	}
	return found, nil
}

// below returns the name that a file has within a folder.
func below(folder, file string) (name string, ok bool) {
	switch folder {
	case ".":
		return file, !strings.HasPrefix(file, "/")
	case "/":
		return strings.CutPrefix(file, "/")
	}
	return strings.CutPrefix(file, folder+"/")
}

func (m mount) SyncDir(name string) error {
	name = slash.Clean(name)
	if err := m.check("sync", name, true); err != nil {
		return err
	}
	d := m.disk
	rest := d.log[:0]
	for _, c := range d.log {
		if slash.Dir(c.name) == name {
			c.apply(d.synced)
		} else {
			rest = append(rest, c)
		}
	}
	d.log = rest
	return nil
}
