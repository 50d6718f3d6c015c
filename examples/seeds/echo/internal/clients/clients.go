// Package clients simulates the three clients that all echo servers here have.
// Each connects, says two words, hears each of them back, and leaves.
//
// They say what they do, in the order in which they do it, and that order depends
// on the server alone and not on the time that anything takes.
package clients

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"
)

// Count is how many clients there are.
const Count = 3

const (
	patience = 2 * time.Minute       // for an answer that must come
	moment   = 20 * time.Millisecond // for one that must not
)

var words = [...]string{"Hello", "world!"}

// A Client is one of them, connected.
type Client struct {
	w      io.Writer
	number int
	conn   net.Conn
}

// Dial connects a client.
func Dial(w io.Writer, number int, address string) (*Client, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	c := &Client{w, number, conn}
	c.log("connects")
	return c, nil
}

// Say sends a word.
func (c *Client) Say(word string) error {
	c.log("says " + word)
	_, err := io.WriteString(c.conn, word)
	return err
}

// Hear waits for a word, and fails if it is another one.
func (c *Client) Hear(word string) error {
	heard := make([]byte, len(word))
	if err := c.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := io.ReadFull(c.conn, heard); err != nil {
		return fmt.Errorf("client %d has said %s: %w", c.number, word, err)
	}
	c.log("hears " + string(heard))
	if string(heard) != word {
		return fmt.Errorf("client %d has said %s and heard %s", c.number, word, heard)
	}
	return nil
}

// Wait fails if the client has an answer, where it is to have none yet.
func (c *Client) Wait() error {
	if err := c.conn.SetReadDeadline(time.Now().Add(moment)); err != nil {
		return err
	}
	if n, err := c.conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("client %d has an answer, or none will come: %d, %v", c.number, n, err)
	}
	c.log("waits for an answer")
	return nil
}

// Leave disconnects the client.
func (c *Client) Leave() error {
	c.log("leaves")
	return c.conn.Close()
}

func (c *Client) log(text string) {
	fmt.Fprintf(c.w, "%sclient %d %s\n", strings.Repeat("        ", c.number), c.number, text)
}

// Talk has all clients connect and say their first word, and those that the
// server serves, at most atOnce together, talk to it in turns. The others wait
// until these have left.
func Talk(w io.Writer, address string, atOnce int) error {
	var list []*Client
	for number := range Count {
		c, err := Dial(w, number, address)
		if err != nil {
			return err
		}
		defer c.conn.Close()
		list = append(list, c)
	}
	if err := Each(list, func(c *Client) error { return c.Say(words[0]) }); err != nil {
		return err
	}
	for len(list) > 0 {
		n := min(atOnce, len(list))
		served, queue := list[:n], list[n:]
		if err := Each(served, func(c *Client) error { return c.Hear(words[0]) }); err != nil {
			return err
		}
		if err := Each(queue, (*Client).Wait); err != nil {
			return err
		}
		if err := Finish(served); err != nil {
			return err
		}
		list = queue
	}
	return nil
}

// Finish has the clients of list, whose first word is through, say the other one,
// hear it, and leave.
func Finish(list []*Client) error {
	say := func(c *Client) error { return c.Say(words[1]) }
	hear := func(c *Client) error { return c.Hear(words[1]) }
	for _, do := range []func(c *Client) error{say, hear, (*Client).Leave} {
		if err := Each(list, do); err != nil {
			return err
		}
	}
	return nil
}

// Each does it with each client, in turn.
func Each(list []*Client, do func(c *Client) error) error {
	for _, c := range list {
		if err := do(c); err != nil {
			return err
		}
	}
	return nil
}
