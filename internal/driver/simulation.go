package driver

import (
	"context"
	"math"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
)

// Simulation is the seam to a simulated world. A real loop leaves some things to chance,
// such as the order in which goroutines hand things in; a simulated world decides them,
// so that they can be repeated. And it gives a simulated host what a real program asks of
// the system.

// Outside is Forever for a simulated loop for which goroutines work: one of them
// will call Wake. Until then simulated time must not pass.
const Outside int64 = math.MaxInt64 - 1

// Posted is an instant that has passed. The loop of a simulation has nothing to do but what
// goroutines have handed in.
const Posted int64 = -2

// Line is the number, in place of that of a task, of a callback that Post or CallSoon has
// queued. Those run in the order of the calls, whichever place in the queue comes first.
const Line = math.MaxUint64

// Compared is how many simulations there are now that are compared with another run of the same
// seed. Only these look at what is put into a Queue.
var Compared atomic.Int32

// A Simulation is what a simulated world decides for a loop. Its loops have no
// descriptors.
type Simulation interface {
	// Choose is called before each step of the loop. It chooses which of n ready tasks
	// and callbacks is next (0 <= i < n), and whether that runs now. id returns the
	// number of the task at a position; for a callback it is Line or 0.
	//
	// Until is called after a Choose whose choice does not run. It returns until when
	// that is put off: an instant that has passed means the next turn.
	Choose(n int, id func(i int) uint64) (i int, runs bool)
	Until() int64

	// Punctual reports whether nothing is put off any more. Then what was put off until
	// a time runs at once.
	Punctual() bool

	// DrawsShares reports whether a task may have to give the others a turn at any of its
	// operations. If not, it does after pace.Operations of them, and EndsShare is not called.
	//
	// EndsShare is called before an operation of the running task, of which it gets the
	// number. It reports whether the others have a turn first.
	DrawsShares() bool
	EndsShare(task uint64) bool

	// Refused is called for each wait that fails at once, because its ctx is
	// cancelled. It may panic.
	Refused()

	// Alone reports whether no goroutine and no other loop can wake this one
	// through what it has handed out, such as a Future.
	Alone() bool

	// Awaits reports whether the loop is in no deadlock although nothing known can
	// wake it: a task waits until somebody ends the loop, as a host is crashed.
	Awaits() bool

	// Settles reports whether the goroutines around the loop are simulated together with
	// it, so that simulated time may pass while they work for it.
	Settles() bool

	// Prompt reports whether the loop takes what goroutines hand in at its next turn, also if
	// it is busy.
	Prompt() bool

	// Within reports whether the caller is a part of the simulation that the loop is in:
	// a task or a callback of it, or of another loop of it. Any goroutine may ask.
	Within() bool

	// Offload runs fn on a goroutine when the world chooses, and calls back when fn has
	// ended. user is the function of the program that fn calls. It reports whether the
	// world does that; if not, the caller does.
	Offload(user uintptr, fn, back func()) bool

	// HandsOver is called with what is put into a Queue, while Compared is not 0. It must not
	// keep v.
	HandsOver(v any)

	// Host returns the host of a simulated cluster on which the loop runs, or nil if
	// there is no cluster.
	Host() Host
}

// A Host has what a loop of a simulated cluster uses in place of the system: a network,
// signals, further loops. Its methods but Run never suspend and may be called only on the loop.
// What waits, and the rules of deadlines, cancellation and Close, are above the seam and
// the same as for the system's sockets (package internal/fd).
type Host interface {
	// Socket returns a new socket of a network as package net names it: "tcp",
	// "udp", "unix", "unixpacket" or "unixgram".
	Socket(network string) (Socket, error)

	// Resolve returns the addresses of a host's name. Its errors are those of
	// net.Resolver.
	Resolve(host string) ([]netip.Addr, error)

	// Notify makes came be called on the loop, inside Poll, for each of the
	// signals that comes. It must not wait. stop ends it, and may be called again.
	// A signal for which there is no Notify has its default effect.
	Notify(came func(s os.Signal), sigs ...os.Signal) (stop func())

	// Adopt makes a socket of another loop of the host one of this loop. No loop has armed
	// it.
	Adopt(s Socket)

	// RunBeside begins a further loop of the program, with that name, that runs main, and
	// returns at once. An error of main fails the test. ended is called when the loop has
	// ended, which it may without having run main if the host is down.
	RunBeside(name string, main func(ctx context.Context) error, ended func())

	// Step is called before what a task or a callback does to something that several
	// loops share. It lets other loops go first, if the world chooses that.
	Step()

	// Run runs an errand of a goroutine that is no task of the loop, and waits for its end
	// unless nobody is to. It fails if the program of the goroutine has ended. done is false
	// if goroutines have no part in the simulation. Any goroutine may call it.
	Run(e Errand) (done bool, err error)
}

