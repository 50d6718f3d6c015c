package socket

// From a name to addresses, and from addresses to a connection. Package net
// does this by itself where it dials for the loop.

import (
	"context"
	"net"
	"net/netip"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/errtree"
	"github.com/rondo-go/rondo/internal/kernel"
)

// dialEach connects to one of the addresses of a name. connect tries one; local is
// invalid if the Dialer has no LocalAddr.
func (d *Dialer) dialEach(ctx context.Context, network, address string, connect func(ctx context.Context, local, to netip.AddrPort) (*Conn, error)) (*Conn, error) {
	local, err := d.local()
	if err != nil {
		return nil, err
	}
	to, err := d.resolve(ctx, network, local, address)
	if err != nil {
		return nil, err
	}
	if to, err = suitable(to, network, local, address); err != nil {
		return nil, err
	}
	return d.tryAll(ctx, to, func(ctx context.Context, to netip.AddrPort) (*Conn, error) {
		return connect(ctx, local, to)
	})
}

// local returns the address to dial from, invalid if there is none.
func (d *Dialer) local() (netip.AddrPort, error) {
	if d.LocalAddr == nil {
		return netip.AddrPort{}, nil
	}
	a, ok := d.LocalAddr.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}, &net.AddrError{Err: "mismatched local address type", Addr: d.LocalAddr.String()}
	}
	local := a.AddrPort()
	if !local.Addr().IsValid() {
		local = netip.AddrPortFrom(netip.IPv6Unspecified(), local.Port())
	}
	return netip.AddrPortFrom(local.Addr().Unmap(), local.Port()), nil
}

// resolve returns the addresses to try, in the order of preference. Literal
// addresses are parsed here; names are looked up off the loop.
func (d *Dialer) resolve(ctx context.Context, network string, from netip.AddrPort, address string) ([]netip.AddrPort, error) {
	if address == "" {
		return nil, errMissingAddress
	}
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if literal(address) {
		port, err := strconv.ParseUint("0"+service, 10, 16)
		if err != nil {
			return nil, &net.AddrError{Err: "invalid port", Addr: service}
		}
		return withPort(literals(host, network, from), uint16(port)), nil
	}
	if n := simulated(kernel.Of(ctx)); n != nil {
		return resolveVirtual(n, network, from, host, service)
	}
	r := d.Resolver
	if r == nil {
		r = net.DefaultResolver
	}
	return rondo.Offload(ctx, func(ctx context.Context) ([]netip.AddrPort, error) {
		port, err := r.LookupPort(ctx, network, service)
		if err != nil {
			return nil, err
		}
		if found := literals(host, network, from); found != nil {
			return withPort(found, uint16(port)), nil
		}
		found, err := r.LookupNetIP(ctx, family(network), host)
		return withPort(found, uint16(port)), err
	})
}

// family returns what to ask a Resolver for: the other family's server may be slow, or not answer.
func family(network string) string {
	switch network {
	case "tcp4":
		return "ip4"
	case "tcp6":
		return "ip6"
	}
	return "ip"
}

// resolveVirtual is resolve on the network of the driver.
func resolveVirtual(n driver.Host, network string, from netip.AddrPort, host, service string) ([]netip.AddrPort, error) {
	port, err := portOf(network, service)
	if err != nil {
		return nil, err
	}
	found := literals(host, network, from)
	if found == nil {
		if found, err = n.Resolve(host); err != nil {
			return nil, err
		}
	}
	return withPort(found, port), nil
}

// withPort joins each address with a port.
func withPort(found []netip.Addr, port uint16) []netip.AddrPort {
	all := make([]netip.AddrPort, len(found))
	for i, a := range found {
		all[i] = netip.AddrPortFrom(a.Unmap(), port)
	}
	return all
}

// literals returns the addresses of a host that is empty or a number, and nil for a name.
// An empty host and the unspecified addresses mean this machine, by the family of from if
// it has one. Package net tries 0.0.0.0 after [::], for machines whose IPv6 is only half
// configured (Go issue 18806).
func literals(host, network string, from netip.AddrPort) []netip.Addr {
	loopback4 := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	from6 := network == "tcp" && from.Addr().Is6() && !from.Addr().IsUnspecified()
	a, err := netip.ParseAddr(host)
	switch a = a.Unmap(); {
	case host == "" && network == "tcp6", (host == "" || a == netip.IPv4Unspecified()) && from6:
		return []netip.Addr{netip.IPv6Loopback()}
	case host == "", a == netip.IPv4Unspecified():
		return []netip.Addr{loopback4}
	case a == netip.IPv6Unspecified():
		return []netip.Addr{netip.IPv6Loopback(), loopback4}
	case err != nil:
		return nil
	}
	return []netip.Addr{a}
}

