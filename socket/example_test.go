package socket_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// A server, and a client on the same loop. When the client is done the server is
// given a second to finish.
func Example() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		greeted := 0 // shared by all connections, and needs no lock
		s := &socket.Server{Handler: func(ctx context.Context, c net.Conn) error {
			name, err := bufio.NewReader(c).ReadString('\n')
			if err != nil {
				return err
			}
			greeted++
			_, err = fmt.Fprintf(c, "hello, %s", name)
			return err
		}}
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error {
				if err := s.Serve(ctx, l); err != socket.ErrServerClosed {
					return err
				}
				return nil
			})
			for _, name := range []string{"Ada", "Grace"} {
				c, err := socket.Dial(g, "tcp", l.Addr().String())
				if err != nil {
					return err
				}
				fmt.Fprintln(c, name)
				answer, err := io.ReadAll(c)
				if err != nil {
					return err
				}
				fmt.Print(string(answer))
				c.Close()
			}
			fmt.Println(greeted, "greeted")
			return rondo.Timeout(g, time.Second, s.Shutdown)
		})
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// hello, Ada
	// hello, Grace
	// 2 greeted
}

// A Read takes no ctx: the scope around it ends it.
func ExamplePipe() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		a, b := socket.Pipe(ctx)
		defer a.Close()
		defer b.Close()
		err := rondo.Timeout(ctx, time.Millisecond, func(context.Context) error {
			_, err := a.Read(make([]byte, 1))
			return err
		})
		fmt.Println(err)
		return nil
	})
	// Output: context deadline exceeded
}
