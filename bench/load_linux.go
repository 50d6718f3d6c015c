package main

// load is one process with many connections in one thread. It calls epoll directly for
// every server, to spend as little CPU time on a request as possible. In a closed loop each
// connection has one request in flight, or one group of requests; in an open one they are sent at
// fixed times; churn opens a connection for each.

import (
	"flag"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"golang.org/x/sys/unix"
)

// load is a load process: it opens connections to an address and prints "ready".
// For each number n that it reads it sends n requests, and prints how many nanoseconds they took;
// an open loop prints percentiles of the latency.
func load(args []string) error {
	flags := flag.NewFlagSet("load", flag.ContinueOnError)
	kind := flags.String("kind", "", "closed, churn or open")
	count := flags.Int("conns", 1, "connections")
	size := flags.Int("size", 0, "bytes of a request and of its answer")
	asks := flags.String("asks", "", "a name in exchanges, for open and closed")
	depth := flags.Int("depth", 1, "requests that are sent together")
	if err := flags.Parse(args); err != nil {
		return err
	}
	address := flags.Arg(0)
	if *kind == "churn" {
		return churn(address, *count, *size)
	}
	if e := exchanges[*asks]; e.secure {
		return secureLoad(address, *count, e)
	}
	conns, err := connect(address, *count, *size)
	if err != nil {
		return err
	}
	epoll, err := watchAll(conns)
	if err != nil {
		return err
	}
	request, answer := make([]byte, *size**depth), *size**depth
	if *asks != "" {
		e := exchanges[*asks]
		request = []byte(e.request)
		if answer, err = e.answerSize(descriptor(conns[0])); err != nil {
			return err
		}
	}
	if *kind == "open" {
		return openLoop(conns, epoll, request, answer)
	}
	return closedLoop(conns, epoll, request, answer, *depth)
}

// answerNumbers answers each number on standard input.
func answerNumbers(reply func(n int) (string, error)) error {
	return answer(func(question string) (string, error) {
		n, err := strconv.Atoi(question)
		if err != nil {
			return "", err
		}
		return reply(n)
	})
}

// watchAll makes an epoll that reports what arrives on conns.
func watchAll(conns []int) (epoll int, err error) {
	if epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return 0, fmt.Errorf("epoll_create1: %w", err)
	}
	for _, fd := range conns {
		if err := watchFD(epoll, fd); err != nil {
			return 0, err
		}
	}
	return epoll, nil
}

func watchFD(epoll, fd int) error {
	e := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}
	if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd, &e); err != nil {
		return fmt.Errorf("epoll_ctl: %w", err)
	}
	return nil
}

// connect opens count connections that end with a reset, so that the kernel keeps
// none of them after the process has ended. If size is not 0 the server echoes: now
// and then connect waits for the answer to a request of that size, so that it does
// not open more connections than a slow server's queue holds.
func connect(address string, count, size int) ([]int, error) {
	to, err := parse(address)
	if err != nil {
		return nil, err
	}
	conns := make([]int, 0, count)
	for i := range count {
		fd, err := dial(to)
		if err != nil {
			return nil, err
		}
		if err := unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}); err != nil {
			return nil, fmt.Errorf("setsockopt SO_LINGER: %w", err)
		}
		conns = append(conns, fd)
		if size > 0 && i%100 == 0 {
			if err := exchange(fd, make([]byte, size)); err != nil {
				return nil, err
			}
		}
	}
	return conns, nil
}

func parse(address string) (*unix.SockaddrInet4, error) {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, err
	}
	return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}, nil
}

// dial opens a blocking connection.
func dial(to *unix.SockaddrInet4) (fd int, err error) {
	if fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return 0, fmt.Errorf("socket: %w", err)
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return 0, fmt.Errorf("setsockopt TCP_NODELAY: %w", err)
	}
	if err := unix.Connect(fd, to); err != nil {
		a := &net.TCPAddr{IP: to.Addr[:], Port: to.Port}
		return 0, &net.OpError{Op: "dial", Net: "tcp", Addr: a, Err: err}
	}
	return fd, nil
}

// exchange sends a request and waits for all of its echo.
func exchange(fd int, request []byte) error {
	if n, err := unix.Write(fd, request); err != nil || n < len(request) {
		return fmt.Errorf("write of %d bytes, %d written: %v", len(request), n, err)
	}
	for got := 0; got < len(request); {
		n, err := unix.Read(fd, request[got:])
		if err != nil || n == 0 {
			return fmt.Errorf("read of %d bytes, %d read: %v", len(request), got, err)
		}
		got += n
	}
	return nil
}
