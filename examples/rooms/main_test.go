package main

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/examples/internal/program"
	"github.com/rondo-go/rondo/examples/internal/talk"
)

func TestMain(m *testing.M) { program.Main(m, main) }

// enter comes into a room under a name.
func enter(t *testing.T, address, room, name string) *talk.Client {
	t.Helper()
	c := talk.Dial(t, address)
	c.Hears("which room, and your name?")
	c.Says(room + " " + name)
	c.Hears(name + " came in")
	return c
}

// TestRooms has members on three loops talk in two rooms. Each hears all of its own room
// in one order, and nothing of the other.
func TestRooms(t *testing.T) {
	p := program.Start(t, "-addr", "localhost:0", "-loops", "3")
	address, ok := strings.CutPrefix(p.Line(), "listening on ")
	address, loops, _ := strings.Cut(address, " ")
	if !ok || loops != "with 3 loops" {
		t.Fatalf("it listens on %q, %q", address, loops)
	}
	var red []*talk.Client
	for i := range 5 {
		name := fmt.Sprint("red", i)
		g := enter(t, address, "red", name)
		for _, other := range red {
			other.Hears(name + " came in")
		}
		red = append(red, g)
	}
	blue := enter(t, address, "blue", "bo")
	for i, g := range red {
		g.Says(fmt.Sprint("line ", i))
		for _, other := range red {
			other.Hears(fmt.Sprintf("red%d: line %d", i, i))
		}
	}
	blue.Says("alone")
	blue.Hears("bo: alone")
	red[0].Close()
	for _, other := range red[1:] {
		other.Hears("red0 left")
	}
	p.Interrupt()
	for _, g := range append(red[1:], blue) {
		g.Close()
	}
	p.End()
}

// TestSlow: a member that does not read is disconnected, and the others are told.
func TestSlow(t *testing.T) {
	p := program.Start(t, "-addr", "localhost:0", "-loops", "2")
	address, _, _ := strings.Cut(strings.TrimPrefix(p.Line(), "listening on "), " ")
	slow := enter(t, address, "red", "slow")
	if err := slow.Conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	talker := enter(t, address, "red", "talker")
	line := strings.Repeat("x", 1000)
	for heard := ""; heard != "slow left"; {
		talker.Says(line)
		for heard = ""; heard != "talker: "+line && heard != "slow left"; {
			heard = talker.Line()
		}
	}
	talker.Close()
	p.Interrupt()
	p.End()
}

// TestWrong: a first line without a name is refused.
func TestWrong(t *testing.T) {
	p := program.Start(t, "-addr", "localhost:0", "-loops", "2")
	address, _, _ := strings.Cut(strings.TrimPrefix(p.Line(), "listening on "), " ")
	c := talk.Dial(t, address)
	c.Hears("which room, and your name?")
	c.Says("nobody")
	c.Hears("say: ROOM NAME")
	p.Interrupt()
	p.End()
}
