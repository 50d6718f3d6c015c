package main

// This file has the server of the rows about sessions: the handler of server_linux.go
// as a Session. The list of servers does not name it yet.

import (
	"context"
	"fmt"
	"net"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

func serveSession(ctx context.Context, buffer int) error {
	var buffers [][]byte // those that no call uses
	server := socket.Server{
		Session: func(c net.Conn) func(ctx context.Context) error {
			return func(context.Context) error {
				var b []byte
				if last := len(buffers) - 1; last >= 0 {
					b, buffers = buffers[last], buffers[:last]
				} else {
					b = make([]byte, buffer)
				}
				n, err := c.Read(b)
				if err == nil {
					_, err = c.Write(b[:n])
				}
				buffers = append(buffers, b)
				return err
			}
		},
		// The load ends its connections with a reset, so an error is the usual end.
		OnError: func(net.Conn, error) {},
	}
	return rondo.Run(ctx, func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", anyPort)
		if err != nil {
			return err
		}
		fmt.Println(l.Addr())
		return server.Serve(ctx, l)
	})
}
