package sim

// This file has what all simulated sockets have in common: where they are, what they
// report to the loop, and the ports and names of a host. The system of a host is its
// process here: it begins with a boot and ends with it.

import (
	"net"
	"net/netip"
	"os"
	"syscall"

	"github.com/rondo-go/rondo/internal/driver"
)

// A socket is a driver.Socket of a process.
type socket interface {
	driver.Socket

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

// firstPort is the first of the ports that a system chooses from.
const firstPort = 32768

// An endpoint is the part that all sockets have.
type endpoint struct {
	process *process
	network string
	local   driver.Peer
	remote  driver.Peer
	place   int // in process.sockets, plus one
	armed   driver.Events
	pending driver.Events // what was not reported yet
	queued  bool          // it is in process.reports
	sinks   [2]driver.Sink
	closed  bool
	cuts    *source // of short reads and writes
	shared  bool    // ReusePort
}

func (e *endpoint) base() *endpoint { return e }

// Socket is that of driver.Network.
func (p *process) Socket(network string) (driver.Socket, error) {
	if p.killed != nil {
		return nil, syscall.ENETDOWN
	}
	var s socket
	switch network {
	case "tcp", "unix", "unixpacket":
		s = newStream(p, network)
	case "udp", "unixgram":
		s = &packetSocket{endpoint: endpoint{process: p, network: network}}
	default:
		return nil, net.UnknownNetworkError(network)
	}
	p.register(s)
	return s, nil
}

// register adds a socket to those of the process.
func (p *process) register(s socket) {
	p.sockets = append(p.sockets, s)
	s.base().place = len(p.sockets)
}

// remove takes a socket off, with its port or name.
func (e *endpoint) remove() {
	p := e.process
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

// sharers returns the sockets that share a port.
func (p *process) sharers(at port) (all []socket) {
	for _, s := range p.sockets {
		if o := s.base(); o.shared && o.local.Addr.IsValid() && (port{portsOf(o.network), o.local.Addr.Port()}) == at {
			all = append(all, s)
		}
	}
	return all
}

// portsOf returns which table of ports a network uses.
func portsOf(network string) string {
	if network == "udp" {
		return "udp"
	}
	return "tcp"
}

// hangUp ends the waits of a process that is killed.
func (p *process) hangUp() {
	for _, s := range p.sockets {
		s.base().report(s, driver.Readable|driver.Writable|driver.HangUp)
	}
}

// closeAll closes all sockets, as the system does when a program ends.
func (p *process) closeAll() {
	for len(p.sockets) > 0 {
		p.sockets[len(p.sockets)-1].Close()
	}
}

// dropAll is closeAll, except that no peer is sent anything.
func (p *process) dropAll() {
	for len(p.sockets) > 0 {
		p.sockets[len(p.sockets)-1].gone()
	}
}

// bind gives a socket its address.
func (e *endpoint) bind(s socket, local driver.Peer, reuse bool) error {
	p := e.process
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
	if !a.IsUnspecified() && !a.IsLoopback() && a != p.host.addr {
		return syscall.EADDRNOTAVAIL
	}
	if a.Is6() {
		a = netip.IPv4Unspecified() // there is only IPv4 here
		if local.Addr.Addr().IsLoopback() {
			a = netip.AddrFrom4([4]byte{127, 0, 0, 1})
		}
	}
	at := port{portsOf(e.network), local.Addr.Port()}
	if at.number == 0 {
		at.number = p.freePort(at.network)
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

// freePort returns a port that nobody has.
func (p *process) freePort(network string) uint16 {
	for p.ports[port{network, p.nextPort}] != nil {
		p.nextPort = max(p.nextPort+1, firstPort)
	}
	n := p.nextPort
	p.nextPort = max(p.nextPort+1, firstPort)
	return n
}

// Resolve returns the address of a host of the cluster.
func (p *process) Resolve(host string) ([]netip.Addr, error) {
	if host == "localhost" {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}, nil
	}
	if h := p.world.byName[host]; h != nil {
		return []netip.Addr{h.addr}, nil
	}
	return nil, &net.DNSError{Err: "no such host in the cluster", Name: host, IsNotFound: true}
}

// unmapped returns p with an IPv4 address as it is, and not within one of IPv6, as
// net.ParseIP and net.ResolveUDPAddr return it.
func unmapped(p driver.Peer) driver.Peer {
	if a := p.Addr.Addr(); a.Is4In6() {
		p.Addr = netip.AddrPortFrom(a.Unmap(), p.Addr.Port())
	}
	return p
}

// reach returns the host at an address, or nil.
func (p *process) reach(a netip.Addr) *Host {
	if a.IsLoopback() || a.IsUnspecified() {
		return p.host
	}
	return p.world.byAddr[a]
}

// Arm makes the socket report from now on, also what is so already.
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
	p := e.process
	if e.queued || e.pending&(e.armed|driver.HangUp) == 0 || e.armed == 0 {
		return
	}
	e.queued = true
	p.reports = append(p.reports, s)
	if p.polling && p != p.world.running {
		p.world.makeReady(p)
	}
}

// deliver calls the sinks of all sockets that have something to report. It reports
// whether there were any.
func (p *process) deliver() bool {
	p.deliverSignals()
	if len(p.reports) == 0 {
		return false
	}
	reports := p.reports
	p.reports = nil
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
	if p.reports == nil {
		clear(reports)
		p.reports = reports[:0]
	}
	return true
}

// short returns how much of n bytes a read or a write moves.
func (e *endpoint) short(n int) int {
	w := e.process.world
	if n < 2 || w.profile.ShortReads == 0 || w.calm {
		return n
	}
	if e.cuts == nil {
		e.cuts = w.run.choices.at(forStream, e.process.host.number<<16|uint64(e.local.Addr.Port()))
	}
	cut := e.cuts.draw(func(random uint64) uint64 {
		if float64(random&0xffff) >= w.profile.ShortReads*0x10000 {
			return 0
		}
		return 1 + scale(mix(random), uint64(n-1))
	})
	return n - int(min(cut, uint64(n-1)))
}

func (e *endpoint) Short() bool { return e.process.world.profile.ShortReads == 0 }

func (e *endpoint) Addrs() (local, remote driver.Peer) { return e.local, e.remote }

// errno returns an error as the number that it is.
func errno(err error) syscall.Errno {
	if n, ok := err.(syscall.Errno); ok {
		return n
	}
	if s, ok := err.(*os.SyscallError); ok {
		return errno(s.Err)
	}
	return syscall.EIO
}
