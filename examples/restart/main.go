// Command restart is an echo server that is replaced without a lost connection. To try
// it, on Unix:
//
//	go run ./examples/restart           # prints "process N serves 127.0.0.1:7781"
//	nc localhost 7781
//	kill -HUP N                         # a new process serves; the nc goes on with the old one
//
// On SIGHUP it starts its program again and passes the listening socket on. When the new
// process has said that it serves, the old one stops accepting, and ends when its last
// connection does, after 10 s at the latest. The two share one socket, so connections that
// nobody has accepted yet are not lost. If the new process fails, the old one goes on.
//
// The socket is passed as service managers do it (sd_listen_fds(3)), so one can start it:
//
//	systemd-socket-activate -l 7781 ./restart
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/signals"
	"github.com/rondo-go/rondo/socket"
)

var address = flag.String("addr", "localhost:7781", "where to listen, unless a socket is passed")

// grace is how long those who still talk may go on.
var grace = 10 * time.Second

// firstPassed is the first descriptor that was passed (SD_LISTEN_FDS_START).
const firstPassed = 3

// listen returns the listener that was passed to this process, or opens one.
func listen(ctx context.Context) (*socket.Listener, error) {
	pid := os.Getenv("LISTEN_PID") // set by a service manager, and not by the process before
	n, _ := strconv.Atoi(os.Getenv("LISTEN_FDS"))
	if n == 0 || pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return socket.Listen(ctx, "tcp", *address)
	}
	f := os.NewFile(firstPassed, "LISTEN_FD_3")
	defer f.Close()
	return socket.FileListener(ctx, f)
}

// sayReady tells the process before this one, if there is one, that this one serves.
func sayReady() error {
	if os.Getenv("RESTART_READY") == "" {
		return nil
	}
	f := os.NewFile(firstPassed+1, "ready")
	_, err := f.Write([]byte{1})
	return errors.Join(err, f.Close())
}

// replace starts the program again with the listener, and returns when that process has
// said that it serves. If ctx is cancelled before that, it kills that process.
func replace(ctx context.Context, l *os.File) error {
	defer l.Close()
	ready, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	defer ready.Close()
	program, err := os.Executable()
	if err != nil {
		return err
	}
	next := exec.Command(program, os.Args[1:]...)
	next.Stdin, next.Stdout, next.Stderr = os.Stdin, os.Stdout, os.Stderr
	next.ExtraFiles = []*os.File{l, theirs} // descriptors 3 and 4
	next.Env = append(os.Environ(), "LISTEN_FDS=1", "LISTEN_PID=", "RESTART_READY=1")
	err = next.Start()
	theirs.Close()
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = next.Process.Kill() }) // which ends the Read
	if n, _ := ready.Read(make([]byte, 1)); !stop() || n == 0 {
		return fmt.Errorf("the new process did not serve: %w", next.Wait())
	}
	return next.Process.Release()
}

// untilReplaced returns when a new process has taken the place of this one, as SIGHUP asks
// for. If ctx is cancelled while the new one starts, that one ends too.
func untilReplaced(ctx context.Context, l *socket.Listener) error {
	hangUps := signals.Notify(ctx, syscall.SIGHUP)
	fmt.Println("process", os.Getpid(), "serves", l.Addr())
	if err := sayReady(); err != nil {
		return err
	}
	for range hangUps {
		f, err := l.File()
		if err != nil {
			return err
		}
		err = rondo.Shield(ctx, func(shielded context.Context) error {
			return rondo.OffloadFunc(shielded, func(context.Context) error { return replace(ctx, f) })
		})
		if err == nil {
			return nil
		}
		log.Print(err) // and go on
	}
	return rondo.Check(ctx)
}

// serve serves until the process is told to end, or a new one has taken its place.
func serve(ctx context.Context) error {
	l, err := listen(ctx)
	if err != nil {
		return err
	}
	s := &socket.Server{Handler: func(ctx context.Context, c net.Conn) error {
		_, err := io.Copy(c, c)
		return err
	}}
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(func(ctx context.Context) error {
			if err := s.Serve(ctx, l); err != socket.ErrServerClosed {
				return err
			}
			return nil
		})
		err := signals.Cancel(g, func(ctx context.Context) error { return untilReplaced(ctx, l) }, os.Interrupt, syscall.SIGTERM)
		if err != nil && !errors.As(err, new(signals.Error)) {
			return err
		}
		err = rondo.Timeout(g, grace, s.Shutdown)
		if rondo.TimedOut(g, err) {
			return nil // those who still talk were cut off
		}
		return err
	})
}

func main() {
	flag.Parse()
	if err := rondo.Run(context.Background(), serve); err != nil {
		log.Fatal(err)
	}
}
