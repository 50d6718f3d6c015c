package main

import (
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestOpenLoopCountsFromTheDueTime: a server that answers nothing until the last
// request has come is late for all of them. The first one has waited for as long as
// the load took by its timetable, however fast the answer came in the end.
func TestOpenLoopCountsFromTheDueTime(t *testing.T) {
	const n, size = 200, 64
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	ended := make(chan error, 1)
	go func() {
		server := os.NewFile(uintptr(pair[1]), "server")
		all := make([]byte, n*size)
		for got := 0; got < len(all); {
			k, err := server.Read(all[got:])
			if err != nil {
				ended <- errors.Join(err, server.Close())
				return
			}
			got += k
		}
		_, err := server.Write(all)
		ended <- errors.Join(err, server.Close())
	}()
	epoll, err := watchAll(pair[:1])
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(epoll)
	c := openClient{
		conns: pair[:1], epoll: epoll, request: make([]byte, size), answer: size, buffer: make([]byte, 1000),
		due: make(map[int32][]time.Duration), part: make(map[int32]int),
	}
	if err := errors.Join(c.run(n), <-ended); err != nil {
		t.Fatal(err)
	}
	if len(c.took) != n {
		t.Fatalf("%d latencies of %d requests", len(c.took), n)
	}
	const between = time.Second / rate
	if first := slices.Max(c.took); first < (n-1)*between {
		t.Errorf("the first request took %v, by the timetable at least %v", first, (n-1)*between)
	}
}
