package peer

import (
	"fmt"
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// reserve returns a port of 127.0.0.1 that no other program gets while the test
// runs: it is bound with SO_REUSEPORT, but does not listen. A peer that sets
// SO_REUSEPORT too can listen there (socket(7)).
func reserve(t testing.TB) (address string) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
		t.Fatal(err)
	}
	local := net.IPv4(127, 0, 0, 1).To4()
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte(local)}); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort(local.String(), fmt.Sprint(name.(*unix.SockaddrInet4).Port))
}
