// Command echo sends back what it is sent.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/signals"
	"github.com/rondo-go/rondo/socket"
)

var address = "localhost:7777"

func main() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", address)
		if err != nil {
			return err
		}
		fmt.Println("listening on", l.Addr())
		s := &socket.Server{Handler: func(ctx context.Context, c net.Conn) error {
			_, err := io.Copy(c, c) // suspends this task, not a thread
			return err
		}}
		return signals.Serve(ctx, s, l, 5*time.Second) // until Ctrl-C; connected clients get 5 s to finish
	})
	if err != nil {
		log.Fatal(err)
	}
}
