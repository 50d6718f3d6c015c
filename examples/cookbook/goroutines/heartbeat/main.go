// Command heartbeat is cookbook/heartbeat with goroutines.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"sync"
	"time"

	"github.com/rondo-go/rondo/examples/cookbook/goroutines/internal/tcp"
)

const every, patience = 100 * time.Millisecond, time.Second

func serve(ctx context.Context, c net.Conn) error {
	ctx, cancel := context.WithCancel(ctx)
	var pinger sync.WaitGroup
	defer pinger.Wait()
	defer c.Close() // ends a ping that waits
	defer cancel()
	pinger.Go(func() {
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				if _, err := fmt.Fprintln(c, "ping"); err != nil {
					c.Close() // ends the reader
					return
				}
			case <-ctx.Done():
				return
			}
		}
	})
	in := bufio.NewScanner(c)
	for {
		if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
			return err
		}
		if !in.Scan() {
			return in.Err()
		}
	}
}

func main() {
	l, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening on", l.Addr())
	silent := func(err error) { fmt.Println("disconnected:", err) }
	if err := (&tcp.Server{Handle: serve, OnError: silent}).Serve(context.Background(), l, time.Second); err != nil {
		log.Fatal(err)
	}
}
