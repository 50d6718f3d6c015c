// Command broker is one node of a message broker: a NATS server inside the process, and a
// loop that listens. One command is a broker; two more join it, and all three are one. Each
// goes on when another dies.
//
//	go run ./nats/examples/broker
//	go run ./nats/examples/broker -name b -client localhost:4223 -cluster localhost:6223 -routes nats://localhost:6222
//	go run ./nats/examples/broker -name c -client localhost:4224 -cluster localhost:6224 -routes nats://localhost:6222
//
// Then a word to any of them is printed by all, and each counts what it has printed:
//
//	go run ./nats/examples/broker -client localhost:4224 -say hello
//	go run ./nats/examples/broker -client localhost:4224 -count
//
// Any NATS client can talk to them, too.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/nats"
	"github.com/rondo-go/rondo/nats/embed"
	"github.com/rondo-go/rondo/signals"
)

var (
	name    = flag.String("name", "a", "the name of the node")
	client  = flag.String("client", "localhost:4222", "the address for clients")
	cluster = flag.String("cluster", "localhost:6222", "the address for other nodes")
	routes  = flag.String("routes", "", "where other nodes are, as nats://host:port, with commas between them")
	say     = flag.String("say", "", "say this to the broker, and end")
	count   = flag.Bool("count", false, "ask a node how much was said, and end")
)

// started is called when a node is ready.
var started = func(url string) {}

func main() {
	log.SetFlags(0)
	flag.Parse()
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		switch {
		case *say != "":
			return rondo.Group(ctx, talk)
		case *count:
			return rondo.Group(ctx, ask)
		}
		return signals.Run(ctx, 0, func(ctx context.Context, _ *rondo.Scope) error { return node(ctx) }) // until Ctrl-C
	})
	if err != nil {
		log.Fatal(err)
	}
}

// node runs a node until ctx is cancelled. The server is in a scope around that of the
// connection, so it is the last that ends.
func node(ctx context.Context) error {
	return rondo.Group(ctx, func(outer *rondo.Scope) error {
		o, err := options()
		if err != nil {
			return err
		}
		s, err := embed.Start(outer, o)
		if err != nil {
			return err
		}
		return rondo.Group(outer, func(g *rondo.Scope) error {
			c, err := nats.Connect(g, s.ClientURL())
			if err != nil {
				return err
			}
			heard := 0 // shared by the tasks, without a lock
			err = c.Handle(g, "talk", "", 1, func(ctx context.Context, m *natsgo.Msg) error {
				heard++
				fmt.Printf("%s heard: %s\n", *name, m.Data)
				return nil
			})
			if err != nil {
				return err
			}
			err = nats.Serve(g, c, "count", 10, func(ctx context.Context, _ struct{}) (string, error) {
				return fmt.Sprintf("%s heard %d", *name, heard), nil
			})
			if err == nil {
				err = c.Flush(g) // so that the server has both before anybody is told that it is ready
			}
			if err != nil {
				return err
			}
			fmt.Printf("%s is ready: clients at %s, nodes at nats://%s\n", *name, s.ClientURL(), s.ClusterAddr())
			started(s.ClientURL())
			return nil
		})
	})
}

// options returns the options of the server that the flags ask for.
func options() (*server.Options, error) {
	o := &server.Options{ServerName: *name}
	o.Cluster.Name = "rondo"
	var err error
	if o.Host, o.Port, err = split(*client); err != nil {
		return nil, err
	}
	if o.Cluster.Host, o.Cluster.Port, err = split(*cluster); err != nil {
		return nil, err
	}
	if *routes != "" {
		for route := range strings.SplitSeq(*routes, ",") {
			u, err := url.Parse(route)
			if err != nil {
				return nil, fmt.Errorf("flag -routes: %w", err)
			}
			if u.Host == "" {
				return nil, fmt.Errorf("flag -routes: %q is not like nats://host:port", route)
			}
			o.Routes = append(o.Routes, u)
		}
	}
	return o, nil
}

func split(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	if err != nil {
		return "", 0, fmt.Errorf("the address %q is not like host:port: %w", address, err)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	return host, port, nil
}

// talk says something to the broker.
func talk(g *rondo.Scope) error {
	c, err := nats.Connect(g, "nats://"+*client)
	if err != nil {
		return err
	}
	if err := c.Publish(g, "talk", []byte(*say)); err != nil {
		return err
	}
	return c.Flush(g)
}

// ask asks one of the nodes how much was said. Which one answers is the broker's choice.
func ask(g *rondo.Scope) error {
	c, err := nats.Connect(g, "nats://"+*client)
	if err != nil {
		return err
	}
	answer, err := nats.Call[struct{}, string](g, c, "count", struct{}{})
	if err != nil {
		return err
	}
	fmt.Println(answer)
	return nil
}
