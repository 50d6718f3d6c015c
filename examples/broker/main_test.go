package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/examples/internal/program"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

func TestMain(m *testing.M) { program.Main(m, main) }

// A peer is a client of the broker under test.
type peer struct {
	*testing.T
	net.Conn
	in *bufio.Reader
}

func dial(t *testing.T, address string) *peer {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &peer{t, c, bufio.NewReader(c)}
}

func (p *peer) send(line string) {
	p.Helper()
	if _, err := fmt.Fprintln(p, line); err != nil {
		p.Fatal(err)
	}
}

func (p *peer) gets(want string) {
	p.Helper()
	line, err := p.in.ReadString('\n')
	if err != nil || line != want+"\n" {
		p.Fatalf("got %.80q and %v, not %.80q", line, err, want)
	}
}

func start(t *testing.T, args ...string) (p *program.Process, address string) {
	t.Helper()
	p = program.Start(t, append(args, "-addr", "localhost:0")...)
	return p, strings.TrimPrefix(p.Line(), "listening on ")
}

// TestTopics has messages go to those who subscribed, and to nobody else.
func TestTopics(t *testing.T) {
	p, address := start(t)
	ann, bob, cid := dial(t, address), dial(t, address), dial(t, address)
	for _, step := range []struct {
		who            *peer
		request, reply string
	}{
		{ann, "SUB news", "OK"},
		{ann, "SUB news", "OK"}, // twice is once
		{bob, "SUB news", "OK"},
		{bob, "SUB weather", "OK"},
		{cid, "PUB news it is  out", "OK 2"},
		{cid, "PUB weather rain", "OK 1"},
		{cid, "PUB sports 3:1", "OK 0"},
	} {
		step.who.send(step.request)
		step.who.gets(step.reply)
	}
	ann.gets("MSG news it is  out")
	bob.gets("MSG news it is  out")
	bob.gets("MSG weather rain")
	ann.send("UNSUB news")
	ann.gets("OK")
	bob.send("PUB news x")
	bob.gets("MSG news x")
	bob.gets("OK 1")
	if err := bob.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if line, err := bob.in.ReadString('\n'); err != io.EOF {
		t.Errorf("who leaves reads %q and %v", line, err)
	}
	cid.send("PUB news y")
	cid.gets("OK 0")
	p.Interrupt()
	if line, err := cid.in.ReadString('\n'); err != io.EOF {
		t.Errorf("at the end came %q and %v", line, err)
	}
	p.End()
}

// TestBadRequests has each answered with a sentence, and the next one served.
func TestBadRequests(t *testing.T) {
	p, address := start(t)
	c := dial(t, address)
	for _, request := range []string{"", "SUB", "SUB ", "SUB a b", "UNSUB", "PUB", "PUB a", "PUB  a", "sub a", "GET / HTTP/1.1", "\x00"} {
		c.send(request)
		c.gets("ERR expected SUB topic, UNSUB topic or PUB topic text")
	}
	c.send("UNSUB never-subscribed")
	c.gets("OK")
	for i := range topicsMax {
		c.send(fmt.Sprint("SUB ", i))
		c.gets("OK")
	}
	c.send("SUB more")
	c.gets("ERR more than 1000 topics")
	c.send("PUB a " + strings.Repeat("x", lineMax))
	c.gets("ERR a line has at most 65536 bytes")
	p.Interrupt()
	if _, errors, code := p.Wait(); code != 0 || strings.Count(errors, "\n") != 1 || !strings.Contains(errors, "token too long") {
		t.Errorf("exit code %d: %s", code, errors)
	}
}

// TestDeafSubscriber has one who never reads be waited for, and then cut off;
// the others get every message.
func TestDeafSubscriber(t *testing.T) {
	p, address := start(t, "-patience", "10ms")
	deaf, ann, cid := dial(t, address), dial(t, address), dial(t, address)
	for _, who := range []*peer{deaf, ann} {
		who.send("SUB a")
		who.gets("OK")
	}
	text := strings.Repeat("x", 50_000)
	for n := 0; ; n++ {
		if n > 10_000 {
			t.Fatal("after 500 MB the deaf subscriber is still there")
		}
		cid.send(fmt.Sprint("PUB a ", n, text))
		ann.gets(fmt.Sprint("MSG a ", n, text))
		line, err := cid.in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if line == "OK 1\n" {
			break
		}
		if line != "OK 2\n" {
			t.Fatalf("published: %q", line)
		}
	}
	p.Interrupt()
	p.End()
}

// TestSlowSubscriber has one who takes a message each second: publishers are
// slowed down, none of the messages is lost, and nobody is cut off.
func TestSlowSubscriber(t *testing.T) {
	const publishers, each = 3, 60
	sim.Config{Exact: true}.Test(t, func(ctx context.Context) {
		b := newBroker(time.Hour)
		connect := func(g *rondo.Scope) net.Conn {
			ours, theirs := socket.Pipe(g)
			g.Go(func(ctx context.Context) error {
				defer ours.Close()
				err := b.serve(ctx, ours)
				if errors.Is(err, io.ErrClosedPipe) {
					return nil
				}
				return err
			})
			return theirs
		}
		began := rondo.Now(ctx)
		var got []string
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			slow := connect(g)
			in := bufio.NewScanner(slow)
			fmt.Fprintln(slow, "SUB a")
			in.Scan()
			for i := range publishers {
				g.Go(func(ctx context.Context) error {
					c := connect(g)
					defer c.Close()
					answers := bufio.NewScanner(c)
					for n := range each {
						fmt.Fprintf(c, "PUB a %d.%d\n", i, n)
						if !answers.Scan() || answers.Text() != "OK 1" {
							return fmt.Errorf("answer %q, %v", answers.Text(), answers.Err())
						}
					}
					return nil
				})
			}
			for len(got) < publishers*each && in.Scan() {
				got = append(got, strings.TrimPrefix(in.Text(), "MSG a "))
				if err := rondo.Sleep(g, time.Second); err != nil {
					return err
				}
			}
			return errors.Join(in.Err(), slow.Close())
		})
		if err != nil {
			t.Error(err)
		}
		if took := rondo.Now(ctx).Sub(began); took != publishers*each*time.Second {
			t.Error("it took", took)
		}
		for i := range publishers {
			var want, its []string
			for n := range each {
				want = append(want, fmt.Sprintf("%d.%d", i, n))
			}
			for _, text := range got {
				if strings.HasPrefix(text, fmt.Sprint(i, ".")) {
					its = append(its, text)
				}
			}
			if !slices.Equal(its, want) {
				t.Errorf("of publisher %d came %v", i, its)
			}
		}
		if len(b.topics) != 0 {
			t.Error(len(b.topics), "topics are left")
		}
	})
}
