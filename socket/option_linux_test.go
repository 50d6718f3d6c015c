package socket_test

import (
	"context"
	"net"
	"syscall"
	"testing"

	"github.com/rondo-go/rondo/socket"
)

// TestOptionsOfEarly: connections that were there before a listener of package net, or of another
// process, became a Listener have the same options as those that come later.
func TestOptionsOfEarly(t *testing.T) {
	const early, late = 3, 2
	std, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer std.Close()
	connect := func(n int) {
		for range n {
			c, err := net.Dial("tcp", std.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
		}
	}
	connect(early)
	run(t, func(ctx context.Context) error {
		file, err := std.(*net.TCPListener).File()
		if err != nil {
			return err
		}
		defer file.Close()
		l, err := socket.FileListener(ctx, file)
		if err != nil {
			return err
		}
		defer l.Close()
		connect(late)
		for i := range early + late {
			c, err := l.Accept()
			if err != nil {
				return err
			}
			defer c.Close()
			what := "an early"
			if i >= early {
				what = "a late"
			}
			checkOptions(t, what, c.(*socket.Conn), 1, 15)
		}
		return nil
	})
}

// checkOptions compares what the system says of a connection.
func checkOptions(t testing.TB, what string, c *socket.Conn, noDelay, idle int) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	err = raw.Control(func(fd uintptr) {
		for _, o := range []struct {
			name                string
			level, option, want int
		}{
			{"TCP_NODELAY", syscall.IPPROTO_TCP, syscall.TCP_NODELAY, noDelay},
			{"SO_KEEPALIVE", syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, 1},
			{"TCP_KEEPIDLE", syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE, idle},
			{"TCP_KEEPINTVL", syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL, 15},
			{"TCP_KEEPCNT", syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT, 9},
		} {
			if got, err := syscall.GetsockoptInt(int(fd), o.level, o.option); got != o.want || err != nil {
				t.Errorf("%s connection: %s is %d, %v; want %d", what, o.name, got, err, o.want)
			}
		}
	})
	if err != nil {
		t.Error(err)
	}
}
