// Command restart is cookbook/restart with goroutines.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/rondo-go/rondo/examples/cookbook/goroutines/internal/tcp"
)

// handOver starts the program again with the listening socket.
func handOver(l net.Listener) error {
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		return err
	}
	defer f.Close()
	next := exec.Command(os.Args[0], os.Args[1:]...)
	next.Stdout, next.Stderr, next.ExtraFiles = os.Stdout, os.Stderr, []*os.File{f} // descriptor 3
	next.Env = append(os.Environ(), "TAKE_OVER=1")
	return next.Start()
}

func serve() (err error) {
	var l net.Listener
	if os.Getenv("TAKE_OVER") != "" {
		l, err = net.FileListener(os.NewFile(3, "listener"))
	} else {
		l, err = net.Listen("tcp", os.Args[1])
	}
	if err != nil {
		return err
	}
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	failed := make(chan error, 1)
	go func() {
		<-hup
		failed <- handOver(l)
		cancel()
	}()
	fmt.Println("process", os.Getpid(), "serves", l.Addr())
	s := &tcp.Server{Handle: func(ctx context.Context, c net.Conn) error {
		_, err := io.Copy(c, c)
		return err
	}}
	if err := s.Serve(ctx, l, 10*time.Second); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return <-failed
	}
	return nil
}

func main() {
	if err := serve(); err != nil {
		log.Fatal(err)
	}
}
