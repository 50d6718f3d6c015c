// Package fd puts a file descriptor on a loop: a task that has to wait for it
// is suspended, and the rest of the program goes on.
//
// An FD is used in two ways. Tasks of its loop use a non-blocking descriptor
// that only the loop has. All other goroutines use Std, a connection or file of
// the standard library; they block alone, as they would without Rondo. Neither
// depends on the other, so a goroutine that a task waits for can always use the
// connection. Each of the two is opened when it is first needed. They are two
// numbers of one open file, so bytes and options are shared. Deadlines and
// Close are carried from one to the other here.
//
// How tasks wait is in wait.go. What they wait for is a descriptor that the driver
// watches (sys_raw.go), or a socket that the driver itself has (sys_virtual.go). Where
// the driver watches no descriptors, an operation of a task is a call to Std on another
// goroutine (portable.go).
//
// The lock mu is held for a few instructions, never while
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

// A Std is a connection or a file of the standard library: a net.Conn, an
// *os.File.
type Std interface {
	io.ReadWriteCloser
	SetReadDeadline(t time.Time) error
	SetWriteDeadline(t time.Time) error
}

// An FD is one open file, used by the tasks of one loop and by any goroutine.
// Its methods may be called from anywhere, at any time. In a task, those that
// wait suspend the task.
type FD struct {
	// What an operation of a task touches comes first.
	sys      int  // the loop's descriptor, -1: none; changed on the loop, under mu
	released bool // the loop has seen that the FD is closed
	socket   bool // sys is a socket
	partial  bool // a read may end before the available data does
	packets  bool // each write is a packet

	// changed says that something guarded by mu has changed and the loop has
	// not seen it. The loop looks before each operation.
	changed atomic.Bool

	guarded        bool // Guard was called
	retries        bool // nothing reports that sys may send again; see sendBy
	ignoreWritable bool // reports of Writable are ignored; see sendBy

	// These are guarded by mu.
	closed bool
	onLoop bool // the loop has a descriptor or may wait, so it must see changes
	slow   bool // close may block: there is a linger time
	sole   bool // sys is the only descriptor of the open file
	prompt bool // while sole: close does not block

	read  side
	write side
	peer  any // of a connection, for inspection; nil: it is none

	mu      sync.Mutex                 // guards the rest too
	makeStd func(sys int) (Std, error) // from the beginning; nil: extra, with a Std or a driver.Socket, is too
	extra   *extra                     // nil until it is needed; see ensureExtra
}

// extra is what an FD lacks that only tasks use, that nobody forgets to close and
// that has no deadline. There may be very many of those.
type extra struct {
	virtual driver.Socket // in place of a descriptor; nil: none
	std     Std
	until   [2]time.Time // the deadlines, of reading and of writing
	dropped runtime.Cleanup
	visits  *visits // of a socket of the driver
}

// ensureExtra returns f.extra, and makes it if there is none. The caller holds mu,
// or nobody else has f yet.
func (f *FD) ensureExtra() *extra {
	if f.extra == nil {
		f.extra = new(extra)
	}
	return f.extra
}

// std returns the connection of the standard library, if it is open. The caller
// holds mu.
func (f *FD) std() Std {
	if f.extra == nil {
		return nil
	}
	return f.extra.std
}

// errUnsupported is errors.ErrUnsupported with a message that names the cure.
var errUnsupported error = unsupported{}

type unsupported struct{}

func (unsupported) Error() string {
	return "this loop is a simulation, which has no file descriptors; use socket.Pipe there, or rondo.Run"
}

func (unsupported) Is(err error) bool { return err == errors.ErrUnsupported }

// Adopt returns an FD of std. The loop's descriptor is opened when a task first
// uses it.
func Adopt(loop kernel.Loop, std Std) *FD {
	f := &FD{extra: &extra{std: std}, sys: -1}
	f.begin(loop)
	f.changed.Store(true)
	return f
}

func (f *FD) begin(loop kernel.Loop) {
	f.read.begin(loop, f, driver.Readable)
	f.write.begin(loop, f, driver.Writable)
	f.partial = !ShortIsAll
}

// A side is a Side of an FD.
//
// ready means that the next system call may have something to do. It is cleared
// when the kernel says EAGAIN, or when a read returned less than it asked for,
// and it is set by the driver's next report.
type side struct {
	Side
	fd           *FD
	want         driver.Events
	ready        bool
	reported     bool // the driver has said so since the last read
	armed        bool
	unsure       bool // a read that returned less than it asked for may have left data
	hungUp       bool // the driver has reported a hang-up
	moved        bool // bytes were moved since Activity was called
	interruption      // of Std; see portable.go
}

func (s *side) begin(loop kernel.Loop, f *FD, want driver.Events) {
	s.Begin(loop, true)
	s.fd, s.want, s.ready = f, want, true
}

// enter begins an operation. It fails if the operation must not be tried.
func (s *side) enter(t kernel.Task) error {
	if err := s.check(); err != nil {
		return err
	}
	return s.Enter(t)
}

// check fails if an operation must not be tried again.
func (s *side) check() error {
	f := s.fd
	if f.changed.Load() {
		if err := f.sync(); err != nil {
			return err
		}
	}
	if f.released {
		return net.ErrClosed
	}
	return s.Check()
}

// Connected says that f is a connection, with a peer that inspection shows for a
// waiting task. The loop counts it from now on until it is closed. It is called once,
// before any other goroutine has f.
func (f *FD) Connected(peer net.Addr) {
	f.peer = peer
	f.read.loop.AddConns(1)
	if f.read.waiter != nil {
		f.read.waiter.Name(peer)
	}
}

// Loop returns the loop whose tasks are suspended.
func (f *FD) Loop() kernel.Loop { return f.read.loop }

