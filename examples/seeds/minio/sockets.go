package main

// One echo server, three times: it does not wait for its clients, it waits for
// descriptors by WaitRead and WaitWrite, and it leaves the waiting to a net.Conn.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/examples/seeds/internal/bare"
	"github.com/rondo-go/rondo/socket"
)

// impatience accepts on a socket that does not block, and nobody is there.
func impatience(w io.Writer) error {
	fd, _, err := bare.Listen()
	if err != nil {
		return err
	}
	defer bare.Close(fd)
	_, err = bare.Accept(fd)
	fmt.Fprintln(w, "accept:", err)
	return nil
}

// descriptors serves on descriptors. A wait is over when the call would have
// something to do; the call is the program's own.
func descriptors(w io.Writer) error {
	return rondo.Run(context.Background(), func(ctx context.Context) error {
		fd, address, err := bare.Listen()
		if err != nil {
			return err
		}
		defer bare.Close(fd)
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error { return acceptAll(ctx, g, fd) })
			err := visit(g, w, address)
			g.Cancel(nil)
			return err
		})
	})
}

// acceptAll starts a task of g for each connection, until it is cancelled.
func acceptAll(ctx context.Context, g *rondo.Scope, fd int) error {
	for {
		if err := socket.WaitRead(ctx, uintptr(fd)); err != nil {
			return err
		}
		conn, err := bare.Accept(fd)
		if errors.Is(err, bare.ErrWouldBlock) {
			continue // the client has left already
		}
		if err != nil {
			return err
		}
		g.Go(func(ctx context.Context) error { return serve(ctx, conn) })
	}
}

// serve sends back what comes first, and closes the connection.
func serve(ctx context.Context, fd int) error {
	defer bare.Close(fd)
	if err := socket.WaitRead(ctx, uintptr(fd)); err != nil {
		return err
	}
	var data [100]byte
	n, err := bare.Read(fd, data[:])
	for left := data[:n]; err == nil && len(left) > 0; {
		if err = socket.WaitWrite(ctx, uintptr(fd)); err == nil {
			n, err = bare.Write(fd, left)
			left = left[n:]
		}
	}
	return err
}

// connections is the same server on connections that wait by themselves.
func connections(w io.Writer) error {
	return rondo.Run(context.Background(), func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error {
				return socket.Serve(ctx, l, func(_ context.Context, c net.Conn) error {
					var data [100]byte
					n, err := c.Read(data[:])
					if err != nil {
						return err
					}
					_, err = c.Write(data[:n])
					return err
				})
			})
			err := visit(g, w, l.Addr().String())
			g.Cancel(nil)
			return err
		})
	})
}

// visit connects three clients, of which the last is the first to say something.
// They are served all the same, on the loop on which the server is.
func visit(ctx context.Context, w io.Writer, address string) error {
	var list [3]net.Conn
	for i := range list {
		c, err := socket.Dial(ctx, "tcp", address)
		if err != nil {
			return err
		}
		defer c.Close()
		list[i] = c
	}
	for i := len(list) - 1; i >= 0; i-- {
		if _, err := fmt.Fprintf(list[i], "hello from client %d", i); err != nil {
			return err
		}
		heard, err := io.ReadAll(list[i])
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "client %d hears: %s, and the server has hung up\n", i, heard)
	}
	return nil
}
