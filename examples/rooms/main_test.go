package main

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/examples/internal/program"
)

func TestMain(m *testing.M) { program.Main(m, main) }

// A guest is a client.
type guest struct {
	*testing.T
	net.Conn
	in *bufio.Reader
}

func enter(t *testing.T, address, room, name string) *guest {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	g := &guest{t, c, bufio.NewReader(c)}
	g.hears("which room, and your name?")
	g.says(room + " " + name)
	g.hears(name + " came in")
	return g
}

func (g *guest) says(line string) {
	g.Helper()
	if _, err := fmt.Fprintln(g, line); err != nil {
		g.Fatal(err)
	}
}

func (g *guest) hears(want string) {
	g.Helper()
	line, err := g.in.ReadString('\n')
	if strings.TrimSuffix(line, "\n") != want {
		g.Fatalf("heard %q, %v; want %q", line, err, want)
	}
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
	var red []*guest
	for i := range 5 {
		name := fmt.Sprint("red", i)
		g := enter(t, address, "red", name)
		for _, other := range red {
			other.hears(name + " came in")
		}
		red = append(red, g)
	}
	blue := enter(t, address, "blue", "bo")
	for i, g := range red {
		g.says(fmt.Sprint("line ", i))
		for _, other := range red {
			other.hears(fmt.Sprintf("red%d: line %d", i, i))
		}
	}
	blue.says("alone")
	blue.hears("bo: alone")
	red[0].Close()
	for _, other := range red[1:] {
		other.hears("red0 left")
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
	for heard := ""; heard != "slow left\n"; {
		talker.says(line)
		var err error
		for heard = ""; heard != "talker: "+line+"\n" && heard != "slow left\n"; {
			if heard, err = talker.in.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
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
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	g := &guest{t, c, bufio.NewReader(c)}
	g.hears("which room, and your name?")
	g.says("nobody")
	g.hears("say: ROOM NAME")
	p.Interrupt()
	p.End()
}
