package socket_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
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

// A server of callbacks: it answers each line, and keeps no more of a connection
// than what the line lacks.
func ExampleProtocol() {
	p := &socket.Protocol{
		Data: func(t *socket.Transport, b []byte) {
			begun, _ := t.Value.(string)
			lines := strings.SplitAfter(begun+string(b), "\n")
			last := len(lines) - 1
			for _, line := range lines[:last] {
				fmt.Fprint(t, strings.ToUpper(line))
			}
			t.Value = lines[last]
		},
		// A client that does not read gets no more answers, until it does.
		PauseWriting:  (*socket.Transport).PauseReading,
		ResumeWriting: (*socket.Transport).ResumeReading,
		Lost:          func(t *socket.Transport, err error) { fmt.Printf("lost, with %q left: %v\n", t.Value, err) },
	}
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		served := rondo.Go(ctx, func(ctx context.Context) error { return p.Serve(ctx, l) })
		c, err := socket.Dial(ctx, "tcp", l.Addr().String())
		if err != nil {
			return err
		}
		fmt.Fprint(c, "one\ntwo\nthr")
		c.(*socket.Conn).CloseWrite()
		answers, err := io.ReadAll(c)
		if err != nil {
			return err
		}
		c.Close()
		l.Close()
		if err := served.Wait(ctx); !errors.Is(err, net.ErrClosed) {
			return err
		}
		fmt.Print(string(answers))
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// lost, with "thr" left: <nil>
	// ONE
	// TWO
}

// A service of datagrams: each is answered to where it came from.
func ExampleListenPacket() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		service, err := socket.ListenPacket(ctx, "udp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer service.Close()
		rondo.Go(ctx, func(context.Context) error {
			b := make([]byte, 1500)
			for {
				n, from, err := service.ReadFrom(b)
				if err != nil {
					return err
				}
				if _, err := service.WriteTo([]byte(strings.ToUpper(string(b[:n]))), from); err != nil {
					return err
				}
			}
		})
		c, err := socket.Dial(ctx, "udp", service.LocalAddr().String())
		if err != nil {
			return err
		}
		defer c.Close()
		fmt.Fprint(c, "rondo")
		b := make([]byte, 1500)
		n, err := c.Read(b)
		fmt.Println(string(b[:n]))
		return err
	})
	fmt.Println(err)
	// Output:
	// RONDO
	// <nil>
}
