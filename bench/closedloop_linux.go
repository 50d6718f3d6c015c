package main

// In a closed loop each connection has one request in flight, or one group of requests. The load
// measures how long all of them take: latencies would be too good, because it sends nothing while
// the server is late (see openloop_linux.go).
//
// In the rows with several loops the load shares its processors with the server, so it spends as
// little as it can.
// Its system calls hold its thread and its P. With those of package unix the
// scheduler of Go would start further threads whenever the load waits, for up to half as
// much processor time again.

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A closedClient sends the next request on a connection when the last one is answered.
type closedClient struct {
	conns   []int
	epoll   int
	request []byte
	answer  int // bytes of an answer
	buffer  []byte
	got     map[int32]int // bytes that have come of the answer to the request in flight
	unsent  int
	done    int
}

// closedLoop is the load process: for n it sends n requests, as many together as depth says, and
// answers with how many nanoseconds they took.
func closedLoop(conns []int, epoll int, request []byte, answer, depth int) error {
	c := closedClient{
		conns: conns, epoll: epoll, request: request, answer: answer, buffer: make([]byte, answer),
		got: make(map[int32]int),
	}
	fmt.Println("ready")
	return answerNumbers(func(n int) (string, error) {
		n = (n + depth - 1) / depth
		began := time.Now()
		if err := c.run(n); err != nil {
			return "", err
		}
		return fmt.Sprint(time.Since(began).Nanoseconds()), nil
	})
}

// run sends n requests and returns when all are answered.
func (c *closedClient) run(n int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c.done = 0
	first := min(n, len(c.conns))
	c.unsent = n - first
	for _, fd := range c.conns[:first] {
		if err := c.send(int32(fd)); err != nil {
			return err
		}
	}
	var events [256]unix.EpollEvent
	for c.done < n {
		ready, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(c.epoll),
			uintptr(unsafe.Pointer(&events)), uintptr(len(events)), ^uintptr(0), 0, 0)
		if errno == unix.EINTR {
			runtime.Gosched() // the scheduler of Go wants the P
			continue
		}
		if errno != 0 {
			return fmt.Errorf("epoll_pwait: %w", errno)
		}
		for _, e := range events[:ready] {
			if err := c.receive(e.Fd); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *closedClient) send(fd int32) error {
	if n, errno := rawCall(unix.SYS_WRITE, fd, c.request); errno != 0 || n < len(c.request) {
		return fmt.Errorf("write of %d bytes, %d written: %v", len(c.request), n, errno)
	}
	return nil
}

// receive reads from fd. If that completes an answer, it sends the next request.
func (c *closedClient) receive(fd int32) error {
	n, errno := rawCall(unix.SYS_READ, fd, c.buffer)
	if errno != 0 {
		return fmt.Errorf("read: %w", errno)
	}
	if n == 0 {
		return errors.New("the server closed the connection")
	}
	if c.got[fd] += n; c.got[fd] < c.answer {
		return nil
	}
	c.got[fd] = 0
	c.done++
	if c.unsent == 0 {
		return nil
	}
	c.unsent--
	return c.send(fd)
}

// rawCall reads or writes b, which must not be empty. The scheduler of Go does not see
// it.
func rawCall(call uintptr, fd int32, b []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(call, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}
