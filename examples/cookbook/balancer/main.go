// Command balancer passes each connection to the backend that has the fewest.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/signals"
	"github.com/rondo-go/rondo/socket"
)

type backend struct {
	address string
	up      bool
	conns   int
}

var backends []*backend

// watch asks every 100 ms whether the backend accepts connections.
func (b *backend) watch(ctx context.Context) error {
	for range rondo.Every(ctx, 100*time.Millisecond) {
		c, err := (&socket.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", b.address)
		if b.up = err == nil; b.up {
			c.Close()
		}
	}
	return rondo.Check(ctx)
}

func forward(ctx context.Context, near net.Conn) error {
	var best *backend
	for _, b := range backends {
		if b.up && (best == nil || b.conns < best.conns) {
			best = b
		}
	}
	if best == nil {
		return errors.New("no backend is up")
	}
	best.conns++
	defer func() { best.conns-- }()
	far, err := socket.Dial(ctx, "tcp", best.address)
	if err != nil {
		return err
	}
	defer far.Close()
	half := func(to, from net.Conn) func(context.Context) (int64, error) {
		return func(context.Context) (int64, error) {
			n, err := io.Copy(to, from)
			return n, errors.Join(err, to.(*socket.Conn).CloseWrite())
		}
	}
	_, err = rondo.Gather(ctx, half(far, near), half(near, far))
	return err
}

func main() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		for _, a := range os.Args[2:] {
			backends = append(backends, &backend{address: a})
			rondo.Go(ctx, backends[len(backends)-1].watch) // Run ends it when this function returns
		}
		l, err := socket.Listen(ctx, "tcp", os.Args[1])
		if err != nil {
			return err
		}
		fmt.Println("listening on", l.Addr())
		return signals.Serve(ctx, &socket.Server{Handler: forward}, l, time.Second)
	})
	if err != nil {
		log.Fatal(err)
	}
}
