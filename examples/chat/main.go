// Command chat is a chat room. A client that connects gives a name, and each line it
// sends goes to all others. A newcomer receives the last lines. To try it:
//
//	go run ./examples/chat
//	nc localhost 7778        # in several terminals; or curl telnet://localhost:7778
//
// Up to 64 lines wait for a member that does not read. The next one disconnects it, so
// that a slow client holds up nobody. Ctrl-C says goodbye to all members, and gives
// them a second to read it.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

var goodName = regexp.MustCompile(`^[\pL\pN_-]{1,20}$`)
var control = regexp.MustCompile(`\pC`) // would disturb the terminals of others

const backlog, history, lineMax = 64, 20, 1024 // lines for a member, lines for a newcomer, bytes

// A room is shared by the tasks of all its members without a lock. None of its methods
// waits, so each is atomic to all other tasks.
type room struct {
	members []*member
	said    []string // the last lines
}

// A member has a queue of lines, which a separate task writes to the connection.
type member struct {
	net.Conn
	name  string
	lines *rondo.Queue[string]
}

// say sends a line to all members except its speaker. It disconnects a member whose
// queue is full; the member's reader then ends.
func (r *room) say(speaker *member, line string) {
	for _, m := range r.members {
		if m != speaker && !m.lines.TryPut(line) {
			m.lines.Abort()
			_ = m.Close()
		}
	}
}

// enter adds m under a name, if the name is allowed and free.
func (r *room) enter(m *member, name string) (wrong string) {
	if !goodName.MatchString(name) {
		return "a name has 1 to 20 letters, digits, - or _; "
	}
	if slices.ContainsFunc(r.members, func(o *member) bool { return strings.EqualFold(o.name, name) }) {
		return "that name is taken; "
	}
	m.name, r.members = name, append(r.members, m)
	for _, line := range r.said {
		m.lines.TryPut(line) // there is room for all of them
	}
	r.say(m, name+" came in")
	return ""
}

// serve handles one member, with a task that reads and one that writes. The writer is
// shielded: it ends with the queue, and not with the cancellation of the program.
func (r *room) serve(ctx context.Context, c net.Conn) error {
	m := &member{Conn: c, lines: rondo.NewQueue[string](backlog)}
	in := bufio.NewScanner(c)
	in.Buffer(nil, lineMax)
	err := rondo.Timeout(ctx, time.Minute, func(context.Context) error { return r.ask(m, in) })
	if m.name == "" {
		return err
	}
	err = rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(func(ctx context.Context) error { return rondo.Shield(ctx, m.write) })
		for in.Scan() {
			line := m.name + ": " + control.ReplaceAllString(in.Text(), "")
			r.said = append(r.said, line)
			r.said = r.said[max(0, len(r.said)-history):]
			r.say(m, line)
		}
		err, goodbye := in.Err(), "goodbye"
		if errors.Is(err, bufio.ErrTooLong) {
			err, goodbye = nil, fmt.Sprintf("a line has at most %d bytes; goodbye", lineMax)
		}
		r.members = slices.DeleteFunc(r.members, func(o *member) bool { return o == m })
		if rondo.Check(ctx) != nil {
			err, goodbye = nil, "the room is closed; goodbye"
		} else {
			r.say(m, m.name+" left")
		}
		m.lines.TryPut(goodbye)
		m.lines.Close()
		return errors.Join(err, m.SetWriteDeadline(rondo.Now(g).Add(time.Second)))
	})
	if errors.Is(err, net.ErrClosed) {
		return nil // it was disconnected
	}
	return err
}

// ask asks for a name until the client has given a good one or has gone.
func (r *room) ask(m *member, in *bufio.Scanner) error {
	for wrong := ""; m.name == ""; wrong = r.enter(m, in.Text()) {
		if _, err := fmt.Fprintln(m, wrong+"your name?"); err != nil || !in.Scan() {
			return errors.Join(err, in.Err())
		}
	}
	return nil
}

// write writes the lines for m, until its queue is closed and empty.
func (m *member) write(ctx context.Context) error {
	for line := range m.lines.All(ctx) {
		if _, err := fmt.Fprintln(m, line); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	address := flag.String("addr", "localhost:7778", "where to listen")
	flag.Parse()
	r := rondo.Runner{Interrupt: true}
	err := r.Run(context.Background(), func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", *address)
		if err != nil {
			return err
		}
		fmt.Println("listening on", l.Addr())
		s := socket.Server{Handler: new(room).serve, MaxConns: 1000}
		return s.Serve(ctx, l)
	})
	if !errors.As(err, new(rondo.SignalError)) {
		log.Fatal(err)
	}
}
