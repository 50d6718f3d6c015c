// Command reload greets with the text of a file, and reads the file again on SIGHUP. A file
// that cannot be read changes nothing.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/signals"
	"github.com/rondo-go/rondo/socket"
)

var greeting string

func load(ctx context.Context) error {
	text, err := rondo.Offload(ctx, func(context.Context) ([]byte, error) { return os.ReadFile(os.Args[2]) })
	if err == nil {
		greeting = string(text)
	}
	return err
}

func serve(ctx context.Context) error {
	rondo.Go(ctx, func(ctx context.Context) error {
		for range signals.Notify(ctx, syscall.SIGHUP) {
			fmt.Println("reloaded", load(ctx))
		}
		return rondo.Check(ctx)
	})
	if err := load(ctx); err != nil {
		return err
	}
	l, err := socket.Listen(ctx, "tcp", os.Args[1])
	if err != nil {
		return err
	}
	fmt.Println("listening on", l.Addr())
	greet := func(ctx context.Context, c net.Conn) error {
		_, err := fmt.Fprint(c, greeting)
		return err
	}
	return signals.Serve(ctx, &socket.Server{Handler: greet}, l, time.Second)
}

func main() {
	if err := rondo.Run(context.Background(), serve); err != nil {
		log.Fatal(err)
	}
}
