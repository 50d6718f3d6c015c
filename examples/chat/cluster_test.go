package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// TestCluster has the room, unchanged, on a simulated host. Each of three members on
// hosts of their own hears what the others say, in the order in which each said it. One
// of them crashes, and the others are told.
func TestCluster(t *testing.T) {
	// A member that is a minute late is sent away, so nothing is late here.
	(&sim.Config{Exact: true}).Cluster(t, func(ctx context.Context, w *sim.World) {
		w.Host("room", func(ctx context.Context) error {
			l, err := socket.Listen(ctx, "tcp", ":7778")
			if err != nil {
				return err
			}
			s := socket.Server{Handler: new(room).serve, MaxConns: 1000, OnError: func(_ net.Conn, err error) {
				if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
					t.Error(err)
				}
			}}
			return s.Serve(ctx, l)
		})
		var heard [3][]string
		var hosts [3]*sim.Host
		ready := 0
		for i := range hosts {
			hosts[i] = w.Host(fmt.Sprint("member", i), func(ctx context.Context) error {
				c, err := join(ctx, fmt.Sprint("name", i))
				if err != nil {
					return err
				}
				ready++
				return rondo.Group(ctx, func(g *rondo.Scope) error {
					g.Go(func(ctx context.Context) error {
						for ready < 3 {
							if err := rondo.Sleep(ctx, 10*time.Millisecond); err != nil {
								return err
							}
						}
						for n := range 3 {
							if _, err := fmt.Fprintln(c, "says", n); err != nil {
								return err
							}
						}
						return nil
					})
					in := bufio.NewScanner(c)
					for in.Scan() {
						heard[i] = append(heard[i], in.Text())
					}
					return in.Err()
				})
			})
		}
		has := func(i int, line string) bool { return strings.Contains(strings.Join(heard[i], "\n"), line) }
		if err := w.Eventually(ctx, time.Minute, func() bool {
			for i := range heard {
				for j := range heard {
					if i != j && !has(i, fmt.Sprintf("name%d: says 2", j)) {
						return false
					}
				}
			}
			return true
		}); err != nil {
			t.Fatalf("%v: %q", err, heard)
		}
		for i := range heard {
			for j := range heard {
				var got []string
				for _, line := range heard[i] {
					if strings.HasPrefix(line, fmt.Sprintf("name%d:", j)) {
						got = append(got, line[len(line)-1:])
					}
				}
				if i != j && strings.Join(got, "") != "012" {
					t.Errorf("member %d heard %q of member %d", i, got, j)
				}
			}
		}
		hosts[2].Crash()
		if err := w.Eventually(ctx, time.Minute, func() bool { return has(0, "name2 left") && has(1, "name2 left") }); err != nil {
			t.Errorf("nobody was told: %v", err)
		}
	})
}

// join connects to the room under a name.
func join(ctx context.Context, name string) (net.Conn, error) {
	for {
		c, err := socket.Dial(ctx, "tcp", "room:7778")
		if err == nil {
			if _, err := io.ReadFull(c, make([]byte, len("your name?\n"))); err != nil {
				return nil, err
			}
			_, err = fmt.Fprintln(c, name)
			return c, err
		}
		if err := rondo.Sleep(ctx, 100*time.Millisecond); err != nil {
			return nil, err
		}
	}
}
