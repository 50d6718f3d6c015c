package socket

// Dial opens connections, with the options of a Dialer.

import (
	"context"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/errtree"
	"github.com/rondo-go/rondo/internal/fd"
	"github.com/rondo-go/rondo/internal/kernel"
)

// A Dialer has options for Dial. Its fields mean what those of net.Dialer do.
// The zero value is ready.
type Dialer struct {
	// Timeout is the limit of a whole dial. 0 means only the system's limit.
	Timeout time.Duration

	// Deadline is the time by which a dial must be done. The zero time means
	// none.
	Deadline time.Time

	// LocalAddr is the address to dial from, of the network's type.
	LocalAddr net.Addr

	// FallbackDelay is how long an address is tried alone before the next one
	// is tried beside it (RFC 8305). 0 means 300 ms. A negative value means one
	// after the other, each with an equal share of the remaining time.
	FallbackDelay time.Duration

	// KeepAlive is how long the connection is idle before it is probed: 0 means
	// 15 s, a negative value means no probes.
	KeepAlive time.Duration

	// KeepAliveConfig has further options of probes. It is used if its field Enable is set.
	KeepAliveConfig net.KeepAliveConfig

	// Resolver looks names up. nil means net.DefaultResolver.
	Resolver *net.Resolver

	// Control is called with the socket before it is connected. It must not
	// wait.
	Control func(network, address string, c syscall.RawConn) error

	// ControlContext is Control with the dial's ctx. If both are set, only this
	// one is called.
	ControlContext func(ctx context.Context, network, address string, c syscall.RawConn) error
}

// Dial calls DialContext of a zero Dialer.
func Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return new(Dialer).DialContext(ctx, network, address)
}

// DialContext connects to an address of the network "tcp", "tcp4", "tcp6",
// "unix" or "unixpacket", and returns a *Conn. A name is looked up off the
// loop, and its addresses are raced. It suspends the task; cancelling ctx ends
// it. Once connected, the connection does not depend on ctx.
//
// For the networks "udp", "udp4", "udp6" and "unixgram" it returns a
// *PacketConn with a peer. It suspends the task only to look a name up, and
// uses the name's first address.
//
// Any goroutine may call it, with a ctx of the loop whose tasks will use the
// connection; a goroutine that is no task of that loop blocks alone.
//
// Its errors are those of net.Dialer: errors.Is finds syscall.ECONNREFUSED and
// the like, and os.ErrDeadlineExceeded when Timeout or Deadline has passed. If
// ctx belongs to no loop the error is rondo.ErrNoLoop. On a host of sim.Cluster it
// dials on the simulated network, in any other simulation it fails with
// errors.ErrUnsupported.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	loop, err := loopOf(ctx, "Dial")
	if err != nil {
		return nil, err
	}
	var c net.Conn
	if done, err2 := errand(ctx, loop, network+" "+address, func(ctx context.Context) { c, err = d.open(ctx, loop, network, address) }); !done {
		c, err = d.open(ctx, loop, network, address)
	} else if err2 != nil {
		err = err2
	}
	if err != nil {
		if !namesOperation(err) {
			e := &net.OpError{Op: "dial", Net: network, Source: d.LocalAddr, Err: err}
			if ctx.Err() != nil { // nothing was tried, so nothing else names the address
				e.Addr = asked{network, address}
			}
			err = e
		}
		return nil, err
	}
	return c, nil
}

// open dials a connection or a datagram socket.
func (d *Dialer) open(ctx context.Context, loop kernel.Loop, network, address string) (net.Conn, error) {
	if datagrams(network) {
		return d.dialPacket(ctx, loop, network, address)
	}
	return d.dial(ctx, loop, network, address)
}

// asked is the address that a caller asked for, which may be a name.
type asked struct{ network, address string }

func (a asked) Network() string { return a.network }
func (a asked) String() string  { return a.address }

