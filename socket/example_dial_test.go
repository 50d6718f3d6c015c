package socket_test

// These examples are a symbol of the package each.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// loop runs main on a loop and prints its error.
func loop(main func(ctx context.Context) error) {
	if err := rondo.Run(context.Background(), main); err != nil {
		fmt.Println(err)
	}
}

// hello serves each connection with a line.
func hello(_ context.Context, c net.Conn) error {
	_, err := fmt.Fprintln(c, "hello")
	return err
}

// Accept suspends the task until a client comes.
func ExampleListen() {
	loop(func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", "localhost:0")
		if err != nil {
			return err
		}
		defer l.Close()
		rondo.Go(ctx, func(ctx context.Context) error {
			c, err := socket.Dial(ctx, "tcp", l.Addr().String())
			if err != nil {
				return err
			}
			defer c.Close()
			_, err = io.WriteString(c, "knock")
			return err
		})
		c, err := l.Accept()
		if err != nil {
			return err
		}
		defer c.Close()
		said, err := io.ReadAll(c)
		fmt.Println(string(said), err)
		return nil
	})
	// Output: knock <nil>
}

// Serve runs a function for each connection, in a task of its own.
func ExampleServe() {
	loop(func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", "localhost:0")
		if err != nil {
			return err
		}
		rondo.Go(ctx, func(ctx context.Context) error { return socket.Serve(ctx, l, hello) }) // Run ends it
		c, err := socket.Dial(ctx, "tcp", l.Addr().String())
		if err != nil {
			return err
		}
		defer c.Close()
		answer, err := io.ReadAll(c)
		fmt.Print(string(answer))
		return err
	})
	// Output: hello
}

// A connection is a net.Conn. It belongs to nobody: close it.
func ExampleDial() {
	loop(func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", "localhost:0")
		if err != nil {
			return err
		}
		rondo.Go(ctx, func(ctx context.Context) error { return socket.Serve(ctx, l, hello) })
		c, err := socket.Dial(ctx, "tcp", l.Addr().String())
		if err != nil {
			return err
		}
		defer c.Close()
		line, err := bufio.NewReader(c).ReadString('\n')
		fmt.Print(line)
		return err
	})
	// Output: hello
}

func ExampleDialer() {
	loop(func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", "localhost:0")
		if err != nil {
			return err
		}
		defer l.Close()
		d := socket.Dialer{Timeout: time.Second}
		c, err := d.DialContext(ctx, "tcp", l.Addr().String())
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = d.DialContext(ctx, "tcp", c.LocalAddr().String()) // where nobody listens
		fmt.Println(errors.Is(err, syscall.ECONNREFUSED))
		return nil
	})
	// Output: true
}

// Two listeners on one port, as for two loops or two processes.
func ExampleListenConfig() {
	loop(func(ctx context.Context) error {
		config := socket.ListenConfig{ReusePort: true}
		first, err := config.Listen(ctx, "tcp", "localhost:0")
		if errors.Is(err, errors.ErrUnsupported) {
			fmt.Println(true) // not on this system
			return nil
		}
		if err != nil {
			return err
		}
		defer first.Close()
		second, err := config.Listen(ctx, "tcp", first.Addr().String())
		if err != nil {
			return err
		}
		defer second.Close()
		fmt.Println(first.Addr().String() == second.Addr().String())
		return nil
	})
	// Output: true
}

// A session is called for each request, and has no task in between.
func ExampleServer_session() {
	loop(func(ctx context.Context) error {
		s := &socket.Server{Session: func(c net.Conn) func(ctx context.Context) error {
			in, count := bufio.NewReader(c), 0 // of this connection
			return func(ctx context.Context) error {
				for {
					line, err := in.ReadString('\n')
					if err != nil {
						return err
					}
					count++
					if _, err := fmt.Fprintf(c, "%d %s", count, strings.ToUpper(line)); err != nil {
						return err
					}
					if in.Buffered() == 0 { // only we know of what is buffered
						return nil
					}
				}
			}
		}}
		l, err := socket.Listen(ctx, "tcp", "localhost:0")
		if err != nil {
			return err
		}
		rondo.Go(ctx, func(ctx context.Context) error { return s.Serve(ctx, l) })
		c, err := socket.Dial(ctx, "tcp", l.Addr().String())
		if err != nil {
			return err
		}
		defer c.Close()
		in := bufio.NewScanner(c)
		for _, word := range []string{"one", "two"} {
			fmt.Fprintln(c, word)
			in.Scan()
			fmt.Println(in.Text())
		}
		return in.Err()
	})
	// Output:
	// 1 ONE
	// 2 TWO
}

// Waits until a descriptor of another library can be read.
func ExampleWaitRead() {
	loop(func(ctx context.Context) error {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		defer r.Close()
		defer w.Close()
		rondo.Go(ctx, func(ctx context.Context) error {
			_, err := w.WriteString("data")
			return err
		})
		err = socket.WaitRead(ctx, r.Fd())
		if errors.Is(err, errors.ErrUnsupported) {
			err = nil // on this system
		}
		fmt.Println(err)
		return nil
	})
	// Output: <nil>
}

// A pipe that is not full can be written to.
func ExampleWaitWrite() {
	loop(func(ctx context.Context) error {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		defer r.Close()
		defer w.Close()
		err = socket.WaitWrite(ctx, w.Fd())
		if errors.Is(err, errors.ErrUnsupported) {
			err = nil // on this system
		}
		fmt.Println(err)
		return nil
	})
	// Output: <nil>
}

// A callback for a library that has a descriptor and wants to be called when it is ready.
func ExampleWatchRead() {
	_ = func(ctx context.Context, fd uintptr, library func()) {
		stop := socket.WatchRead(ctx, fd, library) // called once a turn while there is something
		defer stop()
	}
}

func ExampleWatchWrite() {
	_ = func(ctx context.Context, fd uintptr, library func()) {
		stop := socket.WatchWrite(ctx, fd, library)
		defer stop()
	}
}

// A connection that another process has passed on.
func ExampleFileConn() {
	_ = func(ctx context.Context) error {
		f := os.NewFile(3, "connection")
		defer f.Close() // the socket is duplicated
		c, err := socket.FileConn(ctx, f)
		if err != nil {
			return err
		}
		defer c.Close()
		return hello(ctx, c)
	}
}

// A listener that a service manager has opened.
func ExampleFileListener() {
	_ = func(ctx context.Context) error {
		f := os.NewFile(3, "LISTEN_FD_3")
		defer f.Close()
		l, err := socket.FileListener(ctx, f)
		if err != nil {
			return err
		}
		return socket.Serve(ctx, l, hello)
	}
}
