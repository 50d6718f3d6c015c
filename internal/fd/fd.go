// Package fd puts a file descriptor on a loop: a task that has to wait for it is
// suspended, and the rest of the program goes on.
//
// An FD has two faces. The loop's own is a non-blocking descriptor that only
// tasks use; the other, Face, is the standard library's and is for all other
// goroutines, which block alone, as they would without Rondo. Neither ever
// depends on the other: a goroutine that a task waits for can always use the
// connection. Each face is made when it is needed first. They are two numbers
// of one open file, so bytes and options are shared; deadlines and the close
// are carried from one to the other here.
//
// What a task does on its face is in raw.go where the driver watches
// descriptors, and in portable.go where it does not: there the loop has no
// descriptor, and an operation is a call to Face on a goroutine of its own.
//
// The law of the lock mu: it is held for a few instructions, never while
// anything waits. What it does not guard belongs to the loop.
package fd

import (
	"errors"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/kernel"
)

// A Face is a descriptor as the standard library has it: a net.Conn, an
// *os.File.
type Face interface {
	io.ReadWriteCloser
	SetReadDeadline(t time.Time) error
	SetWriteDeadline(t time.Time) error
}

// An FD is one open file, used by the tasks of one loop and by any goroutine.
// Its methods may be called from anywhere, at any time; those of a task that
// wait suspend the task.
type FD struct {
	loop    kernel.Loop
	read    side
	write   side
	sys     int  // the loop's descriptor, -1: none; changed on the loop, under mu
	socket  bool // sys is a socket
	pieces  bool // a read may end before the data that has come does
	blind   bool // nobody tells when sys may send again; see sendBy
	pausing bool // reports of writing are not heeded; see sendBy
	gone    bool // the loop has heard that it is closed

	// news tells the loop that what mu guards has changed: it looks before each
	// operation.
	news atomic.Bool

	mu       sync.Mutex
	face     Face
	makeFace func(sys int) (Face, error)
	closed   bool
	looped   bool         // the loop has a face of it, and must hear of changes
	until    [2]time.Time // the deadlines, of reading and of writing
	slow     bool         // close may block: there is a linger time
	dropped  runtime.Cleanup
}

// errUnsupported is a sentence that is errors.ErrUnsupported.
var errUnsupported error = unsupported{}

type unsupported struct{}

func (unsupported) Error() string {
	return "this loop is a simulation, which has no file descriptors; use socket.Pipe there, or rondo.Run"
}

func (unsupported) Is(err error) bool { return err == errors.ErrUnsupported }

// Adopt makes an FD of a face. The loop's own is made when a task first uses
// it.
func Adopt(loop kernel.Loop, face Face) *FD {
	f := &FD{face: face, sys: -1}
	f.begin(loop)
	f.news.Store(true)
	return f
}

func (f *FD) begin(loop kernel.Loop) {
	f.loop = loop
	f.read.begin(f, driver.Readable)
	f.write.begin(f, driver.Writable)
}

// A side is a Side of an FD.
//
// Ready means that the next system call may have something to do. It is lost
// when the kernel says EAGAIN, or when a read took less than it asked for, and
// it comes back with the driver's next report.
type side struct {
	Side
	fd     *FD
	want   driver.Events
	ready  bool
	armed  bool
	unsure bool // a read that gave less than was asked for may have left something
	loan        // of the other face; see portable.go
}

func (s *side) begin(f *FD, want driver.Events) {
	s.Begin(f.loop, true)
	s.fd, s.want, s.ready = f, want, true
}

// enter begins an operation: it fails if that must not be tried.
func (s *side) enter(t kernel.Task) error {
	if err := s.check(); err != nil {
		return err
	}
	return s.Enter(t)
}

// check fails if an operation must not be tried again.
func (s *side) check() error {
	f := s.fd
	if f.news.Load() {
		if err := f.refresh(); err != nil {
			return err
		}
	}
	if f.gone {
		return net.ErrClosed
	}
	return s.Check()
}

// Name says who is at the other end, for people who look at the program. It is
// called before the FD is used.
func (f *FD) Name(peer net.Addr) { f.read.waiter.Name(peer); f.write.waiter.Name(peer) }

// Loop gives the loop whose tasks are suspended.
func (f *FD) Loop() kernel.Loop { return f.loop }

// Task gives the task that calls, or nil if the caller is no task of the loop
// and has to use the other face. It panics in a callback, which must not wait;
// call is what it names.
func (f *FD) Task(call string) kernel.Task { return TaskOf(f.loop, call) }

// TaskOf is FD.Task for a loop.
func TaskOf(loop kernel.Loop, call string) kernel.Task {
	if !loop.Inside() {
		return nil
	}
	t := loop.Task()
	if t == nil {
		panic("rondo: " + call + " in a callback: callbacks must not wait; start a task with Go")
	}
	return t
}

// Read reads what there is into p, and waits while there is nothing. Several
// readers are served in the order in which they came. At the end of the stream
// it returns io.EOF, past the deadline os.ErrDeadlineExceeded, after Close
// net.ErrClosed, and when the task's scope is cancelled the cause; data that
// has arrived by then wins over a cancellation during the wait.
func (f *FD) Read(p []byte) (int, error) {
	t := f.Task("Read")
	if t == nil {
		return f.readForeign(p)
	}
	return f.readTask(t, p)
}

