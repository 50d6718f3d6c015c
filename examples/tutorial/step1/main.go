// Command chat sends back what it is sent: step 1 of docs/TUTORIAL.md.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"net"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

var address = "localhost:7000"

func main() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", address)
		if err != nil {
			return err
		}
		fmt.Println("listening on", l.Addr())
		return socket.Serve(ctx, l, serve)
	})
	if err != nil {
		log.Fatal(err)
	}
}

// serve is called for each connection, in a task of its own.
func serve(ctx context.Context, c net.Conn) error {
	in := bufio.NewScanner(c)
	for in.Scan() { // waits for a line: other tasks run meanwhile
		if _, err := fmt.Fprintln(c, "you said:", in.Text()); err != nil {
			return err
		}
	}
	return in.Err()
}
