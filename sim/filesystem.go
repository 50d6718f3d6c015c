package sim

// An FS is the same in a simulation and outside.

import (
	"context"
	"io"
	"io/fs"
	"os"
	"runtime"
	"time"

	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/sim/internal/disk"
	"github.com/rondo-go/rondo/sim/internal/record"
)

// An FS is a file system with only those operations that a program needs to store data. The same
// body uses a simulated disk and a real one; see [Disk]. Its methods never suspend.
type FS interface {
	// OpenFile opens a file, as os.OpenFile does.
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)

	// Rename gives a file another name, in place of the file that has it. It survives a
	// power failure after SyncDir of the folder, or of both if the names are in two. Before
	// that, within one folder, all of it survives or nothing, as on a disk with a journal.
	Rename(old, new string) error

	// Remove removes a file.
	Remove(name string) error

	// ReadDir lists what a folder has, by name: files and folders.
	ReadDir(name string) ([]fs.DirEntry, error)

	// SyncDir makes the names in a folder durable: those of files that are new, renamed or
	// removed. Windows has no such call, so there SyncDir only checks that the folder exists.
	SyncDir(name string) error
}

// A File is an open file of an FS.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.ReadWriteCloser

	// Sync makes durable what was written. If it fails, what was written since the last Sync may
	// be lost, also if a later Sync succeeds.
	Sync() error

	Truncate(size int64) error
	Stat() (fs.FileInfo, error)
}

// Disk returns the disk of the host that ctx belongs to: in a cluster the simulated disk of that
// host, in Test and Explore one that is empty when a run begins, and outside a simulation the
// file system of the machine, with names as package os has them. What is written to a simulated
// disk survives [Host.Crash], and survives [Host.PowerFail] only after Sync. In some seeds of a
// cluster Sync and SyncDir take up to 50 ms, in which the program does nothing else: its loop is
// in a system call. Folders need not be made on it. A file has at most 1 GiB; what would make it
// longer fails with syscall.EFBIG. Disk never suspends.
func Disk(ctx context.Context) FS {
	if l := kernel.Of(ctx); l != nil {
		switch d := l.Driver().(type) {
		case *process:
			return mounted{d.host.disk.Mount((*diskUser)(d))}
		case *loopWorld:
			if d.disk == nil {
				d.disk = disk.New()
			}
			return mounted{d.disk.Mount((*diskOfLoop)(d))}
		}
	}
	return system{}
}

// mounted is a simulated disk.
type mounted struct{ disk.Mount }

func (m mounted) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := m.Mount.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// A diskUser is a process as its disk sees it.
type diskUser process

func (u *diskUser) Killed() bool          { return u.killed != nil }
func (u *diskUser) SyncTakesTime() bool   { return u.onLoop() && !u.world.calm }
func (u *diskUser) Block(d time.Duration) { (*process)(u).block(d) }
func (u *diskUser) Date() time.Time       { p := (*process)(u); return p.wall(p.Now()) }

// onLoop reports whether the caller is on the loop of the process. A goroutine around that, or
// another host, is not kept from running while the process is in a system call.
func (u *diskUser) onLoop() bool { return u.loop != nil && u.loop.Inside() }

func (u *diskUser) Wrote(name string, at int64, data []byte) {
	u.world.run.Trace.Wrote(u.world.base.now, u.host.number, name, at, data)
}

func (u *diskUser) Damaged(what string, n int) {
	u.world.log(record.Struck, u.host, nil, what, n)
}

func (u *diskUser) Changes() {
	if u.onLoop() {
		u.world.faults.DiskChanges(u.host.target)
	}
}

// A diskOfLoop is the program of a loop without a host.
type diskOfLoop loopWorld

func (*diskOfLoop) Killed() bool        { return false }
func (*diskOfLoop) Changes()            {}
func (*diskOfLoop) Damaged(string, int) {}
func (*diskOfLoop) SyncTakesTime() bool { return false }
func (*diskOfLoop) Block(time.Duration) {}
func (*diskOfLoop) Date() time.Time     { return epoch }

func (u *diskOfLoop) Wrote(name string, at int64, data []byte) {
	u.run.Trace.Wrote(u.now, 0, name, at, data)
}

// system is the file system of the machine.
type system struct{}

func (system) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (system) Rename(old, new string) error               { return os.Rename(old, new) }
func (system) Remove(name string) error                   { return os.Remove(name) }
func (system) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }

func (system) SyncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	defer d.Close()
	if runtime.GOOS == "windows" {
		return nil
	}
	return d.Sync()
}
