package socket_test

import (
	"syscall"
	"testing"

	"github.com/rondo-go/rondo/socket"
)

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
