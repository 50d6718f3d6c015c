// Command rooms is a chat with many rooms, on several loops. Each room belongs to one
// shard, by its name, and needs no lock. Each member is served by the shard that has the
// connection. To try it:
//
//	go run ./examples/rooms
//	nc localhost 7782        # in several terminals; first say: ROOM NAME
//
// What a member says goes to the shard of the room by shard.Call, which puts it into the
// shard.Chan of each member. Up to 64 lines wait for a member that does not read; the
// next one disconnects it. Ctrl-C ends it; those who talk have a second.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"log"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/shard"
	"github.com/rondo-go/rondo/signals"
	"github.com/rondo-go/rondo/socket"
)

const backlog, lineMax = 64, 1024 // lines for a member, bytes of a line

// A chat has the rooms of each shard. Only tasks of a shard touch its own.
type chat struct{ rooms []map[string]*room }

// A room belongs to the shard of its name. Its methods do not wait.
type room struct{ members []*member }

// A member has lines that wait to be written to it. Any shard may send them.
type member struct {
	conn  net.Conn
	lines *shard.Chan[string]
}

func (r *room) say(line string) {
	r.members = slices.DeleteFunc(r.members, func(m *member) bool {
		slow := !m.lines.TrySend(line)
		if slow {
			m.conn.Close() // ends its tasks, also a Write that waits for it to read
		}
		return slow
	})
}

// in runs fn with a room, on the shard to which the room belongs.
func (c *chat) in(ctx context.Context, name string, fn func(r *room)) error {
	h := fnv.New32a()
	h.Write([]byte(name))
	me := shard.Of(ctx)
	owner := me.At(int(h.Sum32() % uint32(me.Len())))
	_, err := shard.Call(ctx, owner, func(context.Context) (struct{}, error) {
		rooms := c.rooms[owner.Index()]
		r := rooms[name]
		if r == nil {
			r = new(room)
			rooms[name] = r
		}
		if fn(r); len(r.members) == 0 {
			delete(rooms, name)
		}
		return struct{}{}, nil
	})
	return err
}

// serve serves one member, with a task that writes and one that reads.
func (c *chat) serve(ctx context.Context, conn net.Conn) error {
	in := bufio.NewScanner(conn)
	in.Buffer(nil, lineMax)
	if _, err := fmt.Fprintln(conn, "which room, and your name?"); err != nil || !in.Scan() {
		return errors.Join(err, in.Err())
	}
	name, nick, ok := strings.Cut(in.Text(), " ")
	if !ok {
		_, err := fmt.Fprintln(conn, "say: ROOM NAME")
		return err
	}
	m := &member{conn, shard.NewChan[string](backlog)}
	err := c.in(ctx, name, func(r *room) {
		r.members = append(r.members, m)
		r.say(nick + " came in")
	})
	if err != nil {
		return err
	}
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(func(ctx context.Context) error {
			defer conn.Close()
			for line := range m.lines.All(ctx) {
				if _, err := fmt.Fprintln(conn, line); err != nil {
					return nil // it is gone, which the reader finds too
				}
			}
			return nil
		})
		var err error
		for err == nil && in.Scan() {
			line := nick + ": " + in.Text()
			err = c.in(g, name, func(r *room) { r.say(line) })
		}
		// Also if the server ends: the others are told.
		left := rondo.Shield(g, func(ctx context.Context) error {
			return c.in(ctx, name, func(r *room) {
				r.members = slices.DeleteFunc(r.members, func(o *member) bool { return o == m })
				r.say(nick + " left")
			})
		})
		m.lines.Close()
		if err == nil && errors.Is(in.Err(), bufio.ErrTooLong) {
			err = in.Err() // any other says that the member is gone
		}
		return errors.Join(err, left)
	})
}

// A server is a socket.Server that signals.Serve has serve on all shards.
type server struct{ *socket.Server }

func (s server) Serve(ctx context.Context, l net.Listener) error {
	return new(shard.ServeConfig).ServeListener(ctx, l.(*socket.Listener), s.Server)
}

func main() {
	address := flag.String("addr", "localhost:7782", "where to listen")
	loops := flag.Int("loops", 0, "how many loops; 0: one for each processor")
	flag.Parse()
	c := new(chat)
	r := shard.Runner{Loops: *loops}
	err := r.Run(context.Background(), func(ctx context.Context, s *shard.Shard) error {
		if s.Index() != 0 {
			return nil // serves what comes to it
		}
		for range s.Len() {
			c.rooms = append(c.rooms, make(map[string]*room))
		}
		l, err := socket.Listen(ctx, "tcp", *address)
		if err != nil {
			return err
		}
		fmt.Println("listening on", l.Addr(), "with", s.Len(), "loops")
		return signals.Serve(ctx, server{&socket.Server{Handler: c.serve}}, l, time.Second)
	})
	if err != nil {
		log.Fatal(err)
	}
}
