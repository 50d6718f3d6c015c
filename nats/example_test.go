package nats_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/nats"
)

// TLS and credentials are options of the client.
func ExampleConnect() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			c, err := nats.Connect(g, "tls://nats.example.com:4222",
				natsgo.UserCredentials("service.creds"), natsgo.RootCAs("ca.pem"), natsgo.MaxReconnects(-1))
			if err != nil {
				return err
			}
			return c.Publish(g, "greetings", []byte("hello"))
		}) // sends what was published, and closes the connection
	})
	fmt.Println(err)
}

// A reader learns of what it has missed.
func ExampleSubscription_All() {
	read := func(ctx context.Context, c *nats.Conn) error {
		s, err := c.Subscribe(ctx, "prices.*", 1000)
		if err != nil {
			return err
		}
		defer s.Close()
		for m, err := range s.All(ctx) {
			switch {
			case errors.Is(err, natsgo.ErrSlowConsumer):
				fmt.Println("prices are missing here")
			case err != nil:
				return err
			default:
				fmt.Printf("%s is %s\n", m.Subject, m.Data)
			}
		}
		return nil
	}
	_ = read
}

// A task for each message shares state with all others, without a lock.
func ExampleConn_Handle() {
	serve := func(g *rondo.Scope, c *nats.Conn) error {
		seen := make(map[string]int)
		return c.Handle(g, "visits", "", 100, func(ctx context.Context, m *natsgo.Msg) error {
			seen[string(m.Data)]++
			if m.Reply == "" {
				return nil
			}
			return c.Publish(ctx, m.Reply, fmt.Append(nil, seen[string(m.Data)]))
		})
	}
	_ = serve
}

// What the error of a Call says about the function.
func ExampleCall() {
	resize := func(ctx context.Context, c *nats.Conn, image string) (small string, err error) {
		err = rondo.Timeout(ctx, 30*time.Second, func(ctx context.Context) error {
			small, err = nats.Call[string, string](ctx, c, "resize", image)
			return err
		})
		remote, failed := errors.AsType[*nats.RemoteError](err)
		switch {
		case failed:
			return "", fmt.Errorf("resize says: %s", remote.Text)
		case errors.Is(err, nats.ErrNoWorker), errors.Is(err, nats.ErrRefused):
			return "", errors.New("it has not run, so try again later")
		case errors.Is(err, nats.ErrLost):
			return "", errors.New("it may have run, so try again only if that does no harm")
		}
		return small, err
	}
	_ = resize
}

// Jobs survive the processes that do them.
func ExampleWork() {
	work := func(g *rondo.Scope, c *nats.Conn) error {
		consumer, err := rondo.Offload(g, func(ctx context.Context) (jetstream.Consumer, error) {
			js, err := jetstream.New(c.NC())
			if err != nil {
				return nil, err
			}
			_, err = js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
				Name: "MAILS", Subjects: []string{"mail.>"}, Retention: jetstream.WorkQueuePolicy,
			})
			if err != nil {
				return nil, err
			}
			return js.CreateOrUpdateConsumer(ctx, "MAILS", jetstream.ConsumerConfig{Durable: "senders", AckPolicy: jetstream.AckExplicitPolicy})
		})
		if err != nil {
			return err
		}
		return nats.Work(g, consumer, 10, func(ctx context.Context, m jetstream.Msg) error {
			return send(ctx, m.Data()) // with an error it is delivered again, later
		})
	}
	_ = work
}

func send(ctx context.Context, mail []byte) error { return rondo.Sleep(ctx, time.Millisecond) }
