package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/examples/internal/program"
	"github.com/rondo-go/rondo/examples/internal/talk"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

func TestMain(m *testing.M) { program.Main(m, main) }

// enter comes into the room at address under a name.
func enter(t *testing.T, address, name string) *talk.Client {
	t.Helper()
	c := talk.Dial(t, address)
	c.Hears("your name?")
	c.Says(name)
	return c
}

func open(t *testing.T) (p *program.Process, address string) {
	t.Helper()
	p = program.Start(t, "-addr", "localhost:0")
	return p, talk.Address(t, p)
}

// TestChat has each hear the others, and nobody hear himself.
func TestChat(t *testing.T) {
	p, address := open(t)
	ann := enter(t, address, "ann")
	bob := enter(t, address, "bob")
	ann.Hears("bob came in")
	cid := enter(t, address, "cid")
	ann.Hears("cid came in")
	bob.Hears("cid came in")
	bob.Says("hello")
	ann.Hears("bob: hello")
	cid.Hears("bob: hello")
	cid.Says("hello, bob")
	ann.Hears("cid: hello, bob")
	bob.Hears("cid: hello, bob")
	bob.Leaves()
	bob.Hears("goodbye")
	bob.Ends()
	ann.Hears("bob left")
	cid.Hears("bob left")
	p.Interrupt()
	p.End()
}

// TestSlowMember has a member who never listens be put out, instead of holding
// up the others or filling the memory.
func TestSlowMember(t *testing.T) {
	p, address := open(t)
	ann := enter(t, address, "ann")
	enter(t, address, "deaf")
	ann.Hears("deaf came in")
	left := make(chan error)
	go func() {
		_, err := bufio.NewReader(ann).ReadString('\n')
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
			ann.Says(long)
		}
	}
}

// TestNames has those who come in with no good name be asked again.
func TestNames(t *testing.T) {
	p, address := open(t)
	ann := enter(t, address, "ann")
	bob := enter(t, address, "")
	bob.Hears("a name has 1 to 20 letters, digits, - or _; your name?")
	bob.Says("bob the \x1b[31mgreat")
	bob.Hears("a name has 1 to 20 letters, digits, - or _; your name?")
	bob.Says("ANN")
	bob.Hears("that name is taken; your name?")
	bob.Says("Zoë")
	ann.Hears("Zoë came in")
	bob.Says("\x1b[2Jthere\a")
	ann.Hears("Zoë: [2Jthere")
	// Who goes without a name was never there.
	nobody := enter(t, address, "")
	nobody.Hears("a name has 1 to 20 letters, digits, - or _; your name?")
	if err := nobody.Close(); err != nil {
		t.Fatal(err)
	}
	ann.Says(strings.Repeat("a", 2000))
	ann.Hears("a line has at most 1024 bytes; goodbye")
	bob.Hears("ann left")
	p.Interrupt()
	bob.Hears("the room is closed; goodbye")
	p.End()
}

// TestHistory has a newcomer hear the last 20 lines that were said.
func TestHistory(t *testing.T) {
	p, address := open(t)
	ann := enter(t, address, "ann")
	bob := enter(t, address, "bob")
	ann.Hears("bob came in")
	for i := range 25 {
		ann.Says(fmt.Sprint(i))
		bob.Hears(fmt.Sprint("ann: ", i))
	}
	cid := enter(t, address, "cid")
	for i := 5; i < 25; i++ {
		cid.Hears(fmt.Sprint("ann: ", i))
	}
	cid.Says("hm")
	bob.Hears("cid came in")
	bob.Hears("cid: hm")
	p.Interrupt()
	p.End()
}

// TestClosed has the room closed while one member listens, one does not, and
// a third has not said his name.
func TestClosed(t *testing.T) {
	p, address := open(t)
	ann := enter(t, address, "ann")
	enter(t, address, "deaf")
	ann.Hears("deaf came in")
	enter(t, address, "")
	p.Interrupt()
	ann.Hears("the room is closed; goodbye")
	ann.Ends()
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
