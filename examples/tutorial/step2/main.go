// Command chat sends each line to everybody: step 2 of docs/TUTORIAL.md.
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
	members map[net.Conn]bool
}

func newRoom() *room {
	return &room{members: make(map[net.Conn]bool)}
}

// serve is called for each connection, in a task of its own.
func (r *room) serve(ctx context.Context, c net.Conn) error {
	r.members[c] = true
	defer delete(r.members, c)
	in := bufio.NewScanner(c)
	for in.Scan() { // waits for a line: other tasks run meanwhile
		r.say(c, in.Text())
	}
	return in.Err()
}

// say sends a line to all members except its speaker.
func (r *room) say(speaker net.Conn, line string) {
	for c := range r.members {
		if c != speaker {
			_, _ = fmt.Fprintln(c, line) // a member that has gone is not our error
		}
	}
}