// suitable returns the addresses that the network and the local address allow,
// with the families alternating, the family of the first address first (RFC
// 8305, section 4).
func suitable(all []netip.AddrPort, network string, from netip.AddrPort, address string) ([]netip.AddrPort, error) {
	var first, second []netip.AddrPort
	for _, a := range all {
		is4 := a.Addr().Is4()
		if network == "tcp4" && !is4 || network == "tcp6" && is4 {
			continue
		}
		if from.IsValid() && !from.Addr().IsUnspecified() && from.Addr().Is4() != is4 {
			continue
		}
		if len(first) == 0 || first[0].Addr().Is4() == is4 {
			first = append(first, a)
		} else {
			second = append(second, a)
		}
	}
	if len(first) == 0 {
		return nil, &net.AddrError{Err: "no suitable address found", Addr: address}
	}
	mixed := make([]netip.AddrPort, 0, len(all))
	for len(first) > 0 {
		mixed = append(mixed, first[0])
		first, second = second, first[1:]
		if len(first) == 0 {
			first, second = second, nil
		}
	}
	return mixed, nil
}

// fallbackDelay is the default of Dialer.FallbackDelay. RFC 8305 recommends 250
// ms; this is package net's.
const fallbackDelay = 300 * time.Millisecond

type attempt func(ctx context.Context, to netip.AddrPort) (*Conn, error)

// tryAll connects to one of the addresses. If all fail, it returns the error of
// the first.
func (d *Dialer) tryAll(ctx context.Context, to []netip.AddrPort, try attempt) (*Conn, error) {
	switch {
	case len(to) == 1:
		return try(ctx, to[0])
	case d.FallbackDelay < 0:
		return trySerial(ctx, to, try)
	case d.FallbackDelay == 0:
		return race(ctx, to, fallbackDelay, try)
	}
	return race(ctx, to, d.FallbackDelay, try)
}

// race starts an attempt when the one before it has failed, or has taken the
// delay. The first connection wins, and the other attempts are cancelled.
func race(ctx context.Context, to []netip.AddrPort, delay time.Duration, try attempt) (*Conn, error) {
	var (
		winner *Conn
		first  error
		failed rondo.Event
	)
	err := rondo.Group(ctx, func(g *rondo.Scope) error {
		for i, to := range to {
			failed.Clear()
			g.Go(func(ctx context.Context) error {
				c, err := try(ctx, to)
				switch {
				case err != nil:
					if i == 0 {
						first = err
					}
					failed.Set()
				case winner != nil:
					return c.Close()
				default:
					winner = c
					g.Cancel(nil)
				}
				return nil
			})
			err := rondo.Timeout(g, delay, failed.Wait)
			if err != nil && g.Err() != nil {
				return nil
			}
		}
		return nil
	})
	switch {
	case winner != nil:
		return winner, nil
	case err != nil:
		return nil, err
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, first
}

// shareMin is the least share of the remaining time that an address gets.
const shareMin = 2 * time.Second

// trySerial tries one address after the other. With a deadline, each gets an
// equal share of the remaining time.
func trySerial(ctx context.Context, to []netip.AddrPort, try attempt) (*Conn, error) {
	var first error
	for i, a := range to {
		c, err := share(ctx, len(to)-i, func(ctx context.Context) (*Conn, error) { return try(ctx, a) })
		if err == nil {
			return c, nil
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, first
}

// share runs try with one n-th of the time until ctx's deadline.
func share(ctx context.Context, n int, try func(ctx context.Context) (*Conn, error)) (*Conn, error) {
	end, limited := ctx.Deadline()
	if !limited || n == 1 {
		return try(ctx)
	}
	var c *Conn
	left := end.Sub(rondo.Now(ctx))
	err := rondo.Timeout(ctx, max(left/time.Duration(n), min(left, shareMin)), func(ctx context.Context) (err error) {
		c, err = try(ctx)
		return err
	})
	if c != nil {
		return c, nil
	}
	if errtree.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = timedOut(err)
	}
	return nil, err
}

// lookUp opens a socket, off the loop if a name must be looked up.
func lookUp[T interface{ Close() error }](ctx context.Context, loop kernel.Loop, address string, open func(ctx context.Context) (T, error)) (T, error) {
	if !loop.Inside() || literal(address) {
		return open(ctx)
	}
	// If the task has returned when the socket is open, the second of the two
	// closes it.
	var opened T
	var second atomic.Bool
	c, err := rondo.Offload(ctx, func(ctx context.Context) (T, error) {
		c, err := open(ctx)
		if err != nil {
			return c, err
		}
		opened = c
		if second.Swap(true) {
			c.Close()
		}
		return c, nil
	})
	if err != nil && second.Swap(true) {
		opened.Close()
	}
	return c, err
}
