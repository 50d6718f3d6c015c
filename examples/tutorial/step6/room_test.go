package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// A client is the other end of a connection that a room serves.
type client struct {
	net.Conn
	in *bufio.Scanner
}

// connect connects a client to the room, in memory.
func connect(g *rondo.Scope, r *room) *client {
	ours, theirs := socket.Pipe(g)
	g.Go(func(ctx context.Context) error {
		defer theirs.Close()
		if err := r.serve(ctx, theirs); !errors.Is(err, io.ErrClosedPipe) {
			return err
		}
		return nil // the client left without a word
	})
	return &client{ours, bufio.NewScanner(ours)}
}

// says sends a line.
func (c *client) says(line string) { fmt.Fprintln(c, line) }

// hears returns the next line.
func (c *client) hears() string {
	c.in.Scan()
	return c.in.Text()
}

// enter connects a client and says its name. It returns the answer.
func enter(g *rondo.Scope, r *room, name string) (c *client, answer string) {
	c = connect(g, r)
	c.hears() // your name?
	c.says(name)
	return c, c.hears()
}

func TestTalk(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		r := newRoom()
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			defer g.Cancel(nil) // ends the room
			ann, _ := enter(g, r, "ann")
			bob, _ := enter(g, r, "bob")
			if line := ann.hears(); line != "bob came in" {
				t.Errorf("ann hears %q", line)
			}
			bob.says("hello")
			if line := ann.hears(); line != "bob: hello" {
				t.Errorf("ann hears %q", line)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestOneName has two clients ask for the same name at once. One of them gets it.
func TestOneName(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		r := newRoom()
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			defer g.Cancel(nil) // ends the room
			ask := func(ctx context.Context) (string, error) {
				_, answer := enter(g, r, "ann")
				return answer, nil
			}
			answers, err := rondo.Gather(g, ask, ask)
			slices.Sort(answers)
			if want := []string{"that name is taken", "welcome, ann"}; !slices.Equal(answers, want) {
				t.Errorf("the answers are %q", answers)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}
