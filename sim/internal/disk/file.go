package disk

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	slash "path"
	"slices"
	"syscall"
	"time"
)

// A File is an open file of a simulated disk.
type File struct {
	access
	name   string
	inode  *inode
	flag   int
	at     int64
	closed bool
}

// use fails if an operation must not be tried.
func (f *File) use(op string, writes bool) error {
	switch {
	case f.closed:
		return &fs.PathError{Op: op, Path: f.name, Err: fs.ErrClosed}
	case writes && f.flag&(os.O_WRONLY|os.O_RDWR) == 0, !writes && op == "read" && f.flag&os.O_WRONLY != 0:
		return &fs.PathError{Op: op, Path: f.name, Err: syscall.EBADF}
	}
	return f.check(op, f.name, writes)
}

// ReadAt reads from an offset, as os.File does.
func (f *File) ReadAt(p []byte, at int64) (int, error) {
	if err := f.use("read", false); err != nil {
		return 0, err
	}
	switch {
	case at < 0:
		return 0, &fs.PathError{Op: "read", Path: f.name, Err: errNegative}
	case len(p) == 0:
		return 0, nil
	case at >= int64(len(f.inode.data)):
		return 0, io.EOF
	}
	n := copy(p, f.inode.data[at:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

var (
	errNegative = errors.New("negative offset")
	errAppends  = errors.New("WriteAt of a file that was opened with O_APPEND")
)

// Read reads on from the last Read or Write.
func (f *File) Read(p []byte) (int, error) {
	n, err := f.ReadAt(p, f.at)
	f.at += int64(n)
	if n > 0 {
		err = nil
	}
	return n, err
}

// longest is how long a file may be. All of it is in memory, also what was never written.
const longest = 1 << 30

// WriteAt writes at an offset. It fails if the file was opened to append.
func (f *File) WriteAt(p []byte, at int64) (int, error) {
	switch {
	case at < 0:
		return 0, &fs.PathError{Op: "write", Path: f.name, Err: errNegative}
	case f.flag&os.O_APPEND != 0:
		return 0, &fs.PathError{Op: "write", Path: f.name, Err: errAppends}
	}
	return f.write(p, at)
}

func (f *File) write(p []byte, at int64) (int, error) {
	if err := f.use("write", true); err != nil {
		return 0, err
	}
	if len(p) == 0 {
		return 0, nil // the file does not become longer
	}
	if f.flag&os.O_APPEND != 0 { // not before: use waits where the disk is slow
		at = int64(len(f.inode.data))
		f.at = at
	}
	if at > longest-int64(len(p)) {
		return 0, &fs.PathError{Op: "write", Path: f.name, Err: syscall.EFBIG}
	}
	asked := len(p)
	p = p[:f.disk.fits(asked)]
	n := f.inode
	if end := at + int64(len(p)); end > int64(len(n.data)) {
		n.data = resized(n.data, end)
	}
	n.changed = f.program.Date()
	f.program.Wrote(f.name, at, p)
	switch astray := f.disk.strays(n, at, len(p)); {
	case astray == nil:
		copy(n.data[at:], p)
		n.add(write{at: at, data: slices.Clone(p)})
	default:
		n.add(write{at: at + int64(len(p)), grows: true})
		f.program.Damaged(astray.what, astray.lands(p))
	}
	if len(p) < asked {
		f.program.Damaged("short write", len(p))
		return len(p), &fs.PathError{Op: "write", Path: f.name, Err: syscall.ENOSPC}
	}
	return len(p), nil
}

// Write writes on from the last Read or Write, or at the end if the file was opened to append.
func (f *File) Write(p []byte) (int, error) {
	n, err := f.write(p, f.at)
	f.at += int64(n)
	return n, err
}

// Sync fails with the disk; what it was to confirm is then as uncertain as before. If it
// fails because the file is closed or the process was killed, the disk knows nothing of it.
// On a disk whose Syncs lie it confirms what is as uncertain as before. What another loop of the
// host writes while it takes its time is not confirmed.
func (f *File) Sync() error {
	n := f.inode
	last := n.added
	if err := f.use("sync", f.flag&(os.O_WRONLY|os.O_RDWR) != 0); err != nil {
		for i := range n.writes {
			n.writes[i].lost = n.writes[i].lost || !errors.Is(err, fs.ErrClosed)
		}
		return err
	}
	if f.disk.Faults.LyingSync {
		f.program.Damaged("a Sync that lies", len(n.writes))
		return nil
	}
	var left []write
	for _, w := range n.writes {
		switch {
		case w.lost, w.number > last:
			left = append(left, w)
		case w.cut:
			left = without(left, w.at, math.MaxInt64)
			n.durable = resized(n.durable, w.at)
		case w.grows:
			n.durable = resized(n.durable, max(w.at, int64(len(n.durable))))
		default:
			end := w.at + int64(len(w.data))
			left = without(left, w.at, end)
			n.durable = resized(n.durable, max(end, int64(len(n.durable))))
			copy(n.durable[w.at:], w.data)
		}
	}
	clear(n.writes)
	n.writes = append(n.writes[:0], left...)
	return nil
}

// Truncate cuts or extends the file.
func (f *File) Truncate(size int64) error {
	if err := f.use("truncate", true); err != nil {
		return err
	}
	if size < 0 {
		return &fs.PathError{Op: "truncate", Path: f.name, Err: syscall.EINVAL}
	}
	if size > longest {
		return &fs.PathError{Op: "truncate", Path: f.name, Err: syscall.EFBIG}
	}
	f.cut(size)
	return nil
}

func (f *File) cut(size int64) {
	n := f.inode
	n.data = resized(n.data, size)
	n.add(write{at: size, cut: true})
	n.changed = f.program.Date()
}

// Stat returns name, size, mode and time of the file.
func (f *File) Stat() (fs.FileInfo, error) {
	if err := f.use("stat", false); err != nil {
		return nil, err
	}
	return f.inode.info(slash.Base(f.name)), nil
}

// Close closes the file. It syncs nothing.
func (f *File) Close() error {
	if f.closed {
		return &fs.PathError{Op: "close", Path: f.name, Err: fs.ErrClosed}
	}
	f.closed = true
	return nil
}

// An info is the fs.FileInfo of a simulated file, as it was when the program asked.
type info struct {
	name    string
	size    int
	mode    fs.FileMode
	changed time.Time
}

func (n *inode) info(name string) info { return info{name, len(n.data), n.mode, n.changed} }

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return int64(i.size) }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) ModTime() time.Time { return i.changed }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return nil }
