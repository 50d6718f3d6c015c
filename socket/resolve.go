package socket

// From a name to addresses, and from addresses to a connection. Package net
// does this by itself where it dials for the loop.

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/kernel"
)

// dialEach connects to one of the addresses of a name. connect tries one; local is
// invalid if the Dialer has no LocalAddr.
func (d *Dialer) dialEach(ctx context.Context, network, address string, connect func(ctx context.Context, local, to netip.AddrPort) (*Conn, error)) (*Conn, error) {
	local, err := d.local()
	if err != nil {
		return nil, err
	}
	to, err := d.resolve(ctx, network, address)
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
func (d *Dialer) resolve(ctx context.Context, network, address string) ([]netip.AddrPort, error) {
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
		return []netip.AddrPort{netip.AddrPortFrom(local(host, network), uint16(port))}, nil
	}
	if n := simulated(kernel.Of(ctx)); n != nil {
		return resolveVirtual(n, network, host, service)
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
		if host == "" {
			return []netip.AddrPort{netip.AddrPortFrom(local(host, network), uint16(port))}, nil
		}
		found, err := r.LookupNetIP(ctx, "ip", host)
		if err != nil {
			return nil, err
		}
		all := make([]netip.AddrPort, len(found))
		for i, a := range found {
			all[i] = netip.AddrPortFrom(a.Unmap(), uint16(port))
		}
		return all, nil
	})
}

// resolveVirtual is resolve on the network of the driver.
func resolveVirtual(n driver.Network, network, host, service string) ([]netip.AddrPort, error) {
	port, err := portOf(network, service)
	if err != nil {
		return nil, err
	}
	found := []netip.Addr{local(host, network)}
	if _, err := netip.ParseAddr(host); err != nil && host != "" {
		if found, err = n.Resolve(host); err != nil {
			return nil, err
		}
	}
	all := make([]netip.AddrPort, len(found))
	for i, a := range found {
		all[i] = netip.AddrPortFrom(a, port)
	}
	return all, nil
}

// local returns the address of a literal host. An empty host, and the
// unspecified address, mean this machine.
func local(host, network string) netip.Addr {
	a, err := netip.ParseAddr(host)
	a = a.Unmap()
	switch {
	case err != nil && network == "tcp6", a == netip.IPv6Unspecified():
		return netip.IPv6Loopback()
	case err != nil, a == netip.IPv4Unspecified():
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return a
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
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = timedOut(err)
	}
	return nil, err
}
