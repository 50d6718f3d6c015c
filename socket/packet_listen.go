package socket

// ListenPacket: how a PacketConn is opened that has no peer.

import (
	"context"
	"net"

	"github.com/rondo-go/rondo/internal/fd"
)

// ListenPacket calls ListenPacket of a zero ListenConfig.
func ListenPacket(ctx context.Context, network, address string) (net.PacketConn, error) {
	return new(ListenConfig).ListenPacket(ctx, network, address)
}

// ListenPacket announces on an address of the network "udp", "udp4", "udp6" or
// "unixgram", and returns a *PacketConn. It suspends the task only to look a
// name up. Any goroutine may call it, with a ctx of the loop whose tasks will
// use the socket. Errors are those of net.ListenPacket. If ctx belongs to no
// loop the error is rondo.ErrNoLoop. In a simulation it does what Listen does.
// ListenConfig.Listen says what happens with the file of a Unix socket.
func (lc *ListenConfig) ListenPacket(ctx context.Context, network, address string) (net.PacketConn, error) {
	loop, err := loopOf(ctx, "ListenPacket")
	if err != nil {
		return nil, err
	}
	fail := func(err error) (net.PacketConn, error) {
		if !namesOperation(err) {
			err = &net.OpError{Op: "listen", Net: network, Err: err}
		}
		return nil, err
	}
	if simulated(loop) != nil {
		var c *PacketConn
		done, failed := errand(ctx, loop, network+" "+address, func(context.Context) { c, err = lc.listenPacketVirtual(loop, network, address) })
		if !done {
			c, err = lc.listenPacketVirtual(loop, network, address)
		} else if failed != nil {
			err = failed
		}
		if err != nil {
			return fail(err)
		}
		return c, nil
	}
	if err := fd.Supported(loop); err != nil {
		return fail(err)
	}
	if ctx.Err() != nil {
		return fail(context.Cause(ctx))
	}
	config, err := lc.std()
	if err != nil {
		return fail(err)
	}
	if !datagrams(network) {
		return fail(net.UnknownNetworkError(network))
	}
	open := func(ctx context.Context) (net.PacketConn, error) { return config.ListenPacket(ctx, network, address) }
	var std net.PacketConn
	var file *socketFile
	if network == "unixgram" {
		std, file, err = bind(ctx, address, open)
	} else {
		std, err = lookUp(ctx, loop, address, open)
	}
	if err != nil {
		return fail(err)
	}
	c, err := newPacket(loop, network, std.(stdPacket))
	if err != nil {
		file.remove()
		return fail(err)
	}
	c.file = file
	return c, nil
}
