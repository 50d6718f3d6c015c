package network

// A stream is a TCP or Unix stream socket as a program sees it; flow.go moves its bytes. TCP
// is simulated at the level of what an application can notice: order, delays, full buffers,
// ends of one direction, resets, and attempts that are given up after a long time.

import (
	"net/netip"
	"syscall"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/sim/internal/choice"
	"github.com/rondo-go/rondo/sim/internal/moment"
	"github.com/rondo-go/rondo/sim/internal/record"
)

// A phase is how far the life of a stream has come.
type phase uint8

const (
	fresh phase = iota
	listening
	connecting
	established
	finished // both directions are over, or it was reset
)

// What TCP does when there is no answer, as Linux does by default.
const (
	connectTries = 6           // how often a connection is asked for again
	sendTries    = 16          // how often data is not answered: it is sent, and 15 times again
	retryFirst   = time.Second // before a connection is asked for again; then twice as long each time
	resendFirst  = 200 * time.Millisecond
	resendMost   = 2 * time.Minute
	keepAlive    = 15 * time.Second // between two probes of a peer that has vanished
	keepTries    = 9
	backlogMost  = 4096
)

// A streamSocket is one end of a connection, or a listener.
type streamSocket struct {
	endpoint
	phase      phase
	err        syscall.Errno // what the next operation returns, once
	remoteNode *Node
	peer       *streamSocket // the other end
	in, out    *flow
	readShut   bool // by Shutdown
	writeShut  bool
	abort      bool // Close resets: linger 0

	// Of a listener: those that can be accepted, and how many are to come.
	queue   []*streamSocket
	coming  int
	backlog int

	// Of a connection that is being made, and of one whose peer has vanished.
	moment moment.Moment
	tries  int
	asked  bool // the request has arrived, the answer is on its way
	kept   bool // on a way that is held
}

func newStream(l *Loop, network string) *streamSocket {
	return &streamSocket{endpoint: endpoint{stack: l.stack, loop: l, network: network}}
}

func (s *streamSocket) unix() bool { return s.network != "tcp" }

// packet reports whether each Send is a packet of its own, which a Receive takes whole.
func (s *streamSocket) packet() bool { return s.network == "unixpacket" }

func (s *streamSocket) Bind(local driver.Peer, reuse bool) error { return s.bind(s, local, reuse) }

func (s *streamSocket) Arm(want driver.Events, sink driver.Sink) { s.arm(s, want, sink) }

func (s *streamSocket) Listen(backlog int) error {
	if s.closed {
		return syscall.EBADF
	}
	s.phase = listening
	if s.backlog = backlog; backlog <= 0 {
		s.backlog = backlogMost
	}
	return nil
}

func (s *streamSocket) Accept() (driver.Socket, driver.Peer, syscall.Errno) {
	if s.closed || s.phase != listening {
		return nil, driver.Peer{}, syscall.EINVAL
	}
	if len(s.queue) == 0 {
		return nil, driver.Peer{}, syscall.EAGAIN
	}
	if s.stack.full() {
		return nil, driver.Peer{}, syscall.EMFILE
	}
	c := s.queue[0]
	s.queue = s.queue[1:]
	c.stack.register(c)
	return c, c.remote, 0
}

// Connect asks for a connection, or returns how that went.
func (s *streamSocket) Connect(to driver.Peer) syscall.Errno {
	switch {
	case s.closed:
		return syscall.EBADF
	case s.err != 0:
		return s.takeErr()
	case s.phase == established:
		return 0
	case s.phase == connecting:
		return syscall.EAGAIN
	case s.phase != fresh:
		return syscall.EISCONN
	}
	p := s.stack
	s.remote, s.phase = destination(to), connecting
	s.moment.What = s
	if s.unix() {
		return s.connectUnix()
	}
	a := s.remote.Addr.Addr()
	if s.remoteNode = p.reach(a); s.remoteNode == nil {
		return syscall.EHOSTUNREACH
	}
	own := p.node.Addr
	if a.IsLoopback() {
		own = a
	}
	n := s.local.Addr.Port()
	if n == 0 {
		n = p.freePort("tcp")
	}
	if n == 0 {
		return syscall.EADDRNOTAVAIL
	}
	s.local.Addr = netip.AddrPortFrom(own, n)
	s.ask()
	return syscall.EAGAIN
}

// link returns the way to the peer.
func (s *streamSocket) link() *Way { return s.stack.net.Between(s.stack.node, s.remoteNode) }

// ask sends the request for a connection.
func (s *streamSocket) ask() {
	w := s.stack.net
	w.log(record.Sent, s.stack.node, s.remoteNode, "connect", s.tries)
	w.in(&s.moment, s.link().delay(60))
}