func (f *FD) readForeign(p []byte) (n int, err error) {
	err = f.Foreign(driver.Readable, func(face Face) (err error) {
		n, err = face.Read(p)
		return err
	})
	return n, err
}

// Write writes all of p, and waits whenever the other side does not take it.
// What several writers write at once, on either face, comes one after the
// other. Its errors are those of Read, io.EOF apart; the number of bytes
// written before one is right.
func (f *FD) Write(p []byte) (int, error) {
	t := f.Task("Write")
	if err := f.write.Take(t); err != nil {
		return 0, err
	}
	defer f.write.Release()
	if t == nil {
		n := 0
		err := f.Foreign(driver.Writable, func(face Face) error {
			m, err := face.Write(p[n:])
			n += m
			return err
		})
		return n, err
	}
	return f.writeTask(t, p)
}

// Foreign runs op on the other face, for a goroutine that is no task of the
// loop, and again if it failed for a reason that was not its own.
func (f *FD) Foreign(which driver.Events, op func(face Face) error) error {
	face, err := f.Face()
	if err != nil {
		return err
	}
	s := f.side(which)
	for {
		loans := s.loans()
		err := op(face)
		if err == nil || !s.disturbed(loans, err) {
			return err
		}
	}
}

func (f *FD) side(which driver.Events) *side {
	if which == driver.Writable {
		return &f.write
	}
	return &f.read
}

// Face gives the face of the standard library, made at the first call. It is
// closed by Close and must not be closed otherwise.
func (f *FD) Face() (Face, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, net.ErrClosed
	}
	if f.face != nil {
		return f.face, nil
	}
	face, err := f.makeFace(f.sys)
	if err != nil {
		return nil, err
	}
	for i, set := range []func(time.Time) error{face.SetReadDeadline, face.SetWriteDeadline} {
		if t := f.until[i]; !t.IsZero() {
			if err := set(t); err != nil {
				face.Close()
				return nil, err
			}
		}
	}
	f.face = face
	return face, nil
}

// rawOf gives access to the descriptor of a face.
func rawOf(face Face) (syscall.RawConn, error) {
	if conn, ok := face.(syscall.Conn); ok {
		return conn.SyscallConn()
	}
	return nil, errUnsupported
}

// SetDeadline sets the time after which operations in the directions given
// fail, those that wait at the moment included. The zero time means none.
func (f *FD) SetDeadline(which driver.Events, t time.Time) error {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return net.ErrClosed
	}
	err := f.noteDeadline(which, t)
	looped := f.looped
	f.mu.Unlock()
	if err != nil || !looped {
		return err
	}
	if f.loop.Inside() {
		f.moveDeadline(which, t)
		return nil
	}
	f.news.Store(true)
	// If the loop has ended, no task waits.
	_ = f.loop.Post(f.hear)
	return nil
}

// noteDeadline sets the deadline on what is there. The caller holds mu.
func (f *FD) noteDeadline(which driver.Events, t time.Time) error {
	if which&driver.Readable != 0 {
		f.until[0] = t
		if f.face != nil && !f.read.lent() {
			if err := f.face.SetReadDeadline(t); err != nil {
				return err
			}
		}
	}
	if which&driver.Writable != 0 {
		f.until[1] = t
		if f.face != nil && !f.write.lent() {
			return f.face.SetWriteDeadline(t)
		}
	}
	return nil
}

// moveDeadline is SetDeadline for the tasks.
func (f *FD) moveDeadline(which driver.Events, t time.Time) {
	if which&driver.Readable != 0 {
		f.read.SetDeadline(t)
	}
	if which&driver.Writable != 0 {
		f.write.SetDeadline(t)
	}
}

// Close ends every operation that waits, on both faces, with net.ErrClosed, and
// all later ones. A second Close returns net.ErrClosed. The loop's descriptor
// is closed on the loop, so that a number in use there is never another file's;
// if Close is called elsewhere that is a moment later.
func (f *FD) Close() error {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return net.ErrClosed
	}
	f.closed = true
	f.news.Store(true)
	face, mine, slow := f.face, f.looped, f.slow
	f.mu.Unlock()
	var err error
	switch {
	case face == nil:
	case slow && f.loop.Inside():
		f.loop.Beside(func() { face.Close() })
	default:
		err = face.Close()
	}
	if !mine {
		return err
	}
	if f.loop.Inside() {
		f.release()
	} else if f.loop.Post(f.release) != nil {
		// The loop has ended: no task can be using it.
		f.closeSys()
	}
	return err
}

// release is the part of Close that is the loop's.
func (f *FD) release() {
	f.gone = true
	f.disarm()
	f.read.End()
	f.write.End()
	f.closeSys()
}

// Linger tells whether close may block, because there is a linger time: it is
// then called on a goroutine.
func (f *FD) Linger(slow bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.slow = slow
}

// hear takes over what has changed outside. It runs on the loop.
func (f *FD) hear() { _ = f.refresh() }

// refresh brings what the loop knows up to date. It fails if there is nothing
// to go on with.
func (f *FD) refresh() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.news.Store(false)
	if f.closed {
		f.gone = true
		return net.ErrClosed
	}
	if !f.looped {
		if err := f.open(); err != nil {
			f.news.Store(true)
			return err
		}
	}
	if f.looped {
		f.read.SetDeadline(f.until[0])
		f.write.SetDeadline(f.until[1])
	}
	return nil
}
