package main

import (
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestOpenLoopCountsFromTheDueTime: a server reads nothing until the last request is due, so most
// of them are sent when its buffer has room again, and answers when all have come. Each has
// waited from when it was due to the end of the timetable, however late it was sent.
func TestOpenLoopCountsFromTheDueTime(t *testing.T) {
	const n, size = 200, 64
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	if err := unix.SetsockoptInt(pair[0], unix.SOL_SOCKET, unix.SO_SNDBUF, 1); err != nil {
		t.Fatal(err) // the system makes it some kilobytes, which hold few requests
	}
	const between = time.Second / rate
	ended := make(chan error, 1)
	go func() {
		server := os.NewFile(uintptr(pair[1]), "server")
		<-time.After(n * between)
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
	for i, took := range c.took {
		if least := time.Duration(n-1-i) * between; took < least {
			t.Fatalf("request %d took %v, by the timetable at least %v", i, took, least)
		}
	}
}