// Task returns the calling task, or nil if the caller is no task of the loop
// and has to use Std. It panics in a callback, which must not wait; the message
// names call.
func (f *FD) Task(call string) kernel.Task { return TaskOf(f.read.loop, call) }

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

// Read reads the available data into p, and waits while there is none. Several
// readers are served in the order in which they came. At the end of the stream
// it returns io.EOF, past the deadline os.ErrDeadlineExceeded, after Close
// net.ErrClosed, and the cause if the task's scope is cancelled. Data that has
// arrived when a wait is cancelled is returned.
func (f *FD) Read(p []byte) (int, error) {
	t := f.Task("Read")
	if t == nil {
		return f.readForeign(p)
	}
	return f.readTask(t, p)
}

func (f *FD) readForeign(p []byte) (n int, err error) {
	if f.visited() {
		if n, done, err := f.readVisit(p); done {
			return n, err
		}
	}
	err = f.Foreign(driver.Readable, func(std Std) (err error) {
		n, err = std.Read(p)
		return f.endOfReads(n, err)
	})
	return n, err
}

// Write writes all of p, and waits whenever the peer does not take more.
// Concurrent writes, of tasks and of goroutines, are not mixed. Its errors are
// those of Read except io.EOF. With an error, the number of bytes written is
// right.
func (f *FD) Write(p []byte) (int, error) {
	t := f.Task("Write")
	if t == nil {
		return f.writeForeign(p)
	}
	if err := f.write.Take(t); err != nil {
		return 0, err
	}
	defer f.releaseWrite()
	return f.writeTask(t, p)
}

// releaseWrite is not inlined, because its variables would be on the deepest stack of
// a task that answers (TestStackOfReader in package socket).
//
//go:noinline
func (f *FD) releaseWrite() { f.write.Release() }

// Foreign runs op on Std, for a goroutine that is no task of the loop. It runs
// op again if op failed only because a task interrupted it.
func (f *FD) Foreign(which driver.Events, op func(std Std) error) error {
	std, err := f.Std()
	if err != nil {
		return err
	}
	s := f.side(which)
	for {
		interrupts := s.interrupts()
		err := op(std)
		if err == nil || !s.wasInterrupted(interrupts, err) {
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

// Std returns the connection of the standard library, opened at the first call.
// Close closes it; nobody else may.
func (f *FD) Std() (Std, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, net.ErrClosed
	}
	if std := f.std(); std != nil {
		return std, nil
	}
	if f.makeStd == nil {
		return nil, errForeign
	}
	f.sole = false
	std, err := f.makeStd(f.sys)
	if err != nil {
		return nil, err
	}
	for i, set := range []func(time.Time) error{std.SetReadDeadline, std.SetWriteDeadline} {
		if t := f.deadline(i); !t.IsZero() {
			if err := set(t); err != nil {
				std.Close()
				return nil, err
			}
		}
	}
	f.ensureExtra().std = std
	return std, nil
}

// rawOf returns access to the descriptor of std.
func rawOf(std Std) (syscall.RawConn, error) {
	if conn, ok := std.(syscall.Conn); ok {
		return conn.SyscallConn()
	}
	return nil, errUnsupported
}

// SetDeadline sets the time after which operations in the given directions
// fail, those that are waiting included. The zero time means none.
func (f *FD) SetDeadline(which driver.Events, t time.Time) error {
	if f.visited() {
		if done, err := f.setDeadlineVisit(which, t); done {
			return err
		}
	}
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return net.ErrClosed
	}
	err := f.noteDeadline(which, t)
	onLoop := f.onLoop
	f.mu.Unlock()
	if err != nil || !onLoop {
		return err
	}
	if f.read.loop.Inside() {
		f.moveDeadline(which, t)
		return nil
	}
	f.changed.Store(true)
	// If the loop has ended, no task waits.
	_ = f.read.loop.Post(func() { _ = f.sync() })
	return nil
}

// noteDeadline stores the deadline and sets it on Std. The caller holds mu.
func (f *FD) noteDeadline(which driver.Events, t time.Time) error {
	x := f.ensureExtra()
	if which&driver.Readable != 0 {
		x.until[0] = t
		if x.std != nil && !f.read.isInterrupted() {
			if err := x.std.SetReadDeadline(t); err != nil {
				return err
			}
		}
	}
	if which&driver.Writable != 0 {
		x.until[1] = t
		if x.std != nil && !f.write.isInterrupted() {
			return x.std.SetWriteDeadline(t)
		}
	}
	return nil
}

// deadline returns the deadline of reading, with 0, or of writing. The caller
// holds mu.
func (f *FD) deadline(which int) time.Time {
	if f.extra == nil {
		return time.Time{}
	}
	return f.extra.until[which]
}

// moveDeadline sets the deadline of the tasks.
func (f *FD) moveDeadline(which driver.Events, t time.Time) {
	if which&driver.Readable != 0 {
		f.read.SetDeadline(t)
	}
	if which&driver.Writable != 0 {
		f.write.SetDeadline(t)
	}
}

// sync copies what other goroutines have changed to the loop's side, after it has
// done what they have put off (visit.go). It runs on the loop. It fails if the FD
// is closed or its descriptor cannot be opened.
func (f *FD) sync() error {
	virtual := f.Virtual() != nil
	if virtual {
		f.settle(nil)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changed.Store(virtual && len(f.extra.visits.left) > 0)
	if f.closed {
		f.released = true
		return net.ErrClosed
	}
	if !f.onLoop {
		if err := f.open(); err != nil {
			f.changed.Store(true)
			return err
		}
	}
	if f.onLoop {
		f.read.SetDeadline(f.deadline(0))
		f.write.SetDeadline(f.deadline(1))
	}
	return nil
}
