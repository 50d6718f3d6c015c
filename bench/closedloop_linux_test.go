package main

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestClosedLoop: of two connections each has one request on its way, n are sent, and an
// answer that comes in two parts is one.
func TestClosedLoop(t *testing.T) {
	const n, size = 41, 64
	var conns []int
	ended := make(chan error, 2)
	counts := make([]int, 2)
	for i := range counts {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, pair[0])
		go func() { ended <- answerInParts(os.NewFile(uintptr(pair[1]), "server"), size, &counts[i]) }()
	}
	epoll, err := watchAll(conns)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(epoll)
	c := closedClient{
		conns: conns, epoll: epoll, request: make([]byte, size), answer: size, buffer: make([]byte, size),
		got: make(map[int32]int),
	}
	for range 2 { // a round leaves nothing for the next one
		if err := c.run(n); err != nil {
			t.Fatal(err)
		}
		if c.done != n {
			t.Errorf("%d of %d requests are done", c.done, n)
		}
	}
	for _, fd := range conns {
		err = errors.Join(err, unix.Close(fd))
	}
	if err := errors.Join(err, <-ended, <-ended); err != nil {
		t.Fatal(err)
	}
	if counts[0]+counts[1] != 2*n || counts[0] == 0 || counts[1] == 0 {
		t.Errorf("%d requests came, want %d on both together", counts, 2*n)
	}
}

// answerInParts answers each request in two writes, until the connection ends.
func answerInParts(server *os.File, size int, count *int) error {
	defer server.Close()
	all := make([]byte, 2*size)
	for {
		n, err := server.Read(all)
		if n == 0 {
			return nil // the client has closed
		}
		if err != nil {
			return err
		}
		if n != size {
			return fmt.Errorf("%d bytes came at once, want %d", n, size)
		}
		*count++
		for _, part := range [][]byte{all[:1], all[1:size]} {
			if _, err := server.Write(part); err != nil {
				return err
			}
		}
	}
}
