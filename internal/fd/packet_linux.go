//go:build linux && !rondo_portable

package fd

// The two system calls of datagrams, written out so that an address needs no
// allocation. Like those of call_linux.go they do not block, and the scheduler
// is not told of them.

import (
	"encoding/binary"
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func receiveFrom(sys int, p []byte) (int, Peer, syscall.Errno) {
	var sa unix.RawSockaddrAny
	size := uint32(unix.SizeofSockaddrAny)
	n, _, errno := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(sys),
		uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), unix.MSG_DONTWAIT,
		uintptr(unsafe.Pointer(&sa)), uintptr(unsafe.Pointer(&size)))
	if errno != 0 {
		return 0, Peer{}, errno
	}
	return int(n), peerOf(&sa, size), 0
}

func sendTo(sys int, p []byte, to Peer, six bool) syscall.Errno {
	var sa unix.RawSockaddrAny
	size, errno := sa4or6(&sa, to, six)
	if errno != 0 {
		return errno
	}
	_, _, errno = syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(sys),
		uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL,
		uintptr(unsafe.Pointer(&sa)), size)
	return errno
}

// port returns n in network byte order.
func port(n uint16) (raw uint16) {
	binary.BigEndian.PutUint16((*[2]byte)(unsafe.Pointer(&raw))[:], n)
	return raw
}

func peerOf(sa *unix.RawSockaddrAny, size uint32) Peer {
	switch sa.Addr.Family {
	case unix.AF_INET:
		in := (*unix.RawSockaddrInet4)(unsafe.Pointer(sa))
		return Peer{Addr: netip.AddrPortFrom(netip.AddrFrom4(in.Addr), port(in.Port))}
	case unix.AF_INET6:
		in := (*unix.RawSockaddrInet6)(unsafe.Pointer(sa))
		return Peer{Addr: netip.AddrPortFrom(netip.AddrFrom16(in.Addr), port(in.Port)), Zone: in.Scope_id}
	case unix.AF_UNIX:
		return Peer{Name: unixName(sa, size)}
	}
	return Peer{}
}

// unixName returns a name as unix(7) defines it: an abstract name begins with a
// zero byte and its length is given, any other ends at a zero byte.
func unixName(sa *unix.RawSockaddrAny, size uint32) string {
	path := unsafe.Slice((*byte)(unsafe.Pointer(&(*unix.RawSockaddrUnix)(unsafe.Pointer(sa)).Path)), unixPathMax)
	n := int(size) - unixPathAt
	if n <= 0 {
		return ""
	}
	path = path[:min(n, unixPathMax)]
	if path[0] == 0 {
		return "@" + string(path[1:])
	}
	for i, b := range path {
		if b == 0 {
			return string(path[:i])
		}
	}
	return string(path)
}

const (
	unixPathAt  = int(unsafe.Offsetof(unix.RawSockaddrUnix{}.Path))
	unixPathMax = len(unix.RawSockaddrUnix{}.Path)
)

// sa4or6 writes an address of the socket's family, or the name of a Unix
// socket.
func sa4or6(sa *unix.RawSockaddrAny, to Peer, six bool) (size uintptr, errno syscall.Errno) {
	a := to.Addr.Addr()
	switch {
	case !to.Addr.IsValid():
		return saUnix(sa, to.Name)
	case six:
		*(*unix.RawSockaddrInet6)(unsafe.Pointer(sa)) = unix.RawSockaddrInet6{
			Family: unix.AF_INET6, Port: port(to.Addr.Port()), Addr: a.As16(), Scope_id: to.Zone,
		}
		return unix.SizeofSockaddrInet6, 0
	}
	*(*unix.RawSockaddrInet4)(unsafe.Pointer(sa)) = unix.RawSockaddrInet4{
		Family: unix.AF_INET, Port: port(to.Addr.Port()), Addr: a.Unmap().As4(),
	}
	return unix.SizeofSockaddrInet4, 0
}

func saUnix(sa *unix.RawSockaddrAny, name string) (size uintptr, errno syscall.Errno) {
	abstract := name != "" && (name[0] == '@' || name[0] == 0)
	if name == "" || len(name) > unixPathMax || len(name) == unixPathMax && !abstract {
		return 0, syscall.EINVAL
	}
	un := (*unix.RawSockaddrUnix)(unsafe.Pointer(sa))
	un.Family = unix.AF_UNIX
	path := unsafe.Slice((*byte)(unsafe.Pointer(&un.Path)), unixPathMax)
	copy(path, name)
	if abstract {
		path[0] = 0
		return uintptr(unixPathAt + len(name)), 0
	}
	return uintptr(unixPathAt + len(name) + 1), 0
}
