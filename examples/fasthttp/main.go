// Command fasthttp runs handlers of fasthttp in tasks. They share a map without a
// lock, and may wait as tasks do.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/signals"
	"github.com/rondo-go/rondo/socket"
)

var address = "localhost:8080"

// serve serves until a signal ends it.
func serve(ctx context.Context, l net.Listener) error {
	visits := make(map[string]int)
	server := &fasthttp.Server{
		NoDefaultDate: true, // it is the machine's, and a simulation compares what is sent
		IdleTimeout:   time.Minute,
		Handler: func(r *fasthttp.RequestCtx) {
			if r.IsPost() {
				r.SetBody(r.PostBody())
				return
			}
			visits[string(r.Path())]++
			_ = rondo.Sleep(ctx, time.Millisecond) // other handlers run meanwhile
			fmt.Fprintln(r, "visits:", visits[string(r.Path())])
		},
	}
	conns := &socket.Server{Handler: func(_ context.Context, c net.Conn) error { return server.ServeConn(c) }}
	return signals.Serve(ctx, conns, l, 2*time.Second)
}

func main() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", address)
		if err != nil {
			return err
		}
		fmt.Println("listening on", l.Addr())
		return serve(ctx, l)
	})
	if err != nil {
		log.Fatal(err)
	}
}
