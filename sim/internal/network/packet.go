package network

// A datagram travels by UDP between hosts, where it may be lost, overtaken and duplicated, or
// by a Unix socket within a host, where it is not: there the sender waits for room.

import (
	"math"
	"net/netip"
	"syscall"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/sim/internal/moment"
	"github.com/rondo-go/rondo/sim/internal/record"
)

// A packetSocket is a socket of datagrams.
type packetSocket struct {
	endpoint
	queue []*packet
	held  int // bytes in queue, and of a Unix socket those on their way to it
	err   syscall.Errno

	// Of a Unix socket.
	peer    *packetSocket // what it is connected to
	full    *packetSocket // what had no room for the last datagram
	awaited bool          // another socket waits for room in this one
}

// A packet is a datagram on its way, or at its end.
type packet struct {
	moment  moment.Moment
	link    *Way
	from    *packetSocket
	source  driver.Peer
	to      driver.Peer
	unix    *packetSocket // the receiver within a host; nil: by UDP
	bytes   []byte
	refused bool // it is the answer that nobody is there
}

// packetMost is how long a datagram may be.
const packetMost = 65507

func (s *packetSocket) Bind(local driver.Peer, reuse bool) error { return s.bind(s, local, reuse) }

func (s *packetSocket) Arm(want driver.Events, sink driver.Sink) { s.arm(s, want, sink) }

func (s *packetSocket) unix() bool { return s.network == "unixgram" }

func (s *packetSocket) Connect(to driver.Peer) syscall.Errno {
	to = destination(to)
	switch {
	case s.closed:
		return syscall.EBADF
	case s.unix():
		peer, errno := s.named(to.Name)
		if errno != 0 {
			return errno
		}
		s.peer = peer
	case s.stack.reach(to.Addr.Addr()) == nil:
		return syscall.ENETUNREACH
	}
	s.remote = to
	return s.open()
}

// named returns the Unix socket that has a name.
func (s *packetSocket) named(name string) (*packetSocket, syscall.Errno) {
	other := s.stack.names[name]
	if other == nil {
		return nil, syscall.ENOENT
	}
	found, ok := other.(*packetSocket)
	if !ok {
		return nil, syscall.EPROTOTYPE
	}
	return found, 0
}

// open gives the socket an address if it has none.
func (s *packetSocket) open() syscall.Errno {
	if s.unix() || s.local.Addr.IsValid() {
		return 0
	}
	a := s.stack.node.Addr
	if s.remote.Addr.IsValid() && s.remote.Addr.Addr().IsLoopback() {
		a = s.remote.Addr.Addr()
	}
	if err := s.bind(s, driver.Peer{Addr: netip.AddrPortFrom(a, 0)}, false); err != nil {
		return err.(syscall.Errno) // bind has no other errors
	}
	return 0
}

func (s *packetSocket) Listen(int) error { return syscall.EOPNOTSUPP }

func (s *packetSocket) Ended() bool { return false }

func (s *packetSocket) Accept() (driver.Socket, driver.Peer, syscall.Errno) {
	return nil, driver.Peer{}, syscall.EOPNOTSUPP
}

func (s *packetSocket) Receive(p []byte) (int, driver.Peer, syscall.Errno) {
	switch {
	case s.closed:
		return 0, driver.Peer{}, syscall.ECONNABORTED
	case s.err != 0:
		err := s.err
		s.err = 0
		return 0, driver.Peer{}, err
	case len(s.queue) == 0:
		return 0, driver.Peer{}, syscall.EAGAIN
	}
	one := s.queue[0]
	s.queue[0] = nil
	s.queue = s.queue[1:]
	s.held -= len(one.bytes)
	s.hasRoom()
	return copy(p, one.bytes), one.source, 0
}

// Send sends p as one datagram. Like the system's, it does not wait for a receiver by UDP: what
// finds no room there is lost. A Unix socket sends when there is room.
func (s *packetSocket) Send(p []byte, to driver.Peer) (int, syscall.Errno) {
	return s.send(p, to, queueMost)
}

// Give is Send to a Unix socket that has room for any number of datagrams.
func (s *packetSocket) Give(p []byte, to driver.Peer) syscall.Errno {
	_, errno := s.send(p, to, math.MaxInt)
	return errno
}

func (s *packetSocket) Kept() int { return 0 }

// send sends p, if a Unix socket that is to get it holds at most so many bytes then.
func (s *packetSocket) send(p []byte, to driver.Peer, most int) (int, syscall.Errno) {
	to = destination(to)
	peer := s.peer
	if to == (driver.Peer{}) {
		to = s.remote
	} else {
		peer = nil
	}
	switch {
	case s.closed:
		return 0, syscall.ECONNABORTED
	case s.err != 0:
		err := s.err
		s.err = 0
		return 0, err
	case to == (driver.Peer{}):
		return 0, syscall.EDESTADDRREQ
	case len(p) > packetMost && !s.unix(), len(p) > queueMost:
		return 0, syscall.EMSGSIZE
	}
	if s.unix() {
		return s.sendUnix(p, peer, to, most)
	}
	if err := s.open(); err != 0 {
		return 0, err
	}
	own := s.stack.node
	target := s.stack.reach(to.Addr.Addr())
	if target == nil {
		return 0, syscall.ENETUNREACH
	}
	one := packet{
		link: own.net.Between(own, target), from: s, source: s.local, to: to,
		bytes: append([]byte(nil), p...),
	}
	if a := one.source.Addr; a.IsValid() && a.Addr().IsUnspecified() {
		from := own.Addr
		if to.Addr.Addr().IsLoopback() {
			from = to.Addr.Addr()
		}
		one.source.Addr = netip.AddrPortFrom(from, a.Port())
	}
	one.send()
	return len(p), 0
}

