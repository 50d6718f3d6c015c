// Command heartbeat pings its clients every 100 ms, and disconnects a client that has sent
// nothing for a second.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/signals"
	"github.com/rondo-go/rondo/socket"
)

const every, patience = 100 * time.Millisecond, time.Second

func serve(ctx context.Context, c net.Conn) error {
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(func(ctx context.Context) error {
			for range rondo.Every(ctx, every) {
				if _, err := fmt.Fprintln(c, "ping"); err != nil {
					return err
				}
			}
			return rondo.Check(ctx)
		})
		defer g.Cancel(nil)
		in := bufio.NewScanner(c)
		for {
			g.SetDeadline(rondo.Now(ctx).Add(patience)) // moves with each line
			if !in.Scan() {
				return in.Err()
			}
		}
	})
}

func main() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", os.Args[1])
		if err != nil {
			return err
		}
		fmt.Println("listening on", l.Addr())
		silent := func(c net.Conn, err error) { fmt.Println("disconnected:", err) }
		return signals.Serve(ctx, &socket.Server{Handler: serve, OnError: silent}, l, time.Second)
	})
	if err != nil {
		log.Fatal(err)
	}
}
