package main

// The processes of the NATS rows: the server; its peer, which publishes and answers; and the
// two clients that are measured. A client that receives asks the peer to publish.

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/nats"
	"github.com/rondo-go/rondo/nats/embed"
)

// Subjects.
const (
	natsPublish = "publish" // a number of messages, and the subject under which to publish them
	natsEcho    = "echo"    // requests
)

// natsChunk is how many messages a client asks for at once. Neither client drops so few,
// also if it gets no processor for a while.
const natsChunk = 20_000

// natsServer prints its address, and serves until standard input ends.
func natsServer() error {
	return rondo.Run(context.Background(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			s, err := embed.Start(g, &natsserver.Options{Host: "127.0.0.1", Port: natsserver.RANDOM_PORT, NoLog: true})
			if err != nil {
				return err
			}
			fmt.Println(s.ClientURL())
			return rondo.OffloadFunc(g, func(context.Context) error {
				_, err := io.Copy(io.Discard, os.Stdin)
				return err
			})
		})
	})
}

// natsPeer answers requests and publishes, until standard input ends.
func natsPeer(url string) error {
	nc, err := natsgo.Connect(url)
	if err != nil {
		return err
	}
	defer nc.Close()
	if _, err := nc.Subscribe(natsEcho, func(m *natsgo.Msg) { _ = m.Respond(m.Data) }); err != nil {
		return err
	}
	data := make([]byte, 64)
	_, err = nc.Subscribe(natsPublish, func(m *natsgo.Msg) {
		var n int
		var subject string
		_, _ = fmt.Sscan(string(m.Data), &n, &subject) // only the clients below ask
		for range n {
			_ = nc.Publish(subject, data) // a client that misses a message waits for it
		}
	})
	if err != nil {
		return err
	}
	if err := nc.Flush(); err != nil {
		return err
	}
	fmt.Println("ready")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// A natsClient does what it is told.
type natsClient struct {
	receive func(n int) error // n messages, at most natsChunk
	request func(n int) error // n requests of each caller
}

// answer answers a question.
func (c natsClient) answer(question string) (string, error) {
	var verb string
	var n int
	if _, err := fmt.Sscan(question, &verb, &n); err != nil {
		return "", fmt.Errorf("%q: %w", question, err)
	}
	switch verb {
	case "receive":
		for ; n > 0; n -= natsChunk {
			if err := c.receive(min(n, natsChunk)); err != nil {
				return "", err
			}
		}
		return "done", nil
	case "request":
		return "done", c.request(n / natsCallers)
	}
	return "", fmt.Errorf("no answer to %q", question)
}

// natsTasks is the client with tasks.
func natsTasks(url string) error {
	return rondo.Run(context.Background(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			c, err := nats.Connect(g, url)
			if err != nil {
				return err
			}
			client, err := tasksClient(g, c)
			if err != nil {
				return err
			}
			fmt.Println("ready")
			in := bufio.NewScanner(os.Stdin)
			for {
				more, err := rondo.Offload(g, func(context.Context) (bool, error) { return in.Scan(), in.Err() })
				if err != nil || !more {
					g.Cancel(err)
					return err
				}
				reply, err := client.answer(in.Text())
				if err != nil {
					return err
				}
				fmt.Println(reply)
			}
		})
	})
}

func tasksClient(g *rondo.Scope, c *nats.Conn) (client natsClient, err error) {
	const subject = "bulk.tasks"
	s, err := c.Subscribe(g, subject, natsChunk)
	if err != nil {
		return client, err
	}
	client.receive = func(n int) error {
		if err := c.Publish(g, natsPublish, fmt.Appendln(nil, n, subject)); err != nil {
			return err
		}
		for range n {
			if _, err := s.Next(g); err != nil {
				return err
			}
		}
		return nil
	}
	data := make([]byte, 64)
	client.request = func(n int) error {
		return rondo.Group(g, func(g *rondo.Scope) error {
			for range natsCallers {
				g.Go(func(ctx context.Context) error {
					for range n {
						if _, err := c.Request(ctx, natsEcho, data); err != nil {
							return err
						}
					}
					return nil
				})
			}
			return nil
		})
	}
	return client, c.Flush(g)
}

// natsGoroutines is the client with a callback and goroutines.
func natsGoroutines(url string) error {
	nc, err := natsgo.Connect(url)
	if err != nil {
		return err
	}
	defer nc.Close()
	left, done := 0, make(chan struct{})
	const subject = "bulk.goroutines"
	_, err = nc.Subscribe(subject, func(*natsgo.Msg) {
		if left--; left == 0 {
			done <- struct{}{}
		}
	})
	if err != nil {
		return err
	}
	if err := nc.Flush(); err != nil {
		return err
	}
	client := natsClient{receive: func(n int) error {
		left = n
		if err := nc.Publish(natsPublish, fmt.Appendln(nil, n, subject)); err != nil {
			return err
		}
		<-done
		return nil
	}}
	data := make([]byte, 64)
	client.request = func(n int) error {
		var all sync.WaitGroup
		errs := make(chan error, natsCallers)
		for range natsCallers {
			all.Go(func() {
				for range n {
					if _, err := nc.Request(natsEcho, data, time.Minute); err != nil {
						errs <- err
						return
					}
				}
			})
		}
		all.Wait()
		close(errs)
		return <-errs
	}
	fmt.Println("ready")
	return answer(client.answer)
}

// natsClientChild is a client process of a kind.
func natsClientChild(args []string) error {
	switch kind, url := args[0], args[1]; kind {
	case "tasks":
		return natsTasks(url)
	case "goroutines":
		return natsGoroutines(url)
	default:
		return fmt.Errorf("no client is called %q", kind)
	}
}
