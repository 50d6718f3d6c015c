package embed_test

import (
	"context"
	"fmt"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/nats"
	"github.com/rondo-go/rondo/nats/embed"
)

// A server, a worker and a caller in one process. The server is in the scope around that
// of the connection, so it ends last.
func ExampleStart() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(outer *rondo.Scope) error {
			s, err := embed.Start(outer, &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT})
			if err != nil {
				return err
			}
			return rondo.Group(outer, func(g *rondo.Scope) error {
				c, err := nats.Connect(g, s.ClientURL())
				if err != nil {
					return err
				}
				err = nats.Serve(g, c, "add", 10, func(_ context.Context, terms []int) (sum int, err error) {
					for _, n := range terms {
						sum += n
					}
					return sum, nil
				})
				if err != nil {
					return err
				}
				sum, err := nats.Call[[]int, int](g, c, "add", []int{20, 22})
				fmt.Println(sum, err)
				return c.Drain(g)
			})
		})
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: 42 <nil>
}
