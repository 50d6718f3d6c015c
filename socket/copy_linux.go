//go:build !rondo_portable

package socket

// A copy to a connection, from a file or from another connection, without
// moving the data through the program.

import (
	"errors"
	"io"
	"math"
	"os"
	"syscall"

	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
)

const (
	copyBuffer = 32 << 10 // as io.Copy has it

	// smallMax is how many pieces in a row may be smaller than a buffer before a
	// copy closes its pipe.
	smallMax = 16
)

// transfer copies r to the connection for a task. done reports whether it
// could; if not, r is untouched.
func (c *Conn) transfer(t kernel.Task, r io.Reader) (n int64, done bool, err error) {
	if c.fd.Virtual() != nil {
		return 0, false, nil
	}
	left := int64(math.MaxInt64)
	limited, _ := r.(*io.LimitedReader)
	if limited != nil {
		if limited.N <= 0 {
			return 0, true, nil
		}
		r, left = limited.R, limited.N
	}
	switch r := r.(type) {
	case *Conn:
		if r.fd.Loop() == c.fd.Loop() && r.of.String() != "unixpacket" && c.of.String() != "unixpacket" {
			var taken int64
			n, taken, err = c.copyConn(t, r, left)
			left -= taken
			done = true
		}
	case regular:
		n, done, err = c.sendFile(t, r, left)
		left -= n
	}
	if limited != nil {
		limited.N = left
	}
	return n, done, err
}

// regular is an *os.File, also one that io.Copy has wrapped.
type regular interface {
	Stat() (os.FileInfo, error)
	SyscallConn() (syscall.RawConn, error)
}

// sendFile sends up to left bytes of a file from its current position.
func (c *Conn) sendFile(t kernel.Task, file regular, left int64) (n int64, done bool, err error) {
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return 0, false, nil
	}
	raw, err := file.SyscallConn()
	if err != nil {
		return 0, false, nil
	}
	for left > 0 {
		m, err := c.fd.SendFile(t, raw, int(min(left, fd.BulkMax)))
		if n == 0 && fd.NotSupported(err) {
			return 0, false, nil
		}
		if err != nil {
			return n, true, c.fail("write", err)
		}
		if m == 0 {
			break
		}
		n += int64(m)
		left -= int64(m)
	}
	return n, true, nil
}

// copyConn copies up to left bytes of src to the connection. taken is how many
// it has read from src. After a piece that fills the buffer it uses a kernel
// pipe: small pieces are cheaper to copy, and a quiet connection should not
// keep two more descriptors.
func (c *Conn) copyConn(t kernel.Task, src *Conn, left int64) (n, taken int64, err error) {
	p := make([]byte, min(left, copyBuffer))
	canSplice := true
	for taken < left {
		m, err := src.Read(p[:min(left-taken, int64(len(p)))])
		taken += int64(m)
		if err == io.EOF {
			return n, taken, nil
		}
		if err != nil {
			return n, taken, err
		}
		w, err := c.Write(p[:m])
		n += int64(w)
		if err != nil {
			return n, taken, err
		}
		if m < copyBuffer || !canSplice || taken == left {
			continue
		}
		piped, from, err := c.spliceFrom(t, src, left-taken)
		n, taken = n+piped, taken+from
		switch err {
		case nil:
		case errNoSplice:
			canSplice = false
		case io.EOF:
			return n, taken, nil
		default:
			return n, taken, err
		}
	}
	return n, taken, nil
}

// errNoSplice says that the kernel pipe cannot be opened or used. No data is
// lost.
var errNoSplice = errors.New("no pipe")

// spliceFrom copies up to left bytes of src through a kernel pipe, until the
// end of the stream, which is io.EOF, or until the data comes in small pieces.
func (c *Conn) spliceFrom(t kernel.Task, src *Conn, left int64) (n, taken int64, err error) {
	tube, err := fd.NewTube()
	if err != nil {
		return 0, 0, errNoSplice
	}
	defer tube.Close()
	for small := 0; taken < left && small < smallMax; small++ {
		m, err := src.fd.Fill(t, tube, int(min(left-taken, fd.BulkMax)))
		switch {
		case fd.NotSupported(err):
			return n, taken, errNoSplice
		case err != nil:
			return n, taken, src.fail("read", err)
		case m == 0:
			return n, taken, io.EOF
		}
		taken += int64(m)
		w, err := c.fd.Drain(t, tube)
		n += int64(w)
		if err != nil {
			return n, taken, c.fail("write", err)
		}
		if m >= copyBuffer {
			small = -1
		}
	}
	return n, taken, nil
}
