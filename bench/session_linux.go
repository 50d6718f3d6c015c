package main

// The echo server with a Session: the body of the handler's loop in serve_linux.go is
// a function, which a task calls when a request has come. A connection that waits has
// no task and no buffer.

import (
	"context"
	"net"

	"github.com/rondo-go/rondo/socket"
)

func serveSession(ctx context.Context, s serving) error {
	var buffers [][]byte // those that no call uses
	server := socket.Server{
		Session: func(c net.Conn) func(ctx context.Context) error {
			return func(context.Context) error {
				var b []byte
				if last := len(buffers) - 1; last >= 0 {
					b, buffers = buffers[last], buffers[:last]
				} else {
					b = make([]byte, s.buffer)
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
	return listenAndServe(ctx, s, server.Serve)
}
