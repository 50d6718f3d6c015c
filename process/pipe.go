package process

// The parent's ends of a child's pipes.
//
// The law of an outlet: the bytes of a pipe leave it under the outlet's lock, on
// whatever goroutine. So drain, which takes what is left in the pipe, comes before or
// after each read and never between a read and its bytes.

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"

	"github.com/rondo-go/rondo/internal/errtree"
	"github.com/rondo-go/rondo/internal/fd"
)

// An outlet is where a child's output is read. It has a descriptor until a Read has
// reached the end of the output, until Close, or until the child's task has drained
// it. After that, what was in the pipe is in memory, followed by the end. Any
// goroutine may use it.
type outlet struct {
	file *fd.FD
	over func() // called once, by any goroutine, when the descriptor is closed

	mu     sync.Mutex // guards the rest; never held while anything waits
	shut   bool       // the descriptor is closed
	closed bool       // by Close
	rest   []byte     // what was drained and not read
}

// Read reads what the child wrote. After the end it returns io.EOF, after Close an
// error that is os.ErrClosed, and when the task's scope is cancelled the cause.
// It suspends the task.
func (o *outlet) Read(p []byte) (int, error) {
	if n, err, done := o.remembered(p); done || len(p) == 0 {
		return n, err
	}
	n, err := o.read(p)
	if err == io.EOF {
		o.end(false)
	}
	if err != nil {
		// The descriptor may have been closed by drain, which has the rest.
		if n, err, done := o.remembered(p); done {
			return n, err
		}
	}
	return n, err
}

// remembered is Read when the descriptor is closed. done reports whether it is.
func (o *outlet) remembered(p []byte) (n int, err error, done bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case !o.shut:
		return 0, nil, false
	case o.closed:
		return 0, &os.PathError{Op: "read", Path: "|0", Err: os.ErrClosed}, true
	case len(o.rest) == 0:
		return 0, io.EOF, true
	}
	n = copy(p, o.rest)
	o.rest = o.rest[n:]
	return n, nil, true
}

// Close closes the pipe, so that the child can no longer write to it. It never
// suspends.
func (o *outlet) Close() error {
	o.mu.Lock()
	again := o.closed
	o.closed, o.rest = true, nil
	o.mu.Unlock()
	if again {
		return &os.PathError{Op: "close", Path: "|0", Err: os.ErrClosed}
	}
	o.end(false)
	return nil
}

// errShut is the error of a read that found the descriptor closed.
var errShut = errors.New("the outlet is shut")

// drain takes what is in the pipe into memory and closes it. It runs on the
// loop.
func (o *outlet) drain() { o.end(true) }

func (o *outlet) end(keep bool) {
	o.mu.Lock()
	if o.shut {
		o.mu.Unlock()
		return
	}
	if keep {
		o.rest = rest(o.file)
	}
	o.shut = true
	o.mu.Unlock()
	// No data is lost if the pipe could not be closed.
	_ = o.file.Close()
	o.over()
}

// An inlet is where a child's input is written. Any goroutine may use it.
type inlet struct {
	file *fd.FD

	mu   sync.Mutex // guards the rest
	gone bool       // the child has ended
	shut bool       // by Close
	left bool       // a Write has found that the child reads no more
}

// unread reports whether the child did not read all that was written.
func (i *inlet) unread() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.left
}

// Write writes to the child, and waits while it does not read. When the child
// has ended, or has closed its input, the error is syscall.EPIPE; after Close it
// is os.ErrClosed, and when the task's scope is cancelled the cause.
// It suspends the task.
func (i *inlet) Write(p []byte) (int, error) {
	n, err := i.file.Write(p)
	if errtree.Is(err, syscall.EPIPE) {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.left = true
		return n, err
	}
	if closedError(err) {
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.gone && !i.shut {
			i.left = true
			return n, os.NewSyscallError("write", syscall.EPIPE)
		}
		return n, &os.PathError{Op: "write", Path: "|1", Err: os.ErrClosed}
	}
	return n, err
}

// Close closes the pipe, so that the child reads the end of its input. It never
// suspends.
func (i *inlet) Close() error {
	i.mu.Lock()
	again, gone := i.shut, i.gone
	i.shut = true
	i.mu.Unlock()
	switch {
	case again:
		return &os.PathError{Op: "close", Path: "|1", Err: os.ErrClosed}
	case gone:
		return nil
	}
	return i.file.Close()
}

// end closes the pipe because the child has ended.
func (i *inlet) end() {
	i.mu.Lock()
	shut := i.shut
	i.gone = true
	i.mu.Unlock()
	if !shut {
		// The child that could have read more has ended.
		_ = i.file.Close()
	}
}

// closedError reports whether err says that a descriptor was closed here.
func closedError(err error) bool {
	return errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrClosed)
}
