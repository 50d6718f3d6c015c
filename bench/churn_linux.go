package main

// churn opens a connection for each request: it sends the request, reads the
// answer, ends its side, waits until the server has closed the connection, and
// opens the next one.
//
// The kernel keeps the port of such a connection for a while. The connections come
// from many addresses in turn, so that there are always ports left.

import (
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// churner opens connections to one address.
type churner struct {
	to       *unix.SockaddrInet4
	epoll    int
	request  []byte
	buffer   []byte
	answered map[int32]bool // connections whose answer has come
	opened   int
}

// churn is the load process: count connections are open at once.
func churn(address string, count, size int) error {
	to, err := parse(address)
	if err != nil {
		return err
	}
	c := churner{to: to, request: make([]byte, size), buffer: make([]byte, size), answered: make(map[int32]bool)}
	if c.epoll, err = watchAll(nil); err != nil {
		return err
	}
	fmt.Println("ready")
	return answerNumbers(func(n int) (string, error) {
		began := time.Now()
		err := c.run(n, count)
		return strconv.FormatInt(int64(time.Since(began)), 10), err
	})
}

// run opens n connections, at most count at once, and returns when the server has
// closed all of them.
func (c *churner) run(n, count int) error {
	unopened := n
	for range min(n, count) {
		unopened--
		if err := c.open(); err != nil {
			return err
		}
	}
	var events [256]unix.EpollEvent
	for n > 0 {
		ready, err := unix.EpollWait(c.epoll, events[:], -1)
		if err != nil && err != unix.EINTR {
			return fmt.Errorf("epoll_wait: %w", err)
		}
		for _, e := range events[:max(ready, 0)] {
			over, err := c.step(e.Fd)
			if err != nil {
				return err
			}
			if !over {
				continue
			}
			n--
			if unopened > 0 {
				unopened--
				if err := c.open(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// open opens a connection and sends its request.
func (c *churner) open() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("socket: %w", err)
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1); err != nil {
		return fmt.Errorf("setsockopt IP_BIND_ADDRESS_NO_PORT: %w", err)
	}
	c.opened++
	from := &unix.SockaddrInet4{Addr: [4]byte{127, 0, 1, byte(1 + c.opened%200)}}
	if err := unix.Bind(fd, from); err != nil {
		return fmt.Errorf("bind: %w", err)
	}
	if err := unix.Connect(fd, c.to); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	if err := watchFD(c.epoll, fd); err != nil {
		return err
	}
	if n, err := unix.Write(fd, c.request); err != nil || n < len(c.request) {
		return fmt.Errorf("write of %d bytes, %d written: %v", len(c.request), n, err)
	}
	return nil
}

// step reads the answer and ends this side, or finds that the server has ended its
// side too. An answer is so small that it comes in one piece.
func (c *churner) step(fd int32) (over bool, err error) {
	n, err := unix.Read(int(fd), c.buffer)
	switch {
	case err != nil:
		return false, fmt.Errorf("read: %w", err)
	case n == len(c.request) && !c.answered[fd]:
		c.answered[fd] = true
		if err := unix.Shutdown(int(fd), unix.SHUT_WR); err != nil {
			return false, fmt.Errorf("shutdown: %w", err)
		}
		return false, nil
	case n == 0 && c.answered[fd]:
		delete(c.answered, fd)
		return true, unix.Close(int(fd))
	}
	return false, fmt.Errorf("read %d bytes where the answer has %d, or the server closed the connection before it", n, len(c.request))
}
