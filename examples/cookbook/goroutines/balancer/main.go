// Command balancer is cookbook/balancer with goroutines.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rondo-go/rondo/examples/cookbook/goroutines/internal/tcp"
)

type backend struct {
	address string
	up      bool
	conns   int
}

var (
	mu       sync.Mutex // guards the fields of all backends
	backends []*backend
)

// watch asks every 100 ms whether the backend accepts connections.
func (b *backend) watch(ctx context.Context) {
	every := time.NewTicker(100 * time.Millisecond)
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
		c, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", b.address)
		mu.Lock()
		b.up = err == nil
		mu.Unlock()
		if err == nil {
			c.Close()
		}
	}
}

func pick() (best *backend) {
	mu.Lock()
	defer mu.Unlock()
	for _, b := range backends {
		if b.up && (best == nil || b.conns < best.conns) {
			best = b
		}
	}
	if best != nil {
		best.conns++
	}
	return best
}

func forward(ctx context.Context, near net.Conn) error {
	best := pick()
	if best == nil {
		return errors.New("no backend is up")
	}
	defer func() {
		mu.Lock()
		defer mu.Unlock()
		best.conns--
	}()
	far, err := new(net.Dialer).DialContext(ctx, "tcp", best.address)
	if err != nil {
		return err
	}
	defer far.Close()
	g, ctx := errgroup.WithContext(ctx)
	defer context.AfterFunc(ctx, func() { near.Close(); far.Close() })() // one failure ends both
	half := func(to, from net.Conn) func() error {
		return func() error {
			_, err := io.Copy(to, from)
			return errors.Join(err, to.(*net.TCPConn).CloseWrite())
		}
	}
	g.Go(half(far, near))
	g.Go(half(near, far))
	return g.Wait()
}

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	var watchers sync.WaitGroup
	for _, a := range os.Args[2:] {
		b := &backend{address: a}
		backends = append(backends, b)
		watchers.Go(func() { b.watch(ctx) })
	}
	l, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening on", l.Addr())
	err = (&tcp.Server{Handle: forward}).Serve(ctx, l, time.Second)
	cancel()
	watchers.Wait()
	if err != nil {
		log.Fatal(err)
	}
}
