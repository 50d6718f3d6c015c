package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/examples/internal/program"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

func TestMain(m *testing.M) { program.Main(m, main) }

// A member is somebody in the room.
type guest struct {
	*testing.T
	net.Conn
	in *bufio.Reader
}

// enter comes into the room at address.
func enter(t *testing.T, address, name string) *guest {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	m := &guest{t, c, bufio.NewReader(c)}
	m.hears("your name?")
	m.says(name)
	return m
}

func (m *guest) says(line string) {
	m.Helper()
	if _, err := fmt.Fprintln(m, line); err != nil {
		m.Fatal(err)
	}
}

func (m *guest) hears(want string) {
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
	bob.hears("goodbye")
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
	long := strings.Repeat("la ", 300)
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
			if lines > 100_000 { // far more than the system keeps for a connection
				t.Fatal("after 90 MB the deaf member is still there")
			}
			ann.says(long)
		}
	}
}

// TestNames has those who come in with no good name be asked again.
func TestNames(t *testing.T) {
	p, address := open(t)
	ann := enter(t, address, "ann")
	bob := enter(t, address, "")
	bob.hears("a name has 1 to 20 letters, digits, - or _; your name?")
	bob.says("bob the \x1b[31mgreat")
	bob.hears("a name has 1 to 20 letters, digits, - or _; your name?")
	bob.says("ANN")
	bob.hears("that name is taken; your name?")
	bob.says("Zoë")
	ann.hears("Zoë came in")
	bob.says("\x1b[2Jthere\a")
	ann.hears("Zoë: [2Jthere")
	// Who goes without a name was never there.
	nobody := enter(t, address, "")
	nobody.hears("a name has 1 to 20 letters, digits, - or _; your name?")
	if err := nobody.Close(); err != nil {
		t.Fatal(err)
	}
	ann.says(strings.Repeat("a", 2000))
	ann.hears("a line has at most 1024 bytes; goodbye")
	bob.hears("ann left")
	p.Interrupt()
	bob.hears("the room is closed; goodbye")
	p.End()
}

// TestHistory has a newcomer hear the last 20 lines that were said.
func TestHistory(t *testing.T) {
	p, address := open(t)
	ann := enter(t, address, "ann")
	bob := enter(t, address, "bob")
	ann.hears("bob came in")
	for i := range 25 {
		ann.says(fmt.Sprint(i))
		bob.hears(fmt.Sprint("ann: ", i))
	}
	cid := enter(t, address, "cid")
	for i := 5; i < 25; i++ {
		cid.hears(fmt.Sprint("ann: ", i))
	}
	cid.says("hm")
	bob.hears("cid came in")
	bob.hears("cid: hm")
	p.Interrupt()
	p.End()
}

// TestClosed has the room closed while one member listens, one does not, and
// a third has not said his name.
func TestClosed(t *testing.T) {
	p, address := open(t)
	ann := enter(t, address, "ann")
	enter(t, address, "deaf")
	ann.hears("deaf came in")
	enter(t, address, "")
	p.Interrupt()
	ann.hears("the room is closed; goodbye")
	if line, err := ann.in.ReadString('\n'); err != io.EOF {
		t.Errorf("after the goodbye came %q and %v", line, err)
	}
	p.End()
}

// TestAnyOrder has three come in, speak, hear the others out and leave, in the
// orders that seeds find. Whenever somebody came in, he has heard each line once,
// and what one has said in the order in which it was.
func TestAnyOrder(t *testing.T) {
	const n = 3
	sim.Test(t, func(ctx context.Context) {
		r := new(room)
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			for i := range n {
				ours, theirs := socket.Pipe(g)
				g.Go(func(ctx context.Context) error {
					defer ours.Close()
					err := r.serve(ctx, ours)
					if errors.Is(err, io.ErrClosedPipe) { // he did not wait for the goodbye
						return nil
					}
					return err
				})
				g.Go(func(ctx context.Context) error {
					defer theirs.Close()
					var heard [n]string
					in := bufio.NewScanner(theirs)
					in.Scan()
					fmt.Fprintf(theirs, "m%d\n", i)
					speaker := rondo.Go(ctx, func(context.Context) error {
						_, err := io.WriteString(theirs, "a\nb\nc\n")
						return err
					})
					for count := 0; count < 3*(n-1) && in.Scan(); {
						if who, what, ok := strings.Cut(in.Text(), ": "); ok {
							count++
							heard[who[1]-'0'] += what
						}
					}
					for j, got := range heard {
						if i != j && got != "abc" || i == j && got != "" {
							t.Errorf("m%d heard m%d say %q", i, j, got)
						}
					}
					return speaker.Wait(ctx)
				})
			}
			return nil
		})
		if err != nil || len(r.members) != 0 {
			t.Errorf("%d are still in the room: %v", len(r.members), err)
		}
	})
}
