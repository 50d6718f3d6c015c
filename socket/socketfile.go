package socket

// This file has the file of a Unix socket, which outlives the socket unless
// somebody removes it (unix(7)). Two rules: a file that was left behind does not
// stand in the way, and nobody's file is removed but one's own.

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

// A socketFile is the file that a socket was bound to. nil stands for none: an
// abstract name has no file.
type socketFile struct {
	path    string
	info    fs.FileInfo
	removed atomic.Bool
}

// bind runs open, which binds a Unix socket to path, and notes the file. A socket
// that is there already, and that nobody holds any more, is removed first.
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
		// Somebody was quick to remove it. The socket is bound all the same.
		return c, nil, nil
	}
	return c, &socketFile{path: path, info: info}, nil
}

// removeStale removes the socket at path if nobody holds it, and reports whether
// it did.
func removeStale(path string) bool {
	before, err := os.Lstat(path)
	if err != nil || before.Mode().Type() != fs.ModeSocket || !refused(path) {
		return false
	}
	after, err := os.Lstat(path)
	return err == nil && os.SameFile(before, after) && os.Remove(path) == nil
}

// refused tells whether nobody holds the socket at path. It connects a socket of
// datagrams, which whoever does hold it does not notice: to one of datagrams that
// sends nothing, and to any other the system refuses it, but with another error
// (EPROTOTYPE), whether or not the holder listens yet.
func refused(path string) bool {
	c, err := net.Dial("unixgram", path)
	if err == nil {
		c.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// remove removes the file, unless another one has taken its place. It is called
// before the socket is closed, which keeps the system from giving the number of
// the file to another one. Only the first call does anything.
func (f *socketFile) remove() {
	if f == nil || f.removed.Swap(true) {
		return
	}
	if info, err := os.Lstat(f.path); err == nil && os.SameFile(f.info, info) {
		// If that fails, the next one to bind finds a stale file and removes it.
		_ = os.Remove(f.path)
	}
}
