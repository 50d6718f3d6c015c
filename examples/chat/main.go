// Command chat is a room: who connects gives a name, and what each says all
// others hear. Try it with several of: nc localhost 7778
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// A room has its members' connections, each with a queue of lines to write. All
// members' tasks use the map without a lock: what they do with it does not wait.
type room map[net.Conn]*rondo.Queue[string]

// say hands line to all but its speaker. Whoever is too slow to listen is put
// out.
func (r room) say(speaker net.Conn, line string) {
	for c, lines := range r {
		if c != speaker && !lines.TryPut(line) {
			delete(r, c)
			_ = c.Close()
		}
	}
}

// serve is one member's stay: a task that reads, and one that writes.
func (r room) serve(ctx context.Context, c net.Conn) error {
	in := bufio.NewScanner(c)
	if fmt.Fprintln(c, "your name?"); !in.Scan() {
		return in.Err()
	}
	name, lines := in.Text(), rondo.NewQueue[string](64)
	err := rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(func(ctx context.Context) error {
			for line := range lines.All(ctx) {
				if _, err := fmt.Fprintln(c, line); err != nil {
					return err
				}
			}
			return nil
		})
		r[c] = lines
		r.say(c, name+" came in")
		for in.Scan() {
			r.say(c, name+": "+in.Text())
		}
		delete(r, c)
		r.say(c, name+" left")
		lines.Close()
		return in.Err()
	})
	if errors.Is(err, net.ErrClosed) {
		return nil // put out
	}
	return err
}

func main() {
	address := flag.String("addr", "localhost:7778", "where to listen")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := rondo.Run(ctx, func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", *address)
		if err != nil {
			return err
		}
		fmt.Println("listening on", l.Addr())
		return socket.Serve(ctx, l, make(room).serve)
	})
	if err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}
