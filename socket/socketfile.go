package socket

// The file of a Unix socket outlives the socket unless someone removes it
// (unix(7)). Two rules: a stale file does not prevent a bind, and only the
// socket's own file is removed.

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"sync/atomic"
	"syscall"
)

// A socketFile is the file that a socket was bound to. nil means none: an
// abstract name has no file.
type socketFile struct {
	path    string
	info    fs.FileInfo
	removed atomic.Bool
}

// bind runs open, which binds a Unix socket to path, and records the file. It
// first removes a socket file that no process has open.
func bind[T io.Closer](ctx context.Context, path string, open func(ctx context.Context) (T, error)) (T, *socketFile, error) {
	c, err := open(ctx)
	if named := path != "" && path[0] != '@' && path[0] != 0; !named {
		return c, nil, err
	}
	if errors.Is(err, syscall.EADDRINUSE) && removeStale(path) {
		c, err = open(ctx)
	}
	if err != nil {
		return c, nil, err
	}
	info, err := os.Lstat(path)
	if err != nil {
		// Someone has removed it already. The socket is bound all the same.
		return c, nil, nil
	}
	return c, &socketFile{path: path, info: info}, nil
}

// removeStale removes the socket at path if no process has it open, and reports
// whether it did.
func removeStale(path string) bool {
	before, err := os.Lstat(path)
	if err != nil || before.Mode().Type() != fs.ModeSocket || !refused(path) {
		return false
	}
	after, err := os.Lstat(path)
	return err == nil && os.SameFile(before, after) && os.Remove(path) == nil
}

// refused reports whether no process has the socket at path open. It connects a
// datagram socket, which the owner does not notice: a datagram socket accepts
// it and nothing is sent, and for any other kind the system refuses it with a
// different error (EPROTOTYPE), whether or not the owner listens yet.
func refused(path string) bool {
	c, err := net.Dial("unixgram", path)
	if err == nil {
		c.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// remove removes the file, unless another one has taken its place. It is called
// before the socket is closed: until then the system does not reuse the file's
// number. Only the first call does anything.
func (f *socketFile) remove() {
	if f == nil || f.removed.Swap(true) {
		return
	}
	if info, err := os.Lstat(f.path); err == nil && os.SameFile(f.info, info) {
		// If this fails, the next bind finds a stale file and removes it.
		_ = os.Remove(f.path)
	}
}
