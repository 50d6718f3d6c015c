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
	"github.com/rondo-go/rondo/signals"
	"github.com/rondo-go/rondo/socket"
)

var goodName = regexp.MustCompile(`^[\pL\pN_-]{1,20}$`)
var control = regexp.MustCompile(`\pC`) // would disturb the terminals of others

const backlog, history, lineMax = 64, 20, 1024 // lines for a member, lines for a newcomer, bytes

// A room is shared by the tasks of all its members without a lock. None of its methods
// but serve and ask waits, so each is atomic to all other tasks.
type room struct {
	members []*member
	said    []string // the last lines
}

// A member has a queue of lines. It is in the room until its queue is closed.
type member struct {
	net.Conn
	name  string
	lines *rondo.Queue[string]
}

// say sends a line to all members except its speaker. It disconnects a member whose
// queue is full.
func (r *room) say(speaker *member, line string) {
	for _, m := range r.members {
		if m != speaker && !m.lines.TryPut(line) {
			m.lines.Abort()
			_ = m.Close()
		}
	}
}

// close says goodbye to all members.
func (r *room) close() {
	for _, m := range r.members {
		m.lines.TryPut("the room is closed; goodbye")
		m.lines.Close()
	}
	r.members = nil
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

// serve handles one member: a task reads what it says, and this one writes what it
// hears, until the queue of lines is closed and empty.
func (r *room) serve(ctx context.Context, c net.Conn) error {
	m := &member{Conn: c, lines: rondo.NewQueue[string](backlog)}
	in := bufio.NewScanner(c)
	in.Buffer(nil, lineMax)
	err := rondo.Timeout(ctx, time.Minute, func(context.Context) error { return r.ask(m, in) })
	if m.name != "" {
		err = rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(context.Context) error { return r.read(m, in) })
			defer g.Cancel(nil) // the reader
			return m.write(g)
		})
		r.leave(m)
	}
	if errors.Is(err, net.ErrClosed) || rondo.Check(ctx) != nil {
		return nil // it was disconnected, or the time for goodbyes is over
	}
	return err
}

// read passes on what m says, until m has said all. Then m hears a goodbye.
func (r *room) read(m *member, in *bufio.Scanner) error {
	defer m.lines.Close()
	for in.Scan() {
		line := m.name + ": " + control.ReplaceAllString(in.Text(), "")
		r.said = append(r.said, line)
		r.said = r.said[max(0, len(r.said)-history):]
		r.say(m, line)
	}
	r.leave(m)
	if errors.Is(in.Err(), bufio.ErrTooLong) {
		m.lines.TryPut(fmt.Sprintf("a line has at most %d bytes; goodbye", lineMax))
		return nil
	}
	m.lines.TryPut("goodbye")
	return in.Err()
}

// leave takes m out of the room, unless it has left.
func (r *room) leave(m *member) {
	if i := slices.Index(r.members, m); i >= 0 {
		r.members = slices.Delete(r.members, i, i+1)
		r.say(m, m.name+" left")
	}
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

// A server serves a room. It says goodbye before it shuts down.
type server struct {
	socket.Server
	room *room
}

func (s *server) Shutdown(ctx context.Context) error {
	s.room.close()
	return s.Server.Shutdown(ctx)
}

func main() {
	address := flag.String("addr", "localhost:7778", "where to listen")
	flag.Parse()
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", *address)
		if err != nil {
			return err
		}
		fmt.Println("listening on", l.Addr())
		r := new(room)
		s := &server{socket.Server{Handler: r.serve, MaxConns: 1000}, r}
		return signals.Serve(ctx, s, l, time.Second)
	})
	if err != nil {
		log.Fatal(err)
	}
}
