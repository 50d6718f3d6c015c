// Command chat asks each member for a name: step 4 of docs/TUTORIAL.md.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"net"
	"strings"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

var address = "localhost:7000"

func main() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", address)
		if err != nil {
			return err
		}
		fmt.Println("listening on", l.Addr())
		return socket.Serve(ctx, l, newRoom().serve)
	})
	if err != nil {
		log.Fatal(err)
	}
}

// A room is shared by the tasks of all its members. It has no lock.
type room struct {
	members map[string]*member // by name
}

// A member has a queue of lines that it has not been sent yet.
type member struct {
	name  string
	conn  net.Conn
	in    *bufio.Scanner
	lines *rondo.Queue[string]
}

func newRoom() *room {
	return &room{members: make(map[string]*member)}
}

// serve is called for each connection, in a task of its own. That task writes; a second
// one reads.
func (r *room) serve(ctx context.Context, c net.Conn) error {
	m := &member{conn: c, in: bufio.NewScanner(c), lines: rondo.NewQueue[string](64)}
	err := rondo.Timeout(ctx, time.Minute, func(ctx context.Context) error { return r.enter(m) })
	if err != nil || m.name == "" {
		return err
	}
	defer r.leave(m)
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(func(ctx context.Context) error { return r.read(m) })
		defer g.Cancel(nil) // when the writer is done, the reader is not needed
		return m.write(g)
	})
}

// enter asks for a name until there is a free one. m has no name if the client left.
func (r *room) enter(m *member) error {
	for {
		if _, err := fmt.Fprintln(m.conn, "your name?"); err != nil || !m.in.Scan() {
			return err
		}
		name := strings.TrimSpace(m.in.Text())
		if name == "" || r.members[name] != nil {
			if _, err := fmt.Fprintln(m.conn, "that name is taken"); err != nil {
				return err
			}
			continue
		}
		if _, err := fmt.Fprintln(m.conn, "welcome,", name); err != nil {
			return err
		}
		m.name, r.members[name] = name, m
		r.say(m, name+" came in")
		return nil
	}
}

// read passes on what a member says, until it has said all.
func (r *room) read(m *member) error {
	defer r.leave(m)
	for m.in.Scan() { // waits for a line: other tasks run meanwhile
		r.say(m, m.name+": "+m.in.Text())
	}
	return m.in.Err()
}

// write sends a member its lines, until the queue is closed and empty.
func (m *member) write(ctx context.Context) error {
	for line := range m.lines.All(ctx) {
		if _, err := fmt.Fprintln(m.conn, line); err != nil {
			return err
		}
	}
	return rondo.Check(ctx)
}

// leave takes a member out of the room, unless it has left. Its writer ends when it has
// sent what is left.
func (r *room) leave(m *member) {
	if r.members[m.name] == m {
		delete(r.members, m.name)
		m.lines.Close()
		r.say(m, m.name+" left")
	}
}

// say sends a line to all members except its speaker. It never waits: a member whose
// queue is full has not read for 64 lines, and has to go.
func (r *room) say(speaker *member, line string) {
	for _, m := range r.members {
		if m != speaker && !m.lines.TryPut(line) {
			r.leave(m)
			m.conn.Close()
		}
	}
}
