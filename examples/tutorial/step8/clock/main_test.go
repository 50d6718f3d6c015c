package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-go/rondo/examples/internal/program"
)

// TestMain passes the child the address of the room.
func TestMain(m *testing.M) {
	program.Main(m, func() {
		address, every, grace = os.Args[1], 20*time.Millisecond, time.Minute
		main()
	})
}

// TestGrace: the signal ends the ticks, and visits that have begun go on: the room answers
// only then.
func TestGrace(t *testing.T) {
	room, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	p := program.Start(t, room.Addr().String())
	stopped := make(chan bool)
	serve := func(c net.Conn) {
		defer c.Close()
		<-stopped
		in, lines := bufio.NewScanner(c), []string(nil)
		for _, say := range []string{"your name?", "welcome, clock"} {
			fmt.Fprintln(c, say)
			in.Scan()
			lines = append(lines, in.Text())
		}
		if in.Scan() || lines[0] != "clock" || !strings.HasPrefix(lines[1], "it is ") {
			t.Errorf("the clock said %q and %q", lines, in.Text())
		}
	}
	var visits sync.WaitGroup
	first, err := room.Accept()
	if err != nil {
		t.Fatal(err)
	}
	visits.Go(func() { serve(first) })
	visits.Go(func() { // more ticks may have come
		for {
			c, err := room.Accept()
			if err != nil {
				return
			}
			visits.Go(func() { serve(c) })
		}
	})
	p.Interrupt()
	if line := p.Line(); line != "the clock stops" {
		t.Errorf("it said %q", line)
	}
	close(stopped)
	p.End()
	room.Close()
	visits.Wait()
}
