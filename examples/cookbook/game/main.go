// Command game moves its players 60 times a second. A client sends "l" or "r", and gets the
// newest state of the world as JSON; one that is slow misses states, and delays nobody.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"os"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/broadcast"
	"github.com/rondo-go/rondo/signals"
	"github.com/rondo-go/rondo/socket"
)

type player struct{ X, speed int }

var (
	players = map[string]*player{}
	world   broadcast.Watch[[]byte]
)

func tick(ctx context.Context) error {
	for range rondo.Every(ctx, time.Second/60) {
		for _, p := range players {
			p.X += p.speed
		}
		state, err := json.Marshal(players)
		if err != nil {
			return err
		}
		world.Set(append(state, '\n'))
	}
	return rondo.Check(ctx)
}

func play(ctx context.Context, c net.Conn) error {
	me, name := &player{}, c.RemoteAddr().String()
	players[name] = me
	defer delete(players, name)
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(func(ctx context.Context) error {
			for state := range world.Reader().All(ctx) {
				if _, err := c.Write(state); err != nil {
					return err
				}
			}
			return rondo.Check(ctx)
		})
		defer g.Cancel(nil)
		in := bufio.NewScanner(c)
		for in.Scan() {
			me.speed = map[string]int{"l": -1, "r": 1}[in.Text()]
		}
		return in.Err()
	})
}

func main() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		rondo.Go(ctx, tick) // Run ends it
		l, err := socket.Listen(ctx, "tcp", os.Args[1])
		if err != nil {
			return err
		}
		fmt.Println("listening on", l.Addr())
		return signals.Serve(ctx, &socket.Server{Handler: play}, l, time.Second)
	})
	if err != nil {
		log.Fatal(err)
	}
}
