// Command echo sends back what it is sent, until it is interrupted.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/signal"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

func main() {
	address := flag.String("addr", "localhost:7777", "where to listen")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := rondo.Run(ctx, func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", *address)
		if err != nil {
			return err
		}
		fmt.Println("listening on", l.Addr())
		return socket.Serve(ctx, l, func(ctx context.Context, c net.Conn) error {
			_, err := io.Copy(c, c) // suspends this task, not a thread
			return err
		})
	})
	if err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}
