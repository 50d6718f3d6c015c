//go:build unix

package embed_test

import (
	"bufio"
	"context"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/nats"
	"github.com/rondo-go/rondo/nats/embed"
)

func init() { roles["node"] = nodeRole }

// clusterMessages is how many messages each node of TestCluster publishes.
const clusterMessages = 3000

// nodeRole is a node of a cluster: a server, and a client that publishes numbers and
// counts those of the others. It does one thing after the other, and says so: joined,
// then at the line "go" a third, and published; at the line "check NAME" received.
func nodeRole(ctx context.Context) error {
	name := os.Getenv("RONDO_NATS_NAME")
	o := &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, ServerName: name, NoLog: true}
	o.Cluster.Name, o.Cluster.Host, o.Cluster.Port = "test", "127.0.0.1", server.RANDOM_PORT
	if route := os.Getenv("RONDO_NATS_ROUTE"); route != "" {
		o.Routes = []*url.URL{{Scheme: "nats", Host: route}}
	}
	in := bufio.NewScanner(os.Stdin)
	line := func(ctx context.Context) (string, error) {
		return rondo.Offload(ctx, func(context.Context) (string, error) {
			if !in.Scan() {
				return "", fmt.Errorf("no more lines: %v", in.Err())
			}
			return in.Text(), nil
		})
	}
	return rondo.Group(ctx, func(outer *rondo.Scope) error {
		s, err := embed.Start(outer, o)
		if err != nil {
			return err
		}
		fmt.Println("ready", s.ClusterAddr())
		return rondo.Group(outer, func(g *rondo.Scope) error {
			c, err := nats.Connect(g, s.ClientURL())
			if err != nil {
				return err
			}
			numbers, err := c.Subscribe(g, "number.*", 4*clusterMessages)
			if err != nil {
				return err
			}
			if err := join(g, c, name, line); err != nil {
				return err
			}
			for i := range clusterMessages {
				if err := c.Publish(g, "number."+name, fmt.Append(nil, i)); err != nil {
					return err
				}
				if i == clusterMessages/3 {
					fmt.Println("third")
				}
				if i%30 == 29 {
					if err := rondo.Sleep(g, 3*time.Millisecond); err != nil {
						return err
					}
				}
			}
			fmt.Println("published")
			check, err := line(g)
			if err != nil {
				return err
			}
			return receiveAll(g, numbers, strings.TrimPrefix(check, "check "))
		})
	})
}

// join says hello, also to those that come later, until the line "go". It has heard all
// three nodes before that.
func join(ctx context.Context, c *nats.Conn, name string, line func(ctx context.Context) (string, error)) error {
	s, err := c.Subscribe(ctx, "hello", 1000)
	if err != nil {
		return err
	}
	defer s.Close()
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(func(ctx context.Context) error {
			for range rondo.Every(ctx, 10*time.Millisecond) {
				if err := c.Publish(ctx, "hello", []byte(name)); err != nil {
					return err
				}
			}
			return nil
		})
		heard := make(map[string]bool)
		for m, err := range s.All(g) {
			if err != nil {
				return err
			}
			if heard[string(m.Data)] = true; len(heard) == 3 {
				break
			}
		}
		fmt.Println("joined")
		if _, err := line(g); err != nil {
			return err
		}
		g.Cancel(nil)
		return nil
	})
}

// receiveAll takes the numbers of a node up to the last, and says how many were missing.
func receiveAll(ctx context.Context, s *nats.Subscription, from string) error {
	next, missing := 0, 0
	for next < clusterMessages {
		m, err := s.Next(ctx)
		if err != nil {
			return err
		}
		if m.Subject != "number."+from {
			continue
		}
		n, err := strconv.Atoi(string(m.Data))
		if err != nil {
			return err
		}
		missing += n - next
		next = n + 1
	}
	fmt.Println("received", next-missing, "missing", missing, "dropped", s.Dropped())
	return nil
}

// TestCluster: of three processes, each with a server of one cluster, one is killed while
// all publish. What the survivors say to each other is received, all of it, in order.
func TestCluster(t *testing.T) {
	a := start(t, "node", "RONDO_NATS_NAME=a")
	route := a.must(t, "ready")
	nodes := []*peer{a, start(t, "node", "RONDO_NATS_NAME=b", "RONDO_NATS_ROUTE="+route), start(t, "node", "RONDO_NATS_NAME=c", "RONDO_NATS_ROUTE="+route)}
	for _, p := range nodes {
		p.must(t, "joined")
	}
	for _, p := range nodes {
		fmt.Fprintln(p.in, "go")
	}
	nodes[2].must(t, "third")
	nodes[2].kill()
	for _, p := range nodes[:2] {
		p.must(t, "published")
	}
	fmt.Fprintln(nodes[0].in, "check b")
	fmt.Fprintln(nodes[1].in, "check a")
	for i, p := range nodes[:2] {
		if got, want := p.must(t, "received"), fmt.Sprint(clusterMessages, " missing 0 dropped 0"); got != want {
			t.Errorf("survivor %d received %s, want %s", i, got, want)
		}
	}
}
