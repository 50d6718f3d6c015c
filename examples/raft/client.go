package main

import (
	"context"
	"time"

	"github.com/rondo-go/rondo"
)

// A client does one command at a time, again and again until a server has answered.
type client struct {
	name   string // no other client has it, and no earlier life of this one
	number int    // of its latest command
	links  []*link
	at     int // whom it asks
}

func newClient(name string, peers []string) *client {
	c := &client{name: name}
	for _, p := range peers {
		c.links = append(c.links, &link{address: p})
	}
	return c
}

// get returns the value of a key, "" if there is none. If it fails, it has changed
// nothing.
func (c *client) get(ctx context.Context, key string) (string, error) {
	return c.do(ctx, command{Do: "get", Key: key})
}

// set gives a key a value. If it fails, the command may have been done all the same, or
// be done later.
func (c *client) set(ctx context.Context, key, value string) (string, error) {
	c.number++
	return c.do(ctx, command{Client: c.name, Number: c.number, Do: "set", Key: key, Value: value})
}

// append adds text to the value of a key, and returns the new value. If it fails, the
// command may have been done all the same, or be done later.
func (c *client) append(ctx context.Context, key, text string) (string, error) {
	c.number++
	return c.do(ctx, command{Client: c.name, Number: c.number, Do: "append", Key: key, Value: text})
}

// do sends a command to the leader, and looks for the leader if there is another one. It
// goes on until ctx is cancelled. The command keeps its number, so it is done once.
func (c *client) do(ctx context.Context, what command) (string, error) {
	for {
		a, err := c.links[c.at].ask(ctx, time.Second, request{Command: &what})
		if err == nil && a.OK {
			return a.Value, nil
		}
		if next := a.Leader - 1; err == nil && next >= 0 && next < len(c.links) && next != c.at {
			c.at = next
		} else {
			c.at = (c.at + 1) % len(c.links)
		}
		if err := rondo.Sleep(ctx, 50*time.Millisecond); err != nil {
			return "", err
		}
	}
}

// close closes the connections.
func (c *client) close() {
	for _, l := range c.links {
		l.close()
	}
}
