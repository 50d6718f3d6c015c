package socket

import (
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/kernel"
)

// Limits bound what one client may take from a server. The zero value has only the limit of the
// TLS handshake. Times are checked by the loop's clock, so they work in a simulation; a
// connection is closed at its limit or up to a quarter of it later. They apply to the connections
// of this package, whichever listener accepts them, and to connections that wrap one and return
// it by a method NetConn, such as a *tls.Conn. Of other connections a server does not know
// whether they are idle. Serve panics if a field other than Handshake is negative.
type Limits struct {
	// Handshake is how long a client may take to complete the TLS handshake after its connection
	// was accepted. 0 means 10 s, a negative value no limit.
	Handshake time.Duration

	// FirstByte is how long a client may take to send its first byte after its connection was
	// accepted. 0 means no limit: in some protocols the server speaks first.
	FirstByte time.Duration

	// Idle is how long a connection may go on without a byte in either direction. 0
	// means no limit.
	Idle time.Duration

	// ConnsPerAddr is how many connections one address may have open at once, and RatePerAddr how
	// many it may open in a second, on average and at once. Those beyond that are closed when
	// they are accepted. 0 means no limit. IPv6 addresses count by their first 64 bits, which is
	// what one customer gets. Unix sockets have no addresses and no such limits. The RemoteAddr of
	// a connection of the program's own is called when it is accepted: if that waits, as for a
	// header of the PROXY protocol, other clients wait too.
	ConnsPerAddr, RatePerAddr int
}

// handshakeTimeout is the default of Limits.Handshake, that of net/http.
const handshakeTimeout = 10 * time.Second

// handshake returns the limit of the handshake, 0 for none.
func (l *Limits) handshake() time.Duration {
	if l.Handshake == 0 {
		return handshakeTimeout
	}
	return max(l.Handshake, 0)
}

// A limitError is the cause with which a connection is ended that has passed a limit of
// time. It is os.ErrDeadlineExceeded.
type limitError string

func (e limitError) Error() string        { return "rondo: " + string(e) }
func (e limitError) Timeout() bool        { return true }
func (e limitError) Is(target error) bool { return target == os.ErrDeadlineExceeded }

const (
	errHandshake limitError = "the client has not completed the TLS handshake in time"
	errFirstByte limitError = "the client has sent nothing in time"
	errIdle      limitError = "the connection was idle for too long"
)

// A guard watches the times of one connection. It exists only while there is a limit, and
// has one timer. It belongs to the loop.
type guard struct {
	loop     kernel.Loop
	limits   *Limits
	activity func() (read, wrote bool) // since it was called last
	secured  func() bool               // whether the TLS handshake is done; nil: there is none
	expired  func(err limitError) bool // ends the connection, or returns false to try again soon

	began, active int64
	heard         bool // the first byte has come
	timer         kernel.Timer
}

// mostBelow is how many connections below each other are looked at: a NetConn of the program's may
// return its own receiver.
const mostBelow = 16

// watch finds what tells of the bytes of c, and of its handshake.
func (g *guard) watch(c net.Conn) bool {
	for range mostBelow {
		switch known := c.(type) {
		case interface{ activity() (read, wrote bool) }:
			g.activity = known.activity
			return true
		case *TLSConn:
			g.secured = known.ready.Load
			c = known.conn
		case interface{ NetConn() net.Conn }:
			c = known.NetConn()
		default:
			return false
		}
	}
	return false
}

// begin starts the guard, unless there is nothing to watch.
func (g *guard) begin() *guard {
	l := g.limits
	if g.secured != nil && l.handshake() == 0 {
		g.secured = nil
	}
	g.heard = l.FirstByte <= 0
	if g.secured == nil && g.heard && l.Idle <= 0 {
		return nil
	}
	g.began = g.loop.Driver().Now()
	g.active = g.began
	g.next(g.began)
	return g
}

// look ends the connection if it has passed a limit.
func (g *guard) look() {
	now := g.loop.Driver().Now()
	read, wrote := g.activity()
	g.heard = g.heard || read
	if read || wrote {
		g.active = now
	}
	if g.secured != nil && g.secured() {
		g.secured = nil
	}
	late := limitError("")
	switch l := g.limits; {
	case g.secured != nil && now >= after(g.began, l.handshake()):
		late = errHandshake
	case !g.heard && now >= after(g.began, l.FirstByte):
		late = errFirstByte
	case l.Idle > 0 && now >= after(g.active, l.Idle):
		late = errIdle
	default:
		g.next(now)
		return
	}
	if !g.expired(late) {
		g.timer = g.loop.CallAt(now+int64(time.Millisecond), g.look)
	}
}

