package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// serveBroker is the program of the host "broker".
func serveBroker(ctx context.Context) error {
	b := newBroker(time.Minute)
	l, err := socket.Listen(ctx, "tcp", ":7779")
	if err != nil {
		return err
	}
	return (&socket.Server{Handler: b.serve, MaxConns: 10_000, OnError: func(net.Conn, error) {}}).Serve(ctx, l)
}

// TestCluster has the broker, unchanged, serve subscribers and publishers on other
// hosts while hosts are cut off, stand still, lose power and come back. What a
// subscriber gets of one publisher is in order, and nothing comes twice on one
// connection. When the faults have ended, messages get through again.
func TestCluster(t *testing.T) {
	config := sim.Config{Faults: sim.Faults{Partition: 0.2, Crash: 0.2, PowerFail: 0.1, Pause: 0.2}}
	config.Cluster(t, func(ctx context.Context, w *sim.World) {
		w.Host("broker", serveBroker)
		const subscribers, publishers = 2, 2
		var got [subscribers]int
		for i := range subscribers {
			w.Host(fmt.Sprint("subscriber", i), func(ctx context.Context) error {
				return again(ctx, func(ctx context.Context) error { return subscribe(ctx, t, &got[i]) })
			})
		}
		for i := range publishers {
			w.Host(fmt.Sprint("publisher", i), func(ctx context.Context) error {
				return again(ctx, func(ctx context.Context) error { return publish(ctx, i) })
			})
		}
		if err := rondo.Sleep(ctx, time.Minute); err != nil {
			t.Fatal(err)
		}
		w.Calm()
		before := got
		if err := w.Eventually(ctx, 10*time.Minute, func() bool {
			return got[0] > before[0] && got[1] > before[1]
		}); err != nil {
			t.Errorf("nothing gets through: %v", err)
		}
	})
}

// again calls fn whenever it has ended, after a pause, with a connection that it loses.
func again(ctx context.Context, fn func(ctx context.Context) error) error {
	for {
		_ = fn(ctx) // the connection is gone: try again
		if err := rondo.Sleep(ctx, time.Second); err != nil {
			return err
		}
	}
}

// subscribe counts the messages, and checks that those of a publisher are in order.
func subscribe(ctx context.Context, t *testing.T, got *int) error {
	c, err := (&socket.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", "broker:7779")
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := fmt.Fprintln(c, "SUB a"); err != nil {
		return err
	}
	last := map[string]int{}
	in := bufio.NewScanner(c)
	for in.Scan() {
		var who string
		var n int
		if _, err := fmt.Sscanf(in.Text(), "MSG a %s %d", &who, &n); err != nil {
			continue // the answer to SUB
		}
		if n <= last[who] {
			t.Errorf("message %d of %s came after %d", n, who, last[who])
		}
		last[who] = n
		*got++
		if err := c.SetReadDeadline(rondo.Now(ctx).Add(20 * time.Second)); err != nil {
			return err
		}
	}
	return in.Err()
}

// publish sends numbered messages. Its name has the time, so that no two lives of the
// host have the same.
func publish(ctx context.Context, i int) error {
	c, err := (&socket.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", "broker:7779")
	if err != nil {
		return err
	}
	defer c.Close()
	in := bufio.NewReader(c)
	name := fmt.Sprint("publisher", i, "-", rondo.Now(ctx).UnixNano())
	for n := 1; ; n++ {
		if err := c.SetDeadline(rondo.Now(ctx).Add(90 * time.Second)); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(c, "PUB a %s %d\n", name, n); err != nil {
			return err
		}
		if line, err := in.ReadString('\n'); err != nil || !strings.HasPrefix(line, "OK ") {
			return fmt.Errorf("answer %q: %w", line, err)
		}
		if err := rondo.Sleep(ctx, 500*time.Millisecond); err != nil {
			return err
		}
	}
}
