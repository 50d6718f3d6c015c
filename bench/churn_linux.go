package main

// This file is the load of connections that come and go: each is opened, sends
// one request, gets the answer, and is closed.

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// churnAtOnce is how many connections are open at a time.
const churnAtOnce = 64

// churn is a load process. For each number n that it reads it opens n
// connections to the address args[0], and prints how many nanoseconds they took.
func churn(args []string) error {
	a, err := netip.ParseAddrPort(args[0])
	if err != nil {
		return err
	}
	fmt.Println("ready")
	return answer(func(question string) (string, error) {
		n, err := strconv.Atoi(question)
		if err != nil {
			return "", err
		}
		began := time.Now()
		for ; n > 0 && err == nil; n -= churnAtOnce {
			err = comeAndGo(a, min(n, churnAtOnce))
		}
		return strconv.FormatInt(int64(time.Since(began)), 10), err
	})
}

// comeAndGo opens n connections, asks on each, and closes them. This end closes
// first.
func comeAndGo(a netip.AddrPort, n int) error {
	to := &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
	var conns [churnAtOnce]int
	var request [requestSize]byte
	for i := range n {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("socket: %w", err)
		}
		defer unix.Close(fd)
		if err := unix.Connect(fd, to); err != nil {
			return &net.OpError{Op: "dial", Net: "tcp", Addr: net.TCPAddrFromAddrPort(a), Err: err}
		}
		conns[i] = fd
	}
	for _, fd := range conns[:n] {
		if k, err := unix.Write(fd, request[:]); err != nil || k < requestSize {
			return fmt.Errorf("write of %d bytes, %d written: %w", requestSize, k, err)
		}
	}
	for _, fd := range conns[:n] {
		if k, _, err := unix.Recvfrom(fd, request[:], unix.MSG_WAITALL); err != nil || k < requestSize {
			return fmt.Errorf("read of %d bytes, got %d: %v", requestSize, k, err)
		}
	}
	return nil
}