// next sets the timer for the next look.
func (g *guard) next(now int64) {
	l, at := g.limits, int64(0)
	sooner := func(limit int64) {
		if at == 0 || limit < at {
			at = limit
		}
	}
	if g.secured != nil {
		sooner(after(g.began, l.handshake()))
	}
	if !g.heard {
		sooner(after(g.began, l.FirstByte))
	}
	if l.Idle > 0 {
		sooner(min(after(now, max(l.Idle/4, 1)), after(g.active, l.Idle)))
	}
	if at != 0 {
		g.timer = g.loop.CallAt(at, g.look)
	}
}

// after returns the instant that lies d behind another one, driver.Forever if there is none.
func after(instant int64, d time.Duration) int64 {
	if at := instant + int64(d); at >= instant {
		return at
	}
	return driver.Forever
}

// end stops the guard, unless it is nil.
func (g *guard) end() {
	if g != nil && g.timer != nil {
		g.timer.Cancel()
	}
}

// mustHold panics if a field that has no meaning below zero is negative: what was to be a limit
// would be none.
func (l *Limits) mustHold(call string) {
	name := ""
	switch {
	case l.FirstByte < 0:
		name = "FirstByte"
	case l.Idle < 0:
		name = "Idle"
	case l.ConnsPerAddr < 0:
		name = "ConnsPerAddr"
	case l.RatePerAddr < 0:
		name = "RatePerAddr"
	default:
		return
	}
	panic("rondo: " + call + " with a negative Limits." + name + ": 0 means no limit")
}

// perAddr reports whether there is a limit for each address.
func (l *Limits) perAddr() bool { return l.ConnsPerAddr > 0 || l.RatePerAddr > 0 }

// Addresses counts the connections of each address. Any goroutine may use it.
type addresses struct {
	mu    sync.Mutex
	of    map[netip.Addr]*visits
	sweep int // how many addresses there are when those without a visit are dropped
}

// Visits are the connections of one address.
type visits struct {
	open int
	left float64   // how many it may open now
	at   time.Time // when left was true
}

// sweepFrom is how many addresses are kept before any is dropped.
const sweepFrom = 1024

// addressOf returns what a peer counts as, invalid for none.
func addressOf(peer netip.Addr) netip.Addr {
	if peer = peer.Unmap().WithZone(""); peer.Is6() {
		return netip.PrefixFrom(peer, 64).Masked().Addr()
	}
	return peer
}

// Verdicts on a connection that was accepted.
type verdict uint8

const (
	welcome verdict = iota
	tooMany         // its address has too many open
	tooFast         // its address opens them too fast
)

// enter counts a connection of peer, unless a limit forbids it.
func (a *addresses) enter(l *Limits, peer netip.Addr, now time.Time) verdict {
	if !l.perAddr() || !peer.IsValid() {
		return welcome
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	key := addressOf(peer)
	v := a.of[key]
	if v == nil {
		if a.of == nil {
			a.of, a.sweep = make(map[netip.Addr]*visits), sweepFrom
		}
		if len(a.of) >= a.sweep {
			a.drop(l, now)
		}
		v = &visits{left: float64(l.RatePerAddr), at: now}
		a.of[key] = v
	}
	if l.ConnsPerAddr > 0 && v.open >= l.ConnsPerAddr {
		return tooMany
	}
	if l.RatePerAddr > 0 {
		if v.refill(l, now); v.left < 1 {
			return tooFast
		}
		v.left--
	}
	v.open++
	return welcome
}

// refill adds what the time since then allows.
func (v *visits) refill(l *Limits, now time.Time) {
	rate := float64(l.RatePerAddr)
	v.left = min(rate, v.left+now.Sub(v.at).Seconds()*rate)
	v.at = now
}

// drop forgets the addresses that have no connection, and may open as many as a new one. The
// next time is when twice as many are left, so a connection costs the same however many
// addresses there are.
func (a *addresses) drop(l *Limits, now time.Time) {
	for key, v := range a.of {
		if v.refill(l, now); v.open == 0 && v.left >= float64(l.RatePerAddr) {
			delete(a.of, key)
		}
	}
	a.sweep = max(sweepFrom, 2*len(a.of))
}

// leave counts off a connection that enter has counted.
func (a *addresses) leave(l *Limits, peer netip.Addr) {
	if !l.perAddr() || !peer.IsValid() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	key := addressOf(peer)
	v := a.of[key] // it is kept while a connection is open
	if v.open--; v.open == 0 && l.RatePerAddr <= 0 {
		delete(a.of, key)
	}
}
