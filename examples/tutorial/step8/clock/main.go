// Command clock tells the room the time: step 8 of docs/TUTORIAL.md.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/signals"
	"github.com/rondo-go/rondo/socket"
)

var address, every, grace = "localhost:7000", time.Minute, 2 * time.Second

func main() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		return signals.Run(ctx, grace, tick)
	})
	if err != nil {
		log.Fatal(err)
	}
}

// tick starts a visit each minute, until the signal cancels ctx. The ctx of the visits is
// cancelled when the grace period is over.
func tick(ctx context.Context, visits *rondo.Scope) error {
	for now := range rondo.Every(ctx, every) {
		visits.Go(func(ctx context.Context) error { return visit(ctx, now) })
	}
	fmt.Println("the clock stops")
	return rondo.Check(ctx)
}

// visit enters the room, says the time, and leaves.
func visit(ctx context.Context, now time.Time) error {
	c, err := socket.Dial(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	in := bufio.NewScanner(c)
	for _, line := range []string{"clock", "it is " + now.Format(time.Kitchen)} {
		if !in.Scan() { // your name? and then the welcome
			return in.Err()
		}
		if _, err := fmt.Fprintln(c, line); err != nil {
			return err
		}
	}
	c.(*socket.Conn).CloseWrite()
	_, err = io.Copy(io.Discard, c) // until the room has read it all
	return err
}
