//go:build rondo_portable || !(linux || darwin || freebsd || dragonfly)

package fd

// A stream that no task waits for, where the driver watches no descriptors. One
// goroutine reads from Std into a small buffer whenever a report is expected,
// another one writes what Send took. Each makes one call and comes back by
// Post, so everything else is used only on the loop.

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
type Stream struct{ *stdStream }

// A stdStream has the Std of a Stream and the results of its goroutines.
type stdStream struct {
	std      Std
	loop     kernel.Loop
	sink     driver.Sink
	buffer   []byte
	got      []byte // what was read and not yet received
	reading  bool   // a goroutine reads
	writing  bool   // a goroutine writes
	readErr  error
	writeErr error
	slow     bool // close may block
}

// NewStream returns a Stream of std.
func NewStream(loop kernel.Loop, std Std) Stream {
	return Stream{&stdStream{std: std, loop: loop}}
}

// Detach takes Std away from an FD, which is closed from then on for everyone
// who still has it. It fails, and changes nothing, if a task reads or writes.
// Only on the loop.
func (f *FD) Detach() (Stream, error) {
	if f.busy() {
		return Stream{}, errBusy
	}
	if f.Virtual() != nil {
		return Stream{}, errUnsupported
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return Stream{}, net.ErrClosed
	}
	if err := f.std().SetReadDeadline(time.Time{}); err != nil {
		return Stream{}, err
	}
	if err := f.std().SetWriteDeadline(time.Time{}); err != nil {
		return Stream{}, err
	}
	f.markClosed()
	f.released = true
	f.changed.Store(true)
	s := NewStream(f.read.loop, f.std())
	s.slow = f.slow
	return s, nil
}

// Receive copies data that was read to p. It returns ErrAgain if there is none,
// and io.EOF at the end of the stream.
func (b *stdStream) Receive(p []byte) (int, error) {
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

// Discard drops nothing: a read could wait.
func (b *stdStream) Discard([]byte, int) int { return 0 }

// Send takes as much of p as there is room for, and returns ErrAgain if that is
// nothing. An error is that of an earlier Send.
func (b *stdStream) Send(p []byte) (int, error) {
	switch {
	case b.writeErr != nil:
		return 0, b.writeErr
	case b.writing:
		return 0, ErrAgain
	}
	p = append([]byte(nil), p[:min(len(p), sendAhead)]...)
	b.writing = true
	b.loop.AddHelpers(1)
	b.loop.GoFunc(func() {
		_, err := b.std.Write(p)
		// The owner waits for Stop, so the loop has not ended.
		_ = b.loop.Post(func() {
			b.loop.AddHelpers(-1)
			b.writing, b.writeErr = false, err
			b.notify(driver.Writable)
		})
	})
	runtime.Gosched()
	return len(p), nil
}

// Sending reports whether something that Send took has not reached the system
// yet.
func (b *stdStream) Sending() bool { return b.writing }

// SendErr returns the error of an earlier Send.
func (b *stdStream) SendErr() error { return b.writeErr }

// Arm makes the Stream call sink the next time that want is possible.
func (b *stdStream) Arm(_ kernel.Loop, want driver.Events, sink driver.Sink) error {
	b.sink = sink
	if want&driver.Readable != 0 {
		b.read()
	}
	return nil
}

// read starts a goroutine that reads, if there is none and no data is left.
func (b *stdStream) read() {
	if b.reading || b.readErr != nil || len(b.got) > 0 {
		return
	}
	if b.buffer == nil {
		b.buffer = make([]byte, readAhead)
	}
	b.reading = true
	b.loop.GoFunc(func() {
		n, err := b.std.Read(b.buffer)
		_ = b.loop.Post(func() {
			b.reading = false
			b.got, b.readErr = b.buffer[:n], err
			b.notify(driver.Readable)
		})
	})
}

func (b *stdStream) notify(ev driver.Events) {
	if b.sink != nil {
		b.sink.Ready(ev)
	}
}

// CloseWrite ends the sending side.
func (b *stdStream) CloseWrite() error {
	half, ok := b.std.(interface{ CloseWrite() error })
	if !ok {
		return errUnsupported
	}
	return half.CloseWrite()
}

// Stop interrupts running operations. It returns false if one has not ended
// yet; the sink is called when it has.
func (b *stdStream) Stop(kernel.Loop) bool {
	if b.reading || b.writing {
		_ = b.std.SetReadDeadline(time.Unix(1, 0))
		_ = b.std.SetWriteDeadline(time.Unix(1, 0))
		return false
	}
	return true
}

// Close closes the connection, after Stop.
func (b *stdStream) Close(loop kernel.Loop) {
	if b.slow {
		loop.GoFunc(func() { b.std.Close() })
		return
	}
	b.std.Close()
}

// Control runs op with the descriptor.
func (b *stdStream) Control(op func(sys uintptr)) error {
	raw, err := rawOf(b.std)
	if err != nil {
		return err
	}
	return raw.Control(op)
}

// Addrs returns the two addresses of the connection.
func (b *stdStream) Addrs() (local, remote net.Addr) {
	conn := b.std.(net.Conn)
	return conn.LocalAddr(), conn.RemoteAddr()
}
