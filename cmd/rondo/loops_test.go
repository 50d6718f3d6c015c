package main

import (
	"context"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// A demo on two loops says how busy each was, and loses no message.
func TestDemoLoops(t *testing.T) {
	d := &demo{conns: 8, loops: 2, length: time.Hour, size: 100, pattern: pattern(100)}
	p := &progress{out: new(strings.Builder), columns: func() int { return 0 }}
	err := onLoops(d.loops, "demo", func(ctx context.Context) error {
		d.endAfter(ctx, 100)
		return d.main(ctx, p)
	})
	if err != nil {
		t.Fatal(err)
	}
	if least := int64(d.trips.n) * 100; d.echoed < least || d.echoed > least+800 {
		t.Errorf("%d messages came back, and the server sent %d bytes", d.trips.n, d.echoed)
	}
	if out := d.summary(); !strings.Contains(out, "demo-0") || !strings.Contains(out, "demo-1") {
		t.Errorf("the summary is\n%s", out)
	}
	if out := d.opening(); out != "8 clients on one loop, and a server on 2 loops, over TCP. Ctrl-C ends it early.\n\n" {
		t.Errorf("it opens with %q", out)
	}
}

// An echo server on three loops serves connections on all of them, counts what all
// have done, and ends gracefully: when it says that it ends, it listens no longer.
func TestEchoLoops(t *testing.T) {
	var said strings.Builder
	e := &echoServer{addr: "127.0.0.1:0", grace: time.Hour, loops: 3}
	listening, ending := make(chan string, 1), make(chan bool)
	var address string // for what is written; the loop stands still while it looks
	e.console = &console{out: writerFunc(func(b []byte) (int, error) {
		said.Write(b)
		if rest, ok := strings.CutPrefix(string(b), "Listening on "); ok {
			address, _, _ = strings.Cut(rest, ". ")
			listening <- address
		} else if strings.Contains(string(b), "may go on") {
			if late, err := net.Dial("tcp", address); err == nil {
				late.Close()
				t.Error("it says that it ends, and listens")
			}
			close(ending)
		}
		return len(b), nil
	})}
	done := make(chan bool)
	go func() {
		defer close(done)
		address := <-listening
		for range 6 {
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Error(err)
				continue
			}
			defer c.Close()
			if _, err := io.WriteString(c, "hello"); err != nil {
				t.Error(err)
			}
			if _, err := io.ReadFull(c, make([]byte, 5)); err != nil {
				t.Error(err)
			}
		}
		if self, err := os.FindProcess(os.Getpid()); err != nil || self.Signal(os.Interrupt) != nil {
			t.Error("no signal was sent")
		}
		<-ending
	}()
	if err := onLoops(e.loops, "echo", e.main); err != nil {
		t.Error(err)
	}
	<-done
	for _, want := range []string{"6 connections may go on", "served      6 connections", "sent back   30 bytes", "cut off     0"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("it did not say %q, but\n%s", want, &said)
		}
	}
}
