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

// TestLatenciesOfAllRounds: percentiles are those of all rounds together, without the first one.
func TestLatenciesOfAllRounds(t *testing.T) {
	var l latencies
	l.add([]time.Duration{1000, 1000})
	if at := l.at(0.99); at != 0 {
		t.Errorf("%v after the round that warms up", at)
	}
	l.add([]time.Duration{4, 1, 3, 2, 5})
	l.add([]time.Duration{9, 6, 8, 7, 10})
	if half, most := l.at(0.5), l.at(0.999); half != 6 || most != 10 {
		t.Errorf("p50 %d and p99.9 %d of 1 to 10, want 6 and 10", half, most)
	}
}
