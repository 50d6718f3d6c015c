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
	"github.com/rondo-go/rondo/examples/internal/talk"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

func TestMain(m *testing.M) { program.Main(m, main) }

func start(t *testing.T, args ...string) (p *program.Process, address string) {
	t.Helper()
	p = program.Start(t, append(args, "-addr", "localhost:0")...)
	return p, talk.Address(t, p)
}

// TestTopics has messages go to those who subscribed, and to nobody else.
func TestTopics(t *testing.T) {
	p, address := start(t)
	ann, bob, cid := talk.Dial(t, address), talk.Dial(t, address), talk.Dial(t, address)
	for _, step := range []struct {
		who            *talk.Client
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
		step.who.Says(step.request)
		step.who.Hears(step.reply)
	}
	ann.Hears("MSG news it is  out")
	bob.Hears("MSG news it is  out")
	bob.Hears("MSG weather rain")
	ann.Says("UNSUB news")
	ann.Hears("OK")
	bob.Says("PUB news x")
	bob.Hears("MSG news x")
	bob.Hears("OK 1")
	bob.Leaves()
	bob.Ends()
	cid.Says("PUB news y")
	cid.Hears("OK 0")
	p.Interrupt()
	cid.Ends()
	p.End()
}

// TestBadRequests has each answered with a sentence, and the next one served.
func TestBadRequests(t *testing.T) {
	p, address := start(t)
	c := talk.Dial(t, address)
	for _, request := range []string{"", "SUB", "SUB ", "SUB a b", "UNSUB", "PUB", "PUB a", "PUB  a", "sub a", "GET / HTTP/1.1", "\x00"} {
		c.Says(request)
		c.Hears("ERR expected SUB topic, UNSUB topic or PUB topic text")
	}
	c.Says("UNSUB never-subscribed")
	c.Hears("OK")
	for i := range topicsMax {
		c.Says(fmt.Sprint("SUB ", i))
		c.Hears("OK")
	}
	c.Says("SUB more")
	c.Hears("ERR more than 1000 topics")
	c.Says("PUB a " + strings.Repeat("x", lineMax))
	c.Hears("ERR a line has at most 65536 bytes")
	p.Interrupt()
	if _, errors, code := p.Wait(); code != 0 || strings.Count(errors, "\n") != 1 || !strings.Contains(errors, "token too long") {
		t.Errorf("exit code %d: %s", code, errors)
	}
}

// TestDeafSubscriber has one who never reads be waited for, and then cut off;
// the others get every message.
func TestDeafSubscriber(t *testing.T) {
	p, address := start(t, "-patience", "10ms")
	deaf, ann, cid := talk.Dial(t, address), talk.Dial(t, address), talk.Dial(t, address)
	for _, who := range []*talk.Client{deaf, ann} {
		who.Says("SUB a")
		who.Hears("OK")
	}
	text := strings.Repeat("x", 50_000)
	for n := 0; ; n++ {
		if n > 10_000 {
			t.Fatal("after 500 MB the deaf subscriber is still there")
		}
		cid.Says(fmt.Sprint("PUB a ", n, text))
		ann.Hears(fmt.Sprint("MSG a ", n, text))
		line := cid.Line()
		if line == "OK 1" {
			break
		}
		if line != "OK 2" {
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
