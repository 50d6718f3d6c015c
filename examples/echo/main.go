// Command echo sends back what it is sent.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

var address = "localhost:7777"

func main() {
	log.Fatal(rondo.Run(context.Background(), func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", address)
		if err != nil {
			return err
		}
		fmt.Println("listening on", l.Addr())
		return socket.Serve(ctx, l, func(ctx context.Context, c net.Conn) error {
			_, err := io.Copy(c, c) // suspends this task, not a thread
			return err
		})
	}))
}