func (d *Dialer) dial(ctx context.Context, loop kernel.Loop, network, address string) (*Conn, error) {
	dialTask := d.dialTask
	if simulated(loop) != nil {
		if _, err := onLoop(loop); err != nil {
			return nil, err
		}
		dialTask = d.dialVirtual
	} else if err := fd.Supported(loop); err != nil {
		return nil, err
	}
	if !loop.Inside() {
		return d.dialForeign(ctx, loop, network, address)
	}
	if err := rondo.Check(ctx); err != nil {
		return nil, err
	}
	if !streams(network) {
		return nil, net.UnknownNetworkError(network)
	}
	// The waits of a dial end with the task's innermost scope, so that must be
	// a scope of ctx.
	var c *Conn
	var err, why error
	body := func(ctx context.Context) error {
		c, why = dialTask(ctx, loop, network, address)
		return why
	}
	switch deadline := d.deadline(rondo.Now(ctx)); {
	case !deadline.IsZero():
		err = rondo.Deadline(ctx, deadline, body)
	case ctx == loop.Task().Scope():
		err = body(ctx)
	default:
		err = rondo.Group(ctx, func(g *rondo.Scope) error { return body(g) })
	}
	switch {
	case c != nil:
		return c, nil
	case ctx.Err() == nil && errtree.Is(err, context.DeadlineExceeded):
		return nil, timedOut(why)
	}
	return nil, err
}

// deadline returns the time by which the dial must be done, or the zero time.
func (d *Dialer) deadline(now time.Time) time.Time {
	end := d.Deadline
	if d.Timeout != 0 {
		if t := now.Add(d.Timeout); end.IsZero() || t.Before(end) {
			end = t
		}
	}
	return end
}

// timeout is the error of a dial that took too long, in package net's words.
type timeout struct{}

func (timeout) Error() string   { return "i/o timeout" }
func (timeout) Timeout() bool   { return true }
func (timeout) Temporary() bool { return true }
func (timeout) Is(err error) bool {
	return err == context.DeadlineExceeded || err == os.ErrDeadlineExceeded
}

// timedOut replaces the scope's error by timeout.
func timedOut(err error) error {
	if named, ok := errtree.As[*net.OpError](err); ok {
		late := *named // it may be the program's, which its hook has returned
		late.Err = timeout{}
		return &late
	}
	return timeout{}
}

// std returns the net.Dialer with the same options.
func (d *Dialer) std() *net.Dialer {
	return &net.Dialer{
		Timeout: d.Timeout, Deadline: d.Deadline, LocalAddr: d.LocalAddr,
		FallbackDelay: d.FallbackDelay, KeepAlive: d.KeepAlive, KeepAliveConfig: d.KeepAliveConfig,
		Resolver: d.Resolver, Control: guardControl(d.Control), ControlContext: guardControlContext(d.ControlContext),
	}
}

// dialForeign dials for a goroutine that is no task of the loop. The loop's
// descriptor is opened when a task first uses the connection.
func (d *Dialer) dialForeign(ctx context.Context, loop kernel.Loop, network, address string) (*Conn, error) {
	if !streams(network) {
		return nil, net.UnknownNetworkError(network)
	}
	c, err := d.std().DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return adopt(fd.Adopt(loop, c.(fd.Std)), c), nil
}

// dialPacket connects a datagram socket: it gets a peer, and nothing is sent.
func (d *Dialer) dialPacket(ctx context.Context, loop kernel.Loop, network, address string) (*PacketConn, error) {
	if simulated(loop) != nil {
		return d.dialPacketVirtual(loop, network, address)
	}
	if err := fd.Supported(loop); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	open := func(ctx context.Context) (net.Conn, error) { return d.std().DialContext(ctx, network, address) }
	var c net.Conn
	var err error
	if network == "unixgram" {
		c, err = open(ctx)
	} else {
		c, err = lookUp(ctx, loop, address, open)
	}
	if err != nil {
		return nil, err
	}
	p, err := newPacket(loop, network, c.(stdPacket))
	if err != nil {
		return nil, err
	}
	p.remote = c.RemoteAddr()
	return p, nil
}
