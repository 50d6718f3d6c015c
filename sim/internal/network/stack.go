package network

import (
	"net/netip"
	"syscall"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/sim/internal/choice"
)

// A socket is a driver.Socket of a program.
type socket interface {
	driver.Socket

	// sever breaks a connection between two hosts.
	sever(a, b *Node)

	// base returns what all sockets have.
	base() *endpoint

	// gone is called when the host has lost power: the socket ends, and no peer is sent
	// anything.
	gone()
}

// A port is where a host is reached.
type port struct {
	network string // "tcp" or "udp"
	number  uint16
}

// queueMost is how many bytes of packets a socket holds, and how long one of a Unix socket may be,
// as on Linux by default.
const queueMost = 208 << 10

// firstPort is the first of the ports that a system chooses from.
const firstPort = 32768

// A Node is a host as the network sees it.
type Node struct {
	net     *Net
	Number  uint64
	Addr    netip.Addr
	Up      bool   // the machine answers
	Outages int    // how often it has lost power
	stack   *Stack // of the last boot; nil before the first
	loop    *Way   // from the host to itself

	NoDescriptors  bool // no socket can be opened or accepted: EMFILE
	MaxDescriptors int  // how many sockets a program may have; 0: any number
	Names          Names
}

// Names says what a host gets that asks for the address of a name.
type Names uint8

// What a host may get.
const (
	TrueNames  Names = iota
	NoNames          // an error
	WrongNames       // the address of the next host
)

// full reports whether a program may open no socket more.
func (p *Stack) full() bool {
	h := p.node
	return h.NoDescriptors || h.MaxDescriptors > 0 && len(p.sockets) >= h.MaxDescriptors
}

// Add adds a host, with a number from 1 on that no other host has.
func (w *Net) Add(number uint64, name string) *Node {
	h := &Node{
		net: w, Number: number, Up: true,
		Addr: netip.AddrFrom4([4]byte{10, byte(number >> 16), byte(number >> 8), byte(number)}),
	}
	h.loop = &Way{net: w, from: h, to: h}
	w.ways = append(w.ways, h.loop)
	w.byName[name], w.byAddr[h.Addr] = h, h
	return h
}

// Named returns the host with a name, or nil.
func (w *Net) Named(name string) *Node { return w.byName[name] }

// A Stack is what the system of a host has of the network for one program. It begins with a
// boot and ends with it.
type Stack struct {
	net      *Net
	node     *Node
	outages  int  // how often the host had lost power before
	Over     bool // the program was killed, or has ended
	sockets  []socket
	serials  uint64 // how many there have been
	ports    map[port]socket
	names    map[string]socket // of Unix sockets
	nextPort uint16
}

// Boot gives the host a new stack.
func (h *Node) Boot() *Stack {
	h.stack = &Stack{
		net: h.net, node: h, outages: h.Outages,
		ports: make(map[port]socket), names: make(map[string]socket), nextPort: firstPort,
	}
	return h.stack
}

// A Loop is what a loop of the program has of the stack: the sockets that report to it.
type Loop struct {
	stack   *Stack
	ready   func()   // is called when a socket has something to report
	reports []socket // those with something to report
}

// Loop returns the part of a further loop of the program.
func (p *Stack) Loop(ready func()) *Loop { return &Loop{stack: p, ready: ready} }

// Adopt makes a socket report to l from now on. No loop has armed it.
func (l *Loop) Adopt(s driver.Socket) { s.(socket).base().loop = l }

// register adds a socket to the stack.
func (p *Stack) register(s socket) {
	p.sockets = append(p.sockets, s)
	s.base().place = len(p.sockets)
	p.serials++
	s.base().serial = p.serials
}

// Serial returns the number of a socket of a stack: which one it is of all of its program.
func Serial(s driver.Socket) uint64 { return s.(socket).base().serial }