// Happen is called when a request for a connection or its answer arrives, and when a
// peer that has vanished is probed.
func (s *streamSocket) Happen() {
	switch {
	case s.closed:
	case s.phase == established:
		s.probe()
	case s.asked:
		s.answered()
	default:
		s.arrive()
	}
}

// arrive is called when the request arrives.
func (s *streamSocket) arrive() {
	w, l := s.stack.net, s.link()
	kept := s.kept && !l.held && !l.Back().held // until now: this is no moment at which s gives up
	s.kept = false
	if s.tries > connectTries && !kept {
		s.err, s.phase = syscall.ETIMEDOUT, finished
		s.report(s, driver.Writable|driver.Readable|driver.HangUp)
		return
	}
	if !l.Passes() || !l.Back().Passes() || s.waits(l) || l.lost() {
		s.askAgain()
		return
	}
	s.asked = true
	w.in(&s.moment, l.Back().delay(60))
	at := s.listener()
	switch {
	case at == nil:
		s.err = syscall.ECONNREFUSED
	case len(at.queue)+at.coming >= at.backlog:
		s.asked = false
		s.askAgain()
	default:
		s.join(at)
	}
}

// waits reports whether a way is held. Then the attempt goes on when it is released, unless it is
// repeated before.
func (s *streamSocket) waits(l *Way) bool {
	if l.held {
		l.waiting, s.kept = append(l.waiting, &s.moment), true
	}
	return l.held
}

// askAgain asks later. When the last attempt has had its time, arrive gives up.
func (s *streamSocket) askAgain() {
	s.tries++
	s.stack.net.in(&s.moment, retryFirst<<(s.tries-1))
}

// listener returns the socket that accepts what s asks for, or nil.
func (s *streamSocket) listener() *streamSocket {
	p := s.remoteNode.stack
	if p == nil || p.Over {
		return nil
	}
	at, _ := p.ports[port{"tcp", s.remote.Addr.Port()}].(*streamSocket)
	if at != nil && at.shared {
		// As in a system, which of them gets a connection depends on where that is from.
		all := p.sharers(port{"tcp", s.remote.Addr.Port()})
		at, _ = all[choice.Mix(uint64(s.local.Addr.Port()))%uint64(len(all))].(*streamSocket)
	}
	if at == nil || at.phase != listening || !at.takes(s.remote.Addr.Addr()) {
		return nil
	}
	return at
}

// join makes the other end at a listener. It can be accepted when the first message
// arrives there.
func (s *streamSocket) join(at *streamSocket) {
	c := newStream(at.loop, s.network)
	c.local, c.remote, c.remoteNode, c.phase = s.remote, s.local, s.stack.node, established
	c.moment.What = c
	s.peer, c.peer = c, s
	s.out = newFlow(s, c)
	c.out = newFlow(c, s)
	s.in, c.in = c.out, s.out
	at.coming++
	s.out.opens = at
}

// part undoes join, because the answer is lost.
func (s *streamSocket) part() {
	s.asked, s.err = false, 0
	if s.peer != nil {
		s.stop()
		s.peer, s.in, s.out = nil, nil, nil
	}
}

// answered is called when the answer to the request arrives.
func (s *streamSocket) answered() {
	if back := s.link().Back(); !back.Passes() || s.waits(back) {
		s.part()
		s.askAgain()
		return
	}
	if s.err != 0 {
		s.phase = finished
		s.report(s, driver.Writable|driver.Readable|driver.HangUp)
		return
	}
	s.phase = established
	s.tries = 0
	s.out.push(0, opening)
	s.report(s, driver.Writable)
}

// connectUnix connects within the host, at once.
func (s *streamSocket) connectUnix() syscall.Errno {
	at, _ := s.stack.names[s.remote.Name].(*streamSocket)
	s.remoteNode = s.stack.node
	s.phase = finished
	switch {
	case s.stack.names[s.remote.Name] == nil:
		return syscall.ENOENT
	case at == nil || at.network != s.network:
		return syscall.EPROTOTYPE
	case at.phase != listening:
		return syscall.ECONNREFUSED
	case len(at.queue)+at.coming >= at.backlog:
		s.phase = fresh
		return syscall.EAGAIN
	}
	s.join(at)
	s.phase = established
	s.out.push(0, opening)
	return 0
}

// takeErr returns the error that was noted, once.
func (s *streamSocket) takeErr() syscall.Errno {
	err := s.err
	s.err = 0
	return err
}

