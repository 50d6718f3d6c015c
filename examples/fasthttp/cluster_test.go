package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// TestCluster has the server, unchanged, on a simulated host that crashes, loses power and
// is cut off, and clients on other hosts. In each life it counts what it was asked, and
// after the faults it answers all of them.
func TestCluster(t *testing.T) {
	c := sim.Config{Seeds: 40, Faults: sim.Faults{Partition: 0.2, Crash: 0.1, PowerFail: 0.1, Pause: 0.2}}
	c.Cluster(t, func(ctx context.Context, w *sim.World) {
		lives, asked, done := 0, 0, 0
		w.Host("server", func(ctx context.Context) error {
			lives++
			l, err := socket.Listen(ctx, "tcp", ":8080")
			if err != nil {
				return err
			}
			return serve(ctx, l)
		})
		for i := range 3 {
			w.Host(fmt.Sprint("client", i), func(ctx context.Context) error {
				for n := 0; n < 10; {
					asked++
					text, err := get(ctx)
					if err == nil {
						n++
						sim.Sometimes(ctx, lives > 1, "a server answers that was started again")
						var visits int
						if _, err := fmt.Sscanf(text, "visits: %d\n", &visits); err != nil || visits < 1 || visits > asked {
							t.Errorf("after %d requests the answer is %q", asked, text)
						}
					}
					if err := rondo.Sleep(ctx, time.Second); err != nil {
						return err
					}
				}
				done++
				return nil
			})
		}
		if err := rondo.Sleep(ctx, 20*time.Second); err != nil {
			t.Fatal(err)
		}
		w.Calm()
		if err := w.Eventually(ctx, 10*time.Minute, func() bool { return done >= 3 }); err != nil {
			t.Errorf("the clients do not end: %v", err)
		}
	})
}

// get asks for a page over a connection of its own, and returns the answer.
func get(ctx context.Context) (text string, err error) {
	err = rondo.Timeout(ctx, 5*time.Second, func(ctx context.Context) error {
		c, err := socket.Dial(ctx, "tcp", "server:8080")
		if err != nil {
			return err
		}
		defer c.Close()
		text, err = exchange(c)
		return err
	})
	return text, err
}

// exchange is fasthttp's request and answer without its client, which cleans up on a
// goroutine.
func exchange(c net.Conn) (string, error) {
	var request fasthttp.Request
	var answer fasthttp.Response
	request.SetRequestURI("http://server/page")
	request.SetConnectionClose()
	out := bufio.NewWriter(c)
	if err := errors.Join(request.Write(out), out.Flush()); err != nil {
		return "", err
	}
	if err := answer.Read(bufio.NewReader(c)); err != nil {
		return "", err
	}
	return string(answer.Body()), nil
}
