package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/examples/internal/program"
)

func TestMain(m *testing.M) { program.Main(m, main) }

// A member is somebody in the room.
type member struct {
	*testing.T
	net.Conn
	in *bufio.Reader
}

// enter comes into the room at address.
func enter(t *testing.T, address, name string) *member {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	m := &member{t, c, bufio.NewReader(c)}
	m.hears("your name?")
	m.says(name)
	return m
}

func (m *member) says(line string) {
	m.Helper()
	if _, err := fmt.Fprintln(m, line); err != nil {
		m.Fatal(err)
	}
}

func (m *member) hears(want string) {
	m.Helper()
	line, err := m.in.ReadString('\n')
	if err != nil || line != want+"\n" {
		m.Fatalf("heard %q and %v, not %q", line, err, want)
	}
}

func open(t *testing.T) (p *program.Process, address string) {
	t.Helper()
	p = program.Start(t, "-addr", "localhost:0")
	return p, strings.TrimPrefix(p.Line(), "listening on ")
}

// TestChat has each hear the others, and nobody hear himself.
func TestChat(t *testing.T) {
	p, address := open(t)
	ann := enter(t, address, "ann")
	bob := enter(t, address, "bob")
	ann.hears("bob came in")
	cid := enter(t, address, "cid")
	ann.hears("cid came in")
	bob.hears("cid came in")
	bob.says("hello")
	ann.hears("bob: hello")
	cid.hears("bob: hello")
	cid.says("hello, bob")
	ann.hears("cid: hello, bob")
	bob.hears("cid: hello, bob")
	if err := bob.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if line, err := bob.in.ReadString('\n'); err != io.EOF {
		t.Fatalf("who leaves reads %q and %v, not io.EOF", line, err)
	}
	ann.hears("bob left")
	cid.hears("bob left")
	p.Interrupt()
	p.End()
}

// TestSlowMember has a member who never listens be put out, instead of holding
// up the others or filling the memory.
func TestSlowMember(t *testing.T) {
	p, address := open(t)
	ann := enter(t, address, "ann")
	enter(t, address, "deaf")
	ann.hears("deaf came in")
	left := make(chan error)
	go func() {
		_, err := ann.in.ReadString('\n')
		left <- err
	}()
	// Far more than the system keeps for a connection.
	long := strings.Repeat("la ", 20_000)
	for lines := 0; ; lines++ {
		select {
		case err := <-left:
			if err != nil {
				t.Fatal(err)
			}
			p.Interrupt()
			p.End()
			return
		default:
			if lines > 10_000 {
				t.Fatal("after 600 MB the deaf member is still there")
			}
			ann.says(long)
		}
	}
}
