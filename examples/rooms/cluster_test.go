package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/shard"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// TestCluster has the chat on three shards of a simulated host, which a seed interleaves and
// pauses, and members on hosts that are cut off, crash and come back. All members of a room hear
// what is said in it in the same order.
func TestCluster(t *testing.T) {
	const shards, members = 3, 4
	config := sim.Config{Seeds: 40, Faults: sim.Faults{Partition: 0.3, Pause: 0.3}}
	config.Cluster(t, func(ctx context.Context, w *sim.World) {
		c := new(chat)
		for range shards {
			c.rooms = append(c.rooms, make(map[string]*room))
		}
		w.Host("chat", func(ctx context.Context) error {
			r := shard.Runner{Loops: shards}
			return r.Run(ctx, func(ctx context.Context, s *shard.Shard) error {
				if s.Index() != 0 {
					return nil
				}
				return shard.Serve(ctx, "tcp", ":7782", &socket.Server{Handler: c.serve, OnError: func(net.Conn, error) {}})
			})
		})
		var heard [members][]string
		for i := range members {
			w.Host(fmt.Sprint("member", i), func(ctx context.Context) error {
				for life := 0; ; life++ {
					sim.Sometimes(ctx, life > 0, "a member comes back")
					name := fmt.Sprintf("name%d.%d", i, life)
					_ = oneLife(ctx, "chat:7782", fmt.Sprint("room", i%2), name, &heard[i])
					if err := rondo.Sleep(ctx, time.Second); err != nil {
						return err
					}
				}
			})
		}
		if err := rondo.Sleep(ctx, 15*time.Second); err != nil {
			t.Fatal(err)
		}
		w.Calm()
		before := heard
		if err := w.Eventually(ctx, 5*time.Minute, func() bool {
			for i := range heard {
				if len(heard[i]) < len(before[i])+20 {
					return false
				}
			}
			return true
		}); err != nil {
			t.Errorf("not all members hear something again: %v", err)
		}
		for i := range members - 2 {
			sameOrder(t, heard[i], heard[i+2])
		}
	})
}

// oneLife is one life of a member: it says a line now and then, and notes what it hears,
// until its connection ends or is silent for long.
func oneLife(ctx context.Context, address, room, name string, heard *[]string) error {
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		c, err := (&socket.Dialer{Timeout: 5 * time.Second}).DialContext(g, "tcp", address)
		if err != nil {
			return err
		}
		defer c.Close()
		in := bufio.NewScanner(c)
		if !in.Scan() {
			return in.Err()
		}
		if _, err := fmt.Fprintln(c, room, name); err != nil {
			return err
		}
		g.Go(func(ctx context.Context) error {
			for n := 0; ; n++ {
				if _, err := fmt.Fprintln(c, n); err != nil {
					return err
				}
				if err := rondo.Sleep(ctx, 500*time.Millisecond); err != nil {
					return err
				}
			}
		})
		for in.Scan() {
			*heard = append(*heard, in.Text())
			if err := c.SetReadDeadline(rondo.Now(g).Add(5 * time.Second)); err != nil {
				return err
			}
		}
		return fmt.Errorf("the connection has ended: %w", in.Err())
	})
}

// sameOrder fails the test if what both members heard came in different orders.
func sameOrder(t *testing.T, one, two []string) {
	t.Helper()
	common := func(list, other []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(line string) bool {
			return !strings.Contains(line, ": ") || !slices.Contains(other, line)
		})
	}
	a, b := common(one, two), common(two, one)
	if len(a) < 5 {
		t.Errorf("two members of a room heard only %q together", a)
	}
	if !slices.Equal(a, b) {
		t.Errorf("two members of a room heard different orders:\n%q\n%q", a, b)
	}
}
