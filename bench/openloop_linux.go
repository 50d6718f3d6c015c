package main

// An open loop sends requests at fixed times, whether or not earlier ones are
// answered, as independent clients do.
//
// The law: a latency counts from the time at which the request should have been
// sent. If the server, or this process, is late, the requests that had to wait count
// as late too. A load that waits for answers leaves those out, and its percentiles
// are too good.

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// An openClient sends requests over its connections in turn.
type openClient struct {
	conns   []int
	epoll   int
	request []byte
	answer  int // bytes of an answer
	buffer  []byte
	due     map[int32][]time.Duration // when the unanswered requests were due, oldest first
	part    map[int32]int             // bytes that have come of the oldest one's answer
	took    []time.Duration
}

// openLoop is the load process: for n it sends n requests at rate, and answers with percentiles of
// the latency in nanoseconds, those of all rounds so far.
func openLoop(conns []int, epoll int, request []byte, answer int) error {
	c := openClient{
		conns: conns, epoll: epoll, request: request, answer: answer, buffer: make([]byte, 64<<10),
		due: make(map[int32][]time.Duration), part: make(map[int32]int),
	}
	fmt.Println("ready")
	var all latencies
	return answerNumbers(func(n int) (string, error) {
		if err := c.run(n); err != nil {
			return "", err
		}
		all.add(c.took)
		return fmt.Sprintf("%d %d %d", all.at(0.50), all.at(0.99), all.at(0.999)), nil
	})
}

// latencies are those of all rounds but the first, which warms the server up. Of one round p99.9
// would be decided by 25 requests.
type latencies struct {
	warm   bool
	sorted []time.Duration
}

func (l *latencies) add(round []time.Duration) {
	if l.warm {
		l.sorted = append(l.sorted, round...)
		slices.Sort(l.sorted)
	}
	l.warm = true
}

// at returns the latency that the given share of the requests does not exceed, or 0 before the
// second round.
func (l *latencies) at(share float64) time.Duration {
	if len(l.sorted) == 0 {
		return 0
	}
	return l.sorted[int(share*float64(len(l.sorted)))]
}

// run sends n requests and returns when all are answered. It does not sleep: on this
// CPU there is nothing else to do, and a sleep would end late.
func (c *openClient) run(n int) error {
	c.took = slices.Grow(c.took[:0], n)
	const between = time.Second / rate
	var events [256]unix.EpollEvent
	began := time.Now()
	for sent := 0; len(c.took) < n; {
		for ; sent < n && time.Since(began) >= time.Duration(sent)*between; sent++ {
			if err := c.send(c.conns[sent%len(c.conns)], time.Duration(sent)*between); err != nil {
				return err
			}
		}
		ready, err := unix.EpollWait(c.epoll, events[:], 0)
		if err != nil && err != unix.EINTR {
			return fmt.Errorf("epoll_wait: %w", err)
		}
		for _, e := range events[:max(ready, 0)] {
			if err := c.receive(e.Fd, began); err != nil {
				return err
			}
		}
	}
	return nil
}

// send sends a request. The socket's buffers hold more than a connection has on its
// way, even if the server answers nothing for a second.
func (c *openClient) send(fd int, due time.Duration) error {
	if n, err := unix.Write(fd, c.request); err != nil || n < len(c.request) {
		return fmt.Errorf("write of %d bytes, %d written: %v", len(c.request), n, err)
	}
	c.due[int32(fd)] = append(c.due[int32(fd)], due)
	return nil
}

// receive reads what has come on a connection, and records the latency of each
// request whose answer is complete.
func (c *openClient) receive(fd int32, began time.Time) error {
	n, err := unix.Read(int(fd), c.buffer)
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	if n == 0 {
		return errors.New("the server closed the connection")
	}
	now := time.Since(began)
	due, part := c.due[fd], c.part[fd]+n
	answered := part / c.answer
	if answered > len(due) {
		return fmt.Errorf("%d answers to %d requests", answered, len(due))
	}
	for _, d := range due[:answered] {
		c.took = append(c.took, now-d)
	}
	c.due[fd], c.part[fd] = append(due[:0], due[answered:]...), part%c.answer
	return nil
}
