// Package disk has the simulated disk of a host.
//
// The law: what Sync or SyncDir has confirmed survives everything but damage. Of the rest any
// part may survive a power failure, in any order, in sectors, as the seed says.
package disk

import (
	"io/fs"
	"maps"
	"slices"
	"syscall"
	"time"

	"github.com/rondo-go/rondo/sim/internal/choice"
)

// A Disk is the file system of a host. It outlives the processes of the host.
type Disk struct {
	files  map[string]*inode // as programs see them
	synced map[string]*inode // as a power failure would leave them
	log    []change          // changes of names since SyncDir, in order
	Faults Faults
	reads  uint64 // how many there were while read errors came and went
	host   uint64
	draws  *choice.Source

	syncTime uint64 // the most that a Sync takes
	syncs    *choice.Source
}

// A change is that of a name: it now stands for a file, or for none. A rename within a
// folder is one change, so all of it survives or nothing.
type change struct {
	name string
	File *inode // nil: removed
	from string // the name that the file had; "" unless it is such a rename
}

// New returns an empty disk that never loses power and on which a Sync takes no time.
func New() *Disk { return &Disk{files: make(map[string]*inode), synced: make(map[string]*inode)} }

// Of returns the empty disk of a host. On one that is calm a Sync takes no time.
func Of(c *choice.Choices, host uint64, calm bool) *Disk {
	d := New()
	d.host = host
	d.draws, d.syncs = c.At(choice.ForDisk, host), c.At(choice.ForSync, host)
	if !calm {
		d.syncTime = [...]uint64{0, 1e6, 10e6, 50e6}[c.Config(choice.ConfigDisk)%4]
	}
	return d
}

// PowerFail leaves what survives. It ends Fails, Full and ReadErrors.
func (d *Disk) PowerFail() {
	d.keepNames()
	d.log = nil
	d.Faults.Fails, d.Faults.Full, d.Faults.ReadErrors = false, false, 0
	d.files = make(map[string]*inode, len(d.synced))
	for _, name := range sortedNames(d.synced) {
		n := d.synced[name]
		old := *n
		kept := &inode{data: old.survivors(d.draws), mode: n.mode, changed: n.changed}
		kept.durable = slices.Clone(kept.data)
		d.files[name], d.synced[name] = kept, kept
	}
}

// keepNames makes the changes of names that survive a power failure.
func (d *Disk) keepNames() {
	if d.Faults.TornNames {
		d.tearNames()
		return
	}
	// A journal keeps the order of the changes of names: some of them, and none after.
	keep := len(d.log) - int(min(d.draws.Draw(func(random uint64) uint64 { return choice.Scale(random, uint64(len(d.log)+1)) }), uint64(len(d.log))))
	for _, c := range d.log[:keep] {
		c.apply(d.synced)
	}
}

func sortedNames(files map[string]*inode) []string { return slices.Sorted(maps.Keys(files)) }

// A Program uses a disk.
type Program interface {
	// Killed reports whether the program was killed: the disk refuses what it does.
	Killed() bool

	// Changes is called before the program changes the disk. A fault may strike there.
	Changes()

	// Wrote is called after the program has written to a file.
	Wrote(name string, at int64, data []byte)

	// Damaged is called when a fault of the disk has changed what an operation did, to n bytes.
	Damaged(what string, n int)

	// SyncTakesTime reports whether a Sync may take time.
	SyncTakesTime() bool

	// Block keeps the program in a system call for d. It may be killed meanwhile.
	Block(d time.Duration)

	// Date returns the time of day.
	Date() time.Time
}

// An access is the disk as one program sees it.
type access struct {
	disk    *Disk
	program Program
}

// check fails if the disk must not be used. Before it is changed a fault may strike.
func (a access) check(op, name string, writes bool) error {
	p := a.program
	if !p.Killed() && (writes || op == "remove") {
		p.Changes()
		if op == "sync" {
			a.wait()
		}
	}
	if slow := a.disk.Faults.Slow; slow > 0 && (op == "read" || op == "write" || op == "sync") && p.SyncTakesTime() {
		p.Block(slow)
	}
	f := &a.disk.Faults
	switch {
	case p.Killed():
		return &fs.PathError{Op: op, Path: name, Err: fs.ErrClosed}
	case f.Fails, op == "read" && a.disk.readFails():
		return &fs.PathError{Op: op, Path: name, Err: syscall.EIO}
	case f.NoFiles && op == "open":
		return &fs.PathError{Op: op, Path: name, Err: syscall.EMFILE}
	case f.Full && f.Room == 0 && writes:
		return &fs.PathError{Op: op, Path: name, Err: syscall.ENOSPC}
	}
	return nil
}

// wait lets the time pass that a Sync takes. The whole program waits, because its loop is in
// a system call.
func (a access) wait() {
	if !a.program.SyncTakesTime() {
		return
	}
	d := a.disk
	if took := d.syncs.Draw(func(random uint64) uint64 { return choice.Scale(random, d.syncTime+1) }); took > 0 {
		a.program.Block(time.Duration(min(took, 1<<40)))
	}
}

// change makes a change, which is not certain before SyncDir.
func (a access) change(c change) {
	c.apply(a.disk.files)
	a.disk.log = append(a.disk.log, c)
}

func (c change) apply(files map[string]*inode) {
	if c.File == nil {
		delete(files, c.name)
	} else {
		files[c.name] = c.File
	}
	delete(files, c.from)
}