// An Errand is what a goroutine around a simulated host does with the host's network. Do is
// called in a task of the loop. If the caller does not wait, Do does not either, and may be called
// twice: the second call does nothing.
type Errand struct {
	On    Socket // nil: none yet
	At    string // what is opened
	Kind  ErrandKind
	Later bool // the caller does not wait
	Do    func(ctx context.Context)
}

// An ErrandKind says in which order the errands of one socket run: the first kind goes first.
type ErrandKind uint8

const (
	Sets  ErrandKind = iota // a deadline, an option
	Takes                   // Read, Accept
	Gives                   // Write, Close
	Opens                   // Dial, Listen
)

// HostOf returns the host on which the loop of a driver runs, or nil if it is the system.
func HostOf(d Driver) Host {
	if s := d.Simulation(); s != nil {
		return s.Host()
	}
	return nil
}

// A Socket is a socket that never blocks: an operation that would have to wait
// fails with syscall.EAGAIN. All methods but Kept are called on the loop.
type Socket interface {
	// Bind gives the socket an address: bind(2). Port 0 means any. reuse lets
	// several sockets have it that all say so.
	Bind(local Peer, reuse bool) error

	// Listen makes it accept connections. backlog 0 means the system's limit.
	Listen(backlog int) error

	// Accept returns the next connection and its peer.
	Accept() (Socket, Peer, syscall.Errno)

	// Connect connects it. It returns EAGAIN while that is under way, and is then
	// called again after a report. A Unix socket connects at once: of it, EAGAIN says
	// that the listener's queue is full.
	Connect(to Peer) syscall.Errno

	// Receive reads available data, or one datagram. 0 bytes of a stream are its
	// end.
	Receive(p []byte) (n int, from Peer, errno syscall.Errno)

	// Send takes a part of p, or one datagram. The zero Peer is the one that the
	// socket is connected to.
	Send(p []byte, to Peer) (n int, errno syscall.Errno)

	// Give is Send of all of p: the socket keeps what there is no room for, and sends it
	// before anything else. It never fails with EAGAIN.
	Give(p []byte, to Peer) syscall.Errno

	// Kept returns how many bytes the socket keeps. Any goroutine may call it.
	Kept() int

	// Shutdown ends one direction: shutdown(2).
	Shutdown(which Events) error

	// SetOption sets an option; one that means nothing here is ignored.
	SetOption(o Option, value int)

	// Addrs returns the addresses of both ends.
	Addrs() (local, remote Peer)

	// Arm and Disarm are those of a Poller. Arm never fails.
	Arm(want Events, s Sink)
	Disarm(which Events)

	// Ready reports whether an operation in the direction would not wait. With HangUp
	// it reports whether the stream is at its end, or broken.
	Ready(want Events) bool

	// Short reports whether a Receive that returns less than was asked for has
	// emptied the socket, unless HangUp or Urgent was reported.
	Short() bool

	// Ended reports whether a Receive of a stream would find its end, or an error, and
	// not data.
	Ended() bool

	// Close closes it.
	Close()
}

// An Option is an option of a Socket.
type Option uint8

// The options of a Socket. Linger is in seconds, negative for none; the buffers are
// in bytes.
const (
	Linger Option = iota
	ReadBuffer
	WriteBuffer
)

// A Peer is the address of an end of a socket: of UDP or TCP, or the name of a
// Unix socket, empty if it has none. An abstract name begins with @.
type Peer struct {
	Addr netip.AddrPort
	Zone uint32 // the interface of a link-local address that Addr does not name
	Name string
}
