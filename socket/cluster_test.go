package socket_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// listening returns the program of a host that listens on a port.
func listening(port string, serve func(ctx context.Context, l net.Listener) error) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", port)
		if err != nil {
			return err
		}
		return serve(ctx, l)
	}
}

// answering returns the program of a host that serves a port.
func answering(port string, handler func(ctx context.Context, c net.Conn) error) func(ctx context.Context) error {
	return listening(port, func(ctx context.Context, l net.Listener) error { return socket.Serve(ctx, l, handler) })
}

// echoHost serves port 7 of a host.
func echoHost(ctx context.Context) error {
	return answering(":7", func(ctx context.Context, c net.Conn) error {
		if err := echo(ctx, c); !errors.Is(err, syscall.ECONNRESET) {
			return err
		}
		return nil
	})(ctx)
}

// dialRetry dials until it succeeds.
func dialRetry(ctx context.Context, address string) (net.Conn, error) {
	for {
		c, err := socket.Dial(ctx, "tcp", address)
		if err == nil || !errors.Is(err, syscall.ECONNREFUSED) {
			return c, err
		}
		if err := rondo.Sleep(ctx, 10*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// askLine sends a line and reads one.
func askLine(c net.Conn, in *bufio.Reader, line string) (string, error) {
	if _, err := fmt.Fprintln(c, line); err != nil {
		return "", err
	}
	got, err := in.ReadString('\n')
	return strings.TrimSuffix(got, "\n"), err
}