// sharers returns the sockets that share a port.
func (p *Stack) sharers(at port) (all []socket) {
	for _, s := range p.sockets {
		if o := s.base(); o.shared && o.local.Addr.IsValid() && (port{portsOf(o.network), o.local.Addr.Port()}) == at {
			all = append(all, s)
		}
	}
	return all
}

// HangUp ends the waits of a program that is killed.
func (p *Stack) HangUp() {
	for _, s := range p.sockets {
		s.base().report(s, driver.Readable|driver.Writable|driver.HangUp)
	}
}

// CloseAll closes all sockets, as the system does at the end of a program.
func (p *Stack) CloseAll() {
	for len(p.sockets) > 0 {
		p.sockets[len(p.sockets)-1].Close()
	}
}

// DropAll closes all sockets, and sends nothing to their peers.
func (p *Stack) DropAll() {
	for len(p.sockets) > 0 {
		p.sockets[len(p.sockets)-1].gone()
	}
}

// freePort returns a port that nobody has, or 0 if there is none.
func (p *Stack) freePort(network string) uint16 {
	for range 1<<16 - firstPort {
		n := p.nextPort
		p.nextPort = max(p.nextPort+1, firstPort)
		if p.ports[port{network, n}] == nil {
			return n
		}
	}
	return 0
}

// reach returns the host at an address, or nil.
func (p *Stack) reach(a netip.Addr) *Node {
	if a.IsLoopback() {
		return p.node
	}
	return p.net.byAddr[a]
}

// Deliver calls the sinks of all sockets that have something to report. It reports
// whether there were any.
func (l *Loop) Deliver() bool {
	if len(l.reports) == 0 {
		return false
	}
	reports := l.reports
	l.reports = nil
	for _, s := range reports {
		e := s.base()
		e.queued = false
		ev := e.pending
		e.pending &^= e.armed
		for i, one := range [2]driver.Events{driver.Readable, driver.Writable} {
			if e.armed&one != 0 && ev&(one|driver.HangUp) != 0 && e.sinks[i] != nil {
				e.sinks[i].Ready(ev & (one | driver.HangUp))
			}
		}
	}
	if l.reports == nil {
		clear(reports)
		l.reports = reports[:0]
	}
	return true
}

// An endpoint is the part that all sockets have.
type endpoint struct {
	stack   *Stack
	loop    *Loop
	network string
	local   driver.Peer
	remote  driver.Peer
	place   int // in stack.sockets, plus one
	serial  uint64
	armed   driver.Events
	pending driver.Events // what was not reported yet
	queued  bool          // it is in stack.reports
	sinks   [2]driver.Sink
	closed  bool
	cuts    *choice.Source // of short reads and writes
	shared  bool           // ReusePort
}

func (e *endpoint) base() *endpoint { return e }

// remove takes a socket off, with its port or name.
func (e *endpoint) remove() {
	p := e.stack
	if e.place == 0 {
		return
	}
	last := p.sockets[len(p.sockets)-1]
	p.sockets[e.place-1] = last
	last.base().place = e.place
	p.sockets = p.sockets[:len(p.sockets)-1]
	e.place = 0
	if at := (port{portsOf(e.network), e.local.Addr.Port()}); e.local.Addr.IsValid() && p.ports[at] != nil && p.ports[at].base() == e {
		delete(p.ports, at)
		if e.shared {
			for _, other := range p.sharers(at) {
				p.ports[at] = other
			}
		}
	}
	if s := p.names[e.local.Name]; s != nil && s.base() == e {
		delete(p.names, e.local.Name)
	}
}

// portsOf returns which table of ports a network uses.
func portsOf(network string) string {
	if network == "udp" {
		return "udp"
	}
	return "tcp"
}

