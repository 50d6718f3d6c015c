//go:build rondo_portable || !(linux || darwin || freebsd || dragonfly)

package fd

// A stream that no task waits for, where the driver watches no descriptors: a
// goroutine reads the face into a small buffer whenever a report is expected,
// another writes what Send took. Each is one call long and comes back by a Post,
// so all the rest is the loop's alone.

import (
	"net"
	"runtime"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/kernel"
)

const (
	readAhead = 4 << 10  // bytes of the buffer of a connection
	sendAhead = 64 << 10 // bytes that Send takes at once
)

// A Stream is the only owner of a connection. It belongs to its loop, and none
// of its methods waits.
type Stream struct{ *borrower }

// A borrower has the face of a Stream and what its goroutines have brought.
type borrower struct {
	face     Face
	loop     kernel.Loop
	sink     driver.Sink
	buffer   []byte
	got      []byte // what was read and nobody has received yet
	reading  bool   // a goroutine is out
	writing  bool   // another is
	readErr  error
	writeErr error
	slow     bool // close may block
}

// NewStream makes a Stream of a face.
func NewStream(loop kernel.Loop, face Face) Stream {
	return Stream{&borrower{face: face, loop: loop}}
}

// Detach takes the face away from an FD, which is closed from then on for all
// who still hold it. It fails, and changes nothing, if a task reads or writes.
// Only on the loop.
func (f *FD) Detach() (Stream, error) {
	if f.busy() {
		return Stream{}, errBusy
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return Stream{}, net.ErrClosed
	}
	if err := f.face.SetReadDeadline(time.Time{}); err != nil {
		return Stream{}, err
	}
	if err := f.face.SetWriteDeadline(time.Time{}); err != nil {
		return Stream{}, err
	}
	f.closed, f.gone = true, true
	f.news.Store(true)
	s := NewStream(f.loop, f.face)
	s.slow = f.slow
	return s, nil
}

// Receive takes what was read into p. It returns ErrAgain if there is nothing,
// and io.EOF at the end of the stream.
func (b *borrower) Receive(p []byte) (int, error) {
	switch {
	case len(b.got) > 0:
		n := copy(p, b.got)
		b.got = b.got[n:]
		return n, nil
	case b.readErr != nil:
		return 0, b.readErr
	}
	b.read()
	return 0, ErrAgain
}

// Send takes as much of p as there is room for, and returns ErrAgain if that is
// nothing. An error is that of an earlier Send.
func (b *borrower) Send(p []byte) (int, error) {
	switch {
	case b.writeErr != nil:
		return 0, b.writeErr
	case b.writing:
		return 0, ErrAgain
	}
	p = append([]byte(nil), p[:min(len(p), sendAhead)]...)
	b.writing = true
	b.loop.Lend(1)
	b.loop.Beside(func() {
		_, err := b.face.Write(p)
		// The owner waits for Still, so the loop has not ended.
		_ = b.loop.Post(func() {
			b.loop.Lend(-1)
			b.writing, b.writeErr = false, err
			b.tell(driver.Writable)
		})
	})
	runtime.Gosched()
	return len(p), nil
}

// Sending tells whether something that Send took has yet to reach the system.
func (b *borrower) Sending() bool { return b.writing }

// Failed gives the error of what Send took before.
func (b *borrower) Failed() error { return b.writeErr }

// Expect has sink hear of the next time that want is possible.
func (b *borrower) Expect(_ kernel.Loop, want driver.Events, sink driver.Sink) error {
	b.sink = sink
	if want&driver.Readable != 0 {
		b.read()
	}
	return nil
}

// read sends a goroutine to read, if there is none and nothing to receive.
func (b *borrower) read() {
	if b.reading || b.readErr != nil || len(b.got) > 0 {
		return
	}
	if b.buffer == nil {
		b.buffer = make([]byte, readAhead)
	}
	b.reading = true
	b.loop.Beside(func() {
		n, err := b.face.Read(b.buffer)
		_ = b.loop.Post(func() {
			b.reading = false
			b.got, b.readErr = b.buffer[:n], err
			b.tell(driver.Readable)
		})
	})
}

func (b *borrower) tell(ev driver.Events) {
	if b.sink != nil {
		b.sink.Ready(ev)
	}
}

// CloseWrite ends the sending side.
func (b *borrower) CloseWrite() error {
	half, ok := b.face.(interface{ CloseWrite() error })
	if !ok {
		return errUnsupported
	}
	return half.CloseWrite()
}

// Still ends what is under way. It returns false if that is not over yet; the
// sink is told when it is.
func (b *borrower) Still(kernel.Loop) bool {
	if b.reading || b.writing {
		_ = b.face.SetReadDeadline(time.Unix(1, 0))
		_ = b.face.SetWriteDeadline(time.Unix(1, 0))
		return false
	}
	return true
}

// Close closes the connection, after Still.
func (b *borrower) Close(loop kernel.Loop) {
	if b.slow {
		loop.Beside(func() { b.face.Close() })
		return
	}
	b.face.Close()
}

// Control runs op with the descriptor.
func (b *borrower) Control(op func(sys uintptr)) error {
	raw, err := rawOf(b.face)
	if err != nil {
		return err
	}
	return raw.Control(op)
}

// Addrs gives the two addresses of the connection.
func (b *borrower) Addrs() (local, remote net.Addr) {
	conn := b.face.(net.Conn)
	return conn.LocalAddr(), conn.RemoteAddr()
}
