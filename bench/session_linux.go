package main

import (
	"context"
	"fmt"
	"net"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

func serveSession(ctx context.Context, buffer int) error {
	var shared = make([]byte, 4096)
	server := socket.Server{Session: func(c net.Conn) func(ctx context.Context) error {
		return func(context.Context) error {
			n, err := c.Read(shared)
			if err == nil {
				_, err = c.Write(shared[:n])
			}
			return err
		}
	}, OnError: func(net.Conn, error) {}}
	return rondo.Run(ctx, func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", anyPort)
		if err != nil {
			return err
		}
		fmt.Println(l.Addr())
		return server.Serve(ctx, l)
	})
}
