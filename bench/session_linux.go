package main

// This file has the server of the rows about sessions: the handler of server_linux.go
// as a Session.

import (
	"context"
	"fmt"
	"net"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// sessionBuffer is for all connections: no call waits between its Read and the end
// of its Write, unless a client does not read.
var sessionBuffer [4096]byte

func serveSession(ctx context.Context) error {
	server := socket.Server{
		Session: func(c net.Conn) func(ctx context.Context) error {
			return func(context.Context) error {
				n, err := c.Read(sessionBuffer[:])
				if err == nil {
					_, err = c.Write(sessionBuffer[:n])
				}
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
