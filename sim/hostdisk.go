package sim

// A HostDisk is the disk of a host as the test sees it: it reads what the host has stored, and
// damages it.

import (
	"fmt"
	slash "path"
	"time"

	"github.com/rondo-go/rondo/internal/nocopy"
	"github.com/rondo-go/rondo/sim/internal/disk"
)

// A HostDisk is the disk of a host in the hands of the test: no fault strikes here, nothing takes
// time, and it does not matter whether the host is up. Its methods never suspend. They may be
// called by tasks of any host of the World.
type HostDisk struct {
	_    nocopy.Field
	host *Host
}

// Disk returns the disk of the host, for the test. The program on the host uses the function
// [Disk].
func (h *Host) Disk() *HostDisk {
	h.mustBe("Disk")
	return &HostDisk{host: h}
}

// Files returns the names of all files, sorted, as the program on the host sees them.
func (d *HostDisk) Files() []string { return d.host.disk.Names() }

// ReadFile returns the bytes of a file as the program on the host sees them. If there is none, the
// error is fs.ErrNotExist.
func (d *HostDisk) ReadFile(name string) ([]byte, error) { return d.host.disk.Read(slash.Clean(name)) }

// Durable returns the bytes of a file that are certain to survive a power failure, if its name is
// certain to survive too: those that Sync and SyncDir have confirmed without a lie. Else the
// error is fs.ErrNotExist.
func (d *HostDisk) Durable(name string) ([]byte, error) {
	return d.host.disk.Durable(slash.Clean(name))
}

// WriteFile replaces the bytes of a file, durably. Use it to plant damage. The file is made if
// there is none. A program that has it open reads them.
func (d *HostDisk) WriteFile(name string, data []byte) {
	if !d.host.world.inert() {
		d.host.disk.Plant(slash.Clean(name), data, d.host.world.base.Time(d.host.world.base.now))
	}
}

// SetFaults sets the faults of the disk from now on, in place of the earlier ones. The zero value
// removes all faults, and so does World.Calm. A loss of power ends Fails, Full and ReadErrors,
// and no others. It panics if a number of f is negative.
func (d *HostDisk) SetFaults(f DiskFaults) {
	f.check()
	if !d.host.world.inert() {
		d.host.disk.Faults = disk.Faults(f)
	}
}

// DiskFaults says what is wrong with a disk. The zero value is a disk without faults.
type DiskFaults struct {
	Fails bool // each operation fails with syscall.EIO
	Full  bool // an operation that needs space fails with syscall.ENOSPC

	// Room is how many bytes can still be written to a full disk. The write that needs more is
	// short.
	Room int

	// ReadErrors: one read in four fails with syscall.EIO; which ones follows from the number;
	// 0: none.
	ReadErrors uint64

	NoFiles bool // no file can be opened: syscall.EMFILE

	// LostWrites is how many of the next writes are confirmed, also by Sync, although their bytes
	// are not stored.
	LostWrites int

	MisdirectedWrites int  // how many of the next writes go to a wrong sector, of any file
	LyingSync         bool // Sync and SyncDir succeed but make nothing durable

	// TornNames: a power failure may keep any subset of the changes of names, and only half of a
	// rename.
	TornNames bool

	Slow time.Duration // how long each read, write and Sync takes
}

// check panics if a number is negative.
func (f *DiskFaults) check() {
	for _, n := range []struct {
		name  string
		value int
	}{{"Room", f.Room}, {"LostWrites", f.LostWrites}, {"MisdirectedWrites", f.MisdirectedWrites}} {
		if n.value < 0 {
			panic(fmt.Sprintf("sim: SetFaults with DiskFaults.%s = %d: use a positive number, or 0 for none", n.name, n.value))
		}
	}
	if f.Slow < 0 {
		panic(fmt.Sprintf("sim: SetFaults with DiskFaults.Slow = %v: use a positive duration, or 0 for none", f.Slow))
	}
}