// sendUnix sends p to a peer, or to the socket that has the name.
func (s *packetSocket) sendUnix(p []byte, peer *packetSocket, to driver.Peer, most int) (int, syscall.Errno) {
	s.full = nil
	if peer == nil {
		var errno syscall.Errno
		if peer, errno = s.named(to.Name); errno != 0 {
			return 0, errno
		}
	}
	if peer.closed {
		return 0, syscall.ECONNREFUSED
	}
	if len(p) > most-peer.held {
		s.full, peer.awaited = peer, true
		return 0, syscall.EAGAIN
	}
	peer.held += len(p)
	own := s.stack.node
	one := packet{
		link: own.net.Between(own, own), from: s, source: s.local, to: to, unix: peer,
		bytes: append([]byte(nil), p...),
	}
	one.send()
	return len(p), 0
}

// hasRoom tells the sockets that wait for room in s.
func (s *packetSocket) hasRoom() {
	if !s.awaited {
		return
	}
	s.awaited = false
	for _, one := range s.stack.sockets {
		if sender, ok := one.(*packetSocket); ok && sender.full == s {
			sender.full = nil
			sender.report(sender, driver.Writable)
		}
	}
}

// send sends the packet, and perhaps a second one like it.
func (one packet) send() {
	l := one.link
	w := l.from.net
	l.corrupt(one.bytes)
	w.log(record.Sent, l.from, l.to, "packet", len(one.bytes))
	w.trace.Carries(one.bytes)
	if l.lost() {
		w.log(record.Struck, l.from, l.to, "lost", len(one.bytes))
		return
	}
	copies := 1
	p := &w.Profile
	chaos := l.from != l.to && !w.calm
	if chaos && p.Duplicate > 0 && l.faults.Rarely(int(p.Duplicate*1e6)) {
		l.say("came twice")
		copies = 2
	}
	for range copies {
		d := l.delay(len(one.bytes) + 28)
		if chaos && p.Reorder > 0 && l.faults.Rarely(int(p.Reorder*1e6)) {
			l.say("was late, so that others may overtake it")
			d += l.delay(0) + p.Jitter + time.Millisecond
		}
		p := one
		p.moment.What = &p
		if l.held {
			l.packets = append(l.packets, &p.moment)
			continue
		}
		w.in(&p.moment, d)
	}
}

// Happen is called when the packet arrives.
func (p *packet) Happen() {
	l := p.link
	w := l.from.net
	switch {
	case l.held:
		l.packets = append(l.packets, &p.moment)
		return
	case !l.Passes():
		w.log(record.Struck, l.from, l.to, "lost", len(p.bytes))
		return
	case p.refused:
		if s := p.from; !s.closed {
			s.err = syscall.ECONNREFUSED
			s.report(s, driver.Readable|driver.Writable)
		}
		return
	}
	s := p.receiver()
	if s == nil {
		if p.unix == nil && p.from.remote == p.to && !p.from.closed {
			back := &packet{link: l.Back(), from: p.from, refused: true}
			back.moment.What = back
			w.in(&back.moment, l.Back().delay(56))
		}
		return
	}
	w.log(record.Arrived, l.from, l.to, "packet", len(p.bytes))
	if p.unix == nil {
		if s.held+len(p.bytes) > queueMost {
			return
		}
		s.held += len(p.bytes)
	}
	s.queue = append(s.queue, p)
	s.report(s, driver.Readable)
}

// receiver returns the socket that the packet is for, or nil.
func (p *packet) receiver() *packetSocket {
	proc := p.link.to.stack
	if proc == nil || proc.Over {
		return nil
	}
	if p.unix != nil {
		if p.unix.closed {
			return nil
		}
		return p.unix
	}
	s, _ := proc.ports[port{"udp", p.to.Addr.Port()}].(*packetSocket)
	// A connected socket receives from its peer alone.
	if s == nil || s.remote != (driver.Peer{}) && s.remote.Addr != p.source.Addr || !s.takes(p.to.Addr.Addr()) {
		return nil
	}
	return s
}

func (s *packetSocket) Shutdown(driver.Events) error { return syscall.ENOTCONN }

func (s *packetSocket) SetOption(driver.Option, int) {}

func (s *packetSocket) Ready(want driver.Events) bool {
	return s.closed || s.err != 0 || want&driver.Writable != 0 && s.full == nil || want&driver.Readable != 0 && len(s.queue) > 0
}

func (s *packetSocket) Close() {
	s.gone()
	s.hasRoom() // a sender that waits finds out
}

func (s *packetSocket) gone() {
	s.remove()
	s.closed = true
	s.queue = nil
}

// sever is that of socket. A datagram has no connection.
func (s *packetSocket) sever(_, _ *Node) {}
