// Command restart sends back what it is sent. On SIGHUP it starts its program again, which
// takes over the listening socket, and lets its own connections end within 10 s.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/signals"
	"github.com/rondo-go/rondo/socket"
)

// A server hands its socket on when SIGHUP shuts it down.
type server struct {
	socket.Server
	l *socket.Listener
}

func (s *server) Shutdown(ctx context.Context) error {
	if signals.Received(ctx) == syscall.SIGHUP {
		f, err := s.l.File()
		if err != nil {
			return err
		}
		defer f.Close()
		next := exec.Command(os.Args[0], os.Args[1:]...)
		next.Stdout, next.Stderr, next.ExtraFiles = os.Stdout, os.Stderr, []*os.File{f} // descriptor 3
		next.Env = append(os.Environ(), "TAKE_OVER=1")
		if err := rondo.OffloadFunc(ctx, func(context.Context) error { return next.Start() }); err != nil {
			return err
		}
	}
	return s.Server.Shutdown(ctx)
}

func serve(ctx context.Context) (err error) {
	s := &server{}
	s.Handler = func(ctx context.Context, c net.Conn) error {
		_, err := io.Copy(c, c)
		return err
	}
	if os.Getenv("TAKE_OVER") != "" {
		s.l, err = socket.FileListener(ctx, os.NewFile(3, "listener"))
	} else {
		s.l, err = socket.Listen(ctx, "tcp", os.Args[1])
	}
	if err != nil {
		return err
	}
	fmt.Println("process", os.Getpid(), "serves", s.l.Addr())
	return signals.Serve(ctx, s, s.l, 10*time.Second, syscall.SIGHUP, os.Interrupt, syscall.SIGTERM)
}

func main() {
	if err := rondo.Run(context.Background(), serve); err != nil {
		log.Fatal(err)
	}
}
