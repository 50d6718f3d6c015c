// Command pubsub passes on messages by topic. Lines are "SUB topic" and "PUB topic text".
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"strings"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/broadcast"
	"github.com/rondo-go/rondo/signals"
	"github.com/rondo-go/rondo/socket"
)

// A topic is in the map while it has readers.
type topic struct {
	broadcast.Topic[string]
	readers int
}

var topics = map[string]*topic{}

func subscribe(name string) (lines *broadcast.Subscription[string], end func()) {
	t := topics[name]
	if t == nil {
		t = &topic{Topic: broadcast.Topic[string]{Name: name}}
		topics[name] = t
	}
	t.readers++
	lines = t.Subscribe(16, broadcast.Skip) // a slow reader misses the oldest
	return lines, func() {
		lines.Close()
		if t.readers--; t.readers == 0 {
			delete(topics, name)
		}
	}
}

func serve(ctx context.Context, c net.Conn) error {
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		defer g.Cancel(nil)
		for in := bufio.NewScanner(c); ; {
			if !in.Scan() {
				return in.Err()
			}
			verb, rest, _ := strings.Cut(in.Text(), " ")
			name, text, _ := strings.Cut(rest, " ")
			switch verb {
			case "PUB":
				if t := topics[name]; t != nil {
					t.TryPublish(name + ": " + text)
				}
			case "SUB":
				lines, end := subscribe(name)
				g.Go(func(ctx context.Context) error {
					defer end()
					for line := range lines.All(ctx) {
						if _, err := fmt.Fprintln(c, line); err != nil {
							return err
						}
					}
					return rondo.Check(ctx)
				})
			}
			if _, err := fmt.Fprintln(c, "OK"); err != nil {
				return err
			}
		}
	})
}

func main() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", os.Args[1])
		if err != nil {
			return err
		}
		fmt.Println("listening on", l.Addr())
		return signals.Serve(ctx, &socket.Server{Handler: serve}, l, time.Second)
	})
	if err != nil {
		log.Fatal(err)
	}
}
