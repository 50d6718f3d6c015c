package main

// This file is the load for a server: many connections in one thread, each with one
// request on its way. It uses epoll directly for every server, to spend as little
// CPU time on a request as possible.

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// requestSize is how many bytes a request has, and its answer.
const requestSize = 64

// load is a load process: it opens args[1] connections to the address args[0] and
// prints "ready". For each number n that it reads it sends n requests and prints
// how many nanoseconds they took. With "http" as args[2] they are HTTP requests.
func load(args []string) error {
	count, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	conns, err := connect(args[0], count)
	if err != nil {
		return err
	}
	g := generator{request: make([]byte, requestSize), answer: requestSize, left: make(map[int32]int)}
	if len(args) > 2 {
		g.request = []byte(httpRequest)
		if g.answer, err = answerSize(conns[0], g.request); err != nil {
			return err
		}
	}
	g.buffer = make([]byte, g.answer)
	if g.epoll, err = unix.EpollCreate1(0); err != nil {
		return fmt.Errorf("epoll_create1: %w", err)
	}
	for _, fd := range conns {
		e := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}
		if err := unix.EpollCtl(g.epoll, unix.EPOLL_CTL_ADD, fd, &e); err != nil {
			return fmt.Errorf("epoll_ctl: %w", err)
		}
	}
	fmt.Println("ready")
	return answer(func(question string) (string, error) {
		n, err := strconv.Atoi(question)
		if err != nil {
			return "", err
		}
		began := time.Now()
		err = g.run(conns, n)
		return strconv.FormatInt(int64(time.Since(began)), 10), err
	})
}

// connect opens count connections that end with a reset, so that the kernel keeps
// none of them after the process has ended.
func connect(address string, count int) ([]int, error) {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, err
	}
	to := &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
	conns := make([]int, 0, count)
	for range count {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return nil, fmt.Errorf("socket: %w", err)
		}
		if err := unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}); err != nil {
			return nil, fmt.Errorf("setsockopt SO_LINGER: %w", err)
		}
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
			return nil, fmt.Errorf("setsockopt TCP_NODELAY: %w", err)
		}
		if err := unix.Connect(fd, to); err != nil {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: net.TCPAddrFromAddrPort(a), Err: err}
		}
		conns = append(conns, fd)
	}
	return conns, nil
}

// A generator sends equal requests, whose answers all have the same length. left
// has the number of bytes still to come, for each connection with part of an
// answer.
type generator struct {
	request []byte
	answer  int
	epoll   int
	unsent  int
	left    map[int32]int
	buffer  []byte
}

// run sends n requests over conns and returns when all are answered. A connection
// gets its next request when its last one is answered.
func (g *generator) run(conns []int, n int) error {
	first := min(n, len(conns))
	g.unsent = n - first
	for _, fd := range conns[:first] {
		if err := g.send(fd); err != nil {
			return err
		}
	}
	var events [256]unix.EpollEvent
	for n > 0 {
		ready, err := unix.EpollWait(g.epoll, events[:], -1)
		if err != nil && err != unix.EINTR {
			return fmt.Errorf("epoll_wait: %w", err)
		}
		for _, e := range events[:max(ready, 0)] {
			answered, err := g.receive(e.Fd)
			if err != nil {
				return err
			}
			if answered {
				n--
			}
		}
	}
	return nil
}

// receive reads from fd. If that completes an answer, it sends the next request.
func (g *generator) receive(fd int32) (answered bool, err error) {
	left := g.answer
	if k, partial := g.left[fd]; partial {
		left = k
	}
	k, err := unix.Read(int(fd), g.buffer[:left])
	if err != nil {
		return false, fmt.Errorf("read: %w", err)
	}
	if k == 0 {
		return false, errors.New("the server closed the connection")
	}
	if k < left {
		g.left[fd] = left - k
		return false, nil
	}
	if len(g.left) > 0 {
		delete(g.left, fd)
	}
	if g.unsent > 0 {
		g.unsent--
		err = g.send(int(fd))
	}
	return true, err
}

// send sends a request. It always fits into the socket's buffer, because nothing
// else is on its way.
func (g *generator) send(fd int) error {
	k, err := unix.Write(fd, g.request)
	if err != nil || k < len(g.request) {
		return fmt.Errorf("write of %d bytes, %d written: %w", len(g.request), k, err)
	}
	return nil
}
