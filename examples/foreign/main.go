// Command foreign runs the server of net/http beside a loop. Its handlers run on
// goroutines, and use Submit to reach the state of the loop's tasks.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/signals"
	"github.com/rondo-go/rondo/socket"
)

var address = "localhost:8080"

// A server is an http.Server whose methods suspend a task, as signals.Serve wants it.
type server struct{ http.Server }

func (s *server) Serve(ctx context.Context, l net.Listener) error {
	return rondo.OffloadFunc(ctx, func(context.Context) error { return s.Server.Serve(l) })
}

func (s *server) Shutdown(ctx context.Context) error {
	return rondo.OffloadFunc(ctx, s.Server.Shutdown)
}

func main() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		visits := make(map[string]int)
		loop := rondo.LoopOf(ctx)
		count := func(ctx context.Context, path string) (int, error) {
			return rondo.Submit(loop, func(context.Context) (int, error) {
				visits[path]++ // on the loop
				return visits[path], nil
			}).Wait(ctx)
		}
		handler := func(w http.ResponseWriter, r *http.Request) {
			n, err := count(r.Context(), r.URL.Path)
			if err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
			fmt.Fprintln(w, "visits:", n)
		}
		l, err := socket.Listen(ctx, "tcp", address)
		if err != nil {
			return err
		}
		fmt.Println("listening on", l.Addr())
		s := &server{http.Server{Handler: http.HandlerFunc(handler)}}
		defer s.Close()
		return signals.Serve(ctx, s, l, 2*time.Second)
	})
	if err != nil {
		log.Fatal(err)
	}
}