// Receive returns what has arrived, then an error, then the end of the stream. By TCP an end that
// has arrived comes before the error of a reset, and a packet after any error.
func (s *streamSocket) Receive(p []byte) (int, driver.Peer, syscall.Errno) {
	switch {
	case s.closed:
		return 0, s.remote, syscall.ECONNABORTED
	case s.packet() && s.err != 0:
		return 0, s.remote, s.takeErr()
	case s.in != nil && s.in.unread(): // also after Shutdown, as on Linux
		if len(p) == 0 {
			return 0, s.remote, 0
		}
		if !s.packet() {
			p = p[:s.short(min(len(p), s.in.arrived))]
		}
		return s.in.take(p), s.remote, 0
	case s.err != 0 && (s.unix() || s.in == nil || !s.in.over):
		return 0, s.remote, s.takeErr()
	case s.readShut || s.in != nil && s.in.over || s.phase == finished:
		return 0, s.remote, 0
	case s.phase != established:
		return 0, s.remote, syscall.ENOTCONN
	}
	return 0, s.remote, syscall.EAGAIN
}

// Send takes as much of p as there is room for.
func (s *streamSocket) Send(p []byte, _ driver.Peer) (int, syscall.Errno) {
	errno := s.refuses()
	switch {
	case errno != 0:
		return 0, errno
	case s.packet():
		return s.sendPacket(p)
	case len(p) == 0:
		return 0, 0
	}
	n := min(len(p), s.out.room())
	if n == 0 {
		s.out.blocked = true
		return 0, syscall.EAGAIN
	}
	n = s.short(n)
	s.out.send(p[:n])
	return n, 0
}

// sendPacket sends all of p or nothing. A packet may be longer than the buffer if that is empty.
func (s *streamSocket) sendPacket(p []byte) (int, syscall.Errno) {
	switch {
	case len(p) > queueMost:
		return 0, syscall.EMSGSIZE
	case len(p) > s.out.room() && s.out.pending() > 0:
		s.out.blocked = true
		return 0, syscall.EAGAIN
	}
	s.out.send(p)
	return len(p), 0
}

// refuses returns why nothing can be sent any more, or 0.
func (s *streamSocket) refuses() syscall.Errno {
	switch {
	case s.closed:
		return syscall.ECONNABORTED
	case s.network == "unix" && s.unheard():
		return syscall.EPIPE // nothing has to come back first
	case s.err != 0:
		return s.takeErr()
	case s.phase == finished || s.writeShut || s.unix() && s.unheard():
		return syscall.EPIPE
	case s.phase != established:
		return syscall.ENOTCONN
	}
	return 0
}

// unheard reports whether a peer within the host reads nothing more.
func (s *streamSocket) unheard() bool { return s.peer != nil && (s.peer.closed || s.peer.readShut) }

// Give sends what there is room for, and keeps the rest. Of a packet there is no rest, so it goes
// beyond the buffer.
func (s *streamSocket) Give(p []byte, _ driver.Peer) syscall.Errno {
	errno := s.refuses()
	switch {
	case errno != 0:
	case s.packet() && len(p) > queueMost:
		return syscall.EMSGSIZE
	case s.packet():
		s.out.send(p)
	case len(p) > 0:
		s.out.give(p)
	}
	return errno
}

func (s *streamSocket) Kept() int {
	if s.out == nil {
		return 0
	}
	return int(s.out.keeps.Load())
}

func (s *streamSocket) Ready(want driver.Events) bool {
	if want == driver.HangUp && s.in != nil && (s.in.unread() || !s.in.over && s.err == 0 && s.phase != finished) {
		return false
	}
	if s.closed || s.err != 0 || s.phase == finished || want == driver.HangUp {
		return true
	}
	if want&driver.Readable != 0 {
		return len(s.queue) > 0 || s.readShut || s.in != nil && (s.in.unread() || s.in.over)
	}
	return s.phase == established && (s.writeShut || s.out.room() > 0)
}

func (s *streamSocket) Ended() bool {
	return s.Ready(driver.Readable) && (s.in == nil || !s.in.unread()) && len(s.queue) == 0
}

func (s *streamSocket) Shutdown(which driver.Events) error {
	switch {
	case s.unix() && s.phase == finished:
		return nil
	case s.phase != established, !s.unix() && s.writeShut && s.in.over:
		return syscall.ENOTCONN
	}
	if which == driver.Readable {
		s.readShut = true
		s.report(s, driver.Readable|driver.HangUp)
		return nil
	}
	if !s.writeShut {
		s.endWrites()
	}
	return nil
}

// endWrites sends the end of the stream, after what is kept.
func (s *streamSocket) endWrites() {
	s.writeShut = true
	if len(s.out.kept) == 0 {
		s.out.push(0, closing)
	}
}

func (s *streamSocket) SetOption(o driver.Option, value int) {
	switch o {
	case driver.Linger:
		s.abort = value == 0 && !s.unix()
	case driver.WriteBuffer:
		if s.out != nil {
			s.out.size = max(1<<10, value)
		}
	case driver.ReadBuffer:
		if s.in != nil {
			s.in.size = max(1<<10, value)
		}
	}
}
