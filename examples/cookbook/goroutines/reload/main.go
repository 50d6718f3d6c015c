// Command reload is cookbook/reload with goroutines.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rondo-go/rondo/examples/cookbook/goroutines/internal/tcp"
)

var greeting atomic.Pointer[string]

func load() error {
	text, err := os.ReadFile(os.Args[2])
	if err == nil {
		greeting.Store(new(string(text)))
	}
	return err
}

func main() {
	reloads := make(chan os.Signal, 1)
	signal.Notify(reloads, syscall.SIGHUP)
	if err := load(); err != nil {
		log.Fatal(err)
	}
	l, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening on", l.Addr())
	go func() {
		for range reloads {
			fmt.Println("reloaded", load())
		}
	}()
	greet := func(ctx context.Context, c net.Conn) error {
		_, err := fmt.Fprint(c, *greeting.Load())
		return err
	}
	if err := (&tcp.Server{Handle: greet}).Serve(context.Background(), l, time.Second); err != nil {
		log.Fatal(err)
	}
}