// bind gives a socket its address.
func (e *endpoint) bind(s socket, local driver.Peer, reuse bool) error {
	p := e.stack
	if e.network == "unix" || e.network == "unixpacket" || e.network == "unixgram" {
		if local.Name == "" {
			return syscall.EINVAL
		}
		if p.names[local.Name] != nil {
			return syscall.EADDRINUSE
		}
		p.names[local.Name], e.local = s, local
		return nil
	}
	local = unmapped(local)
	a := local.Addr.Addr()
	if !a.IsUnspecified() && !a.IsLoopback() && a != p.node.Addr {
		return syscall.EADDRNOTAVAIL
	}
	at := port{portsOf(e.network), local.Addr.Port()}
	if at.number == 0 {
		if at.number = p.freePort(at.network); at.number == 0 {
			return syscall.EADDRINUSE
		}
	} else if other := p.ports[at]; other != nil && !(reuse && other.base().shared) {
		return syscall.EADDRINUSE
	}
	e.shared = reuse
	if p.ports[at] == nil {
		p.ports[at] = s
	}
	e.local.Addr = netip.AddrPortFrom(a, at.number)
	return nil
}

// loopback4 is the address of a host for itself.
var loopback4 = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// unmapped returns p with an address of IPv4, as there is only IPv4 here: what it is within one of
// IPv6, as net.ParseIP and net.ResolveUDPAddr return it, and for [::1] and [::] the same of IPv4.
func unmapped(p driver.Peer) driver.Peer {
	a := p.Addr.Addr().Unmap()
	switch {
	case a == netip.IPv6Loopback():
		a = loopback4
	case a == netip.IPv6Unspecified():
		a = netip.IPv4Unspecified()
	}
	if a.IsValid() {
		p.Addr = netip.AddrPortFrom(a, p.Addr.Port())
	}
	return p
}

// destination returns the address that p means for who sends there: the unspecified address is the
// host itself.
func destination(p driver.Peer) driver.Peer {
	p = unmapped(p)
	if p.Addr.Addr().IsUnspecified() {
		p.Addr = netip.AddrPortFrom(loopback4, p.Addr.Port())
	}
	return p
}

// takes reports whether a socket gets what is sent to an address: it is bound to that one, or to
// any.
func (e *endpoint) takes(to netip.Addr) bool {
	a := e.local.Addr.Addr()
	return a.IsUnspecified() || a == to
}

// arm enables readiness reports, including for events that are already pending.
func (e *endpoint) arm(s socket, want driver.Events, sink driver.Sink) {
	e.armed |= want
	for i, one := range [2]driver.Events{driver.Readable, driver.Writable} {
		if want&one != 0 {
			e.sinks[i] = sink
			if s.Ready(one) {
				e.report(s, one)
			}
		}
	}
}

func (e *endpoint) Disarm(which driver.Events) { e.armed &^= which }

// report tells the loop what has become possible.
func (e *endpoint) report(s socket, ev driver.Events) {
	e.pending |= ev
	l := e.loop
	if e.queued || e.pending&(e.armed|driver.HangUp) == 0 || e.armed == 0 {
		return
	}
	e.queued = true
	l.reports = append(l.reports, s)
	l.ready()
}

// short returns how much of n bytes a read or a write moves.
func (e *endpoint) short(n int) int {
	w := e.stack.net
	if n < 2 || w.Profile.ShortReads == 0 || w.calm {
		return n
	}
	if e.cuts == nil {
		e.cuts = w.choices.At(choice.ForStream, e.stack.node.Number<<16|uint64(e.local.Addr.Port()))
	}
	cut := e.cuts.Draw(func(random uint64) uint64 {
		if float64(random&0xffff) >= w.Profile.ShortReads*0x10000 {
			return 0
		}
		return 1 + choice.Scale(choice.Mix(random), uint64(n-1))
	})
	return n - int(min(cut, uint64(n-1)))
}

func (e *endpoint) Short() bool { return e.stack.net.Profile.ShortReads == 0 }

func (e *endpoint) Addrs() (local, remote driver.Peer) { return e.local, e.remote }
