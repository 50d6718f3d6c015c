package httptask_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/socket"
)

// A handler that counts without a lock, in any http.Server; here one of httptest.
func ExampleHandler() {
	visits := 0
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		visits++ // one handler runs at a time
		fmt.Fprintln(w, "visit", visits)
	})
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		server := httptest.NewServer(httptask.Handler(ctx, h))
		defer server.Close()
		_, err := rondo.Offload(ctx, func(context.Context) (struct{}, error) {
			for range 2 {
				answer, err := http.Get(server.URL)
				if err != nil {
					return struct{}{}, err
				}
				text, err := io.ReadAll(answer.Body)
				answer.Body.Close()
				if err != nil {
					return struct{}{}, err
				}
				fmt.Print(string(text))
			}
			http.DefaultClient.CloseIdleConnections()
			return struct{}{}, nil
		})
		return err
	})
	fmt.Println(err)
	// Output:
	// visit 1
	// visit 2
	// <nil>
}

// A server and its client on one loop. The end of the scope ends the server.
func ExampleServe() {
	done := errors.New("done")
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		l, err := net.Listen("tcp", "localhost:0")
		if err != nil {
			return err
		}
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error {
				return httptask.Serve(ctx, l, http.NotFoundHandler())
			})
			client := httptask.Client(g)
			defer client.CloseIdleConnections()
			answer, err := client.Get("http://" + l.Addr().String())
			if err != nil {
				return err
			}
			defer answer.Body.Close()
			fmt.Println(answer.Status)
			return done
		})
	})
	fmt.Println(err)
	// Output:
	// 404 Not Found
	// done
}

// A server with time limits, which gives running requests ten seconds when Ctrl-C
// cancels its ctx.
func ExampleServer() {
	runner := rondo.Runner{Interrupt: true}
	err := runner.Run(context.Background(), func(ctx context.Context) error {
		server := &httptask.Server{
			HTTP:  http.Server{Addr: "localhost:8080", ReadHeaderTimeout: 5 * time.Second},
			Grace: 10 * time.Second,
		}
		return server.ListenAndServe(ctx)
	})
	fmt.Println(err)
}

// Three requests at once. While they wait, the loop goes on.
func ExampleClient() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, len(r.URL.Path))
	}))
	defer server.Close()
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		client := httptask.Client(ctx)
		var asks []func(ctx context.Context) (string, error)
		for _, path := range []string{"/a", "/bc", "/def"} {
			asks = append(asks, func(ctx context.Context) (string, error) {
				answer, err := client.Get(server.URL + path)
				if err != nil {
					return "", err
				}
				defer answer.Body.Close()
				text, err := io.ReadAll(answer.Body) // suspends the task
				return string(text), err
			})
		}
		sizes, err := rondo.Gather(ctx, asks...)
		fmt.Println(sizes)
		return err
	})
	fmt.Println(err)
	// Output:
	// [2 3 4]
	// <nil>
}

// A client with a transport of its own, such as one with a limit of connections.
func ExampleTransport() {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		base := &http.Transport{MaxConnsPerHost: 4}
		defer base.CloseIdleConnections()
		client := &http.Client{Transport: httptask.Transport(ctx, base)}
		answer, err := client.Get(server.URL)
		if err != nil {
			return err
		}
		fmt.Println(answer.Status)
		return answer.Body.Close()
	})
	fmt.Println(err)
	// Output:
	// 404 Not Found
	// <nil>
}

// A handler takes its connection over and leaves it as a session, which repeats what it is told.
// Between two lines the connection has no task and no buffer.
func ExampleSession() {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprint(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		err = httptask.Session(r.Context(), func(_ context.Context, in *bufio.Reader) error {
			line, err := in.ReadString('\n')
			if err != nil {
				return err // io.EOF when the client has left
			}
			_, err = io.WriteString(c, line)
			return err
		})
		if err != nil {
			c.Close()
		}
	})
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		server := &httptask.Server{HTTP: http.Server{Handler: h}}
		rondo.Go(ctx, func(ctx context.Context) error {
			defer server.Shutdown(ctx)
			c, err := socket.Dial(ctx, "tcp", l.Addr().String())
			if err != nil {
				return err
			}
			defer c.Close()
			fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
			in := bufio.NewReader(c)
			answer, err := http.ReadResponse(in, nil)
			if err != nil {
				return err
			}
			fmt.Println(answer.Status)
			for _, word := range []string{"one\n", "two\n"} {
				fmt.Fprint(c, word)
				line, err := in.ReadString('\n')
				if err != nil {
					return err
				}
				fmt.Print(line)
			}
			return nil
		})
		return server.Serve(ctx, l)
	})
	fmt.Println(err)
	// Output:
	// 101 Switching Protocols
	// one
	// two
	// http: Server closed
}
