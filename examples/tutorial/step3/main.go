// Command chat has a queue for each member: step 3 of docs/TUTORIAL.md.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"net"

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
	members map[*member]bool
}

// A member has a queue of lines that it has not been sent yet.
type member struct {
	conn  net.Conn
	lines *rondo.Queue[string]
}

func newRoom() *room {
	return &room{members: make(map[*member]bool)}
}

// serve is called for each connection, in a task of its own. That task writes; a second
// one reads.
func (r *room) serve(ctx context.Context, c net.Conn) error {
	m := &member{conn: c, lines: rondo.NewQueue[string](64)}
	r.members[m] = true
	defer r.leave(m)
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(func(ctx context.Context) error { return r.read(m) })
		defer g.Cancel(nil) // when the writer is done, the reader is not needed
		return m.write(g)
	})
}

// read passes on what a member says, until it has said all.
func (r *room) read(m *member) error {
	defer r.leave(m)
	in := bufio.NewScanner(m.conn)
	for in.Scan() { // waits for a line: other tasks run meanwhile
		r.say(m, in.Text())
	}
	return in.Err()
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

// leave takes a member out of the room. Its writer ends when it has sent what is left.
func (r *room) leave(m *member) {
	delete(r.members, m)
	m.lines.Close()
}

// say sends a line to all members except its speaker. It never waits: a member whose
// queue is full has not read for 64 lines, and has to go.
func (r *room) say(speaker *member, line string) {
	for m := range r.members {
		if m != speaker && !m.lines.TryPut(line) {
			r.leave(m)
			m.conn.Close()
		}
	}
}
