// Command foreign runs the server of net/http beside a loop. Its handlers run on
// goroutines, and use Submit to reach the state of the loop's tasks.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

var address = "localhost:8080"

func main() {
	log.Fatal(rondo.Run(context.Background(), func(ctx context.Context) error {
		visits := make(map[string]int)
		loop := rondo.LoopOf(ctx)
		count := func(ctx context.Context, path string) (int, error) {
			return rondo.Submit(loop, func(context.Context) (int, error) {
				visits[path]++ // on the loop
				return visits[path], nil
			}).Wait(ctx)
		}
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n, err := count(r.Context(), r.URL.Path)
			if err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
			fmt.Fprintln(w, "visits:", n)
		})}
		l, err := socket.Listen(ctx, "tcp", address)
		if err != nil {
			return err
		}
		fmt.Println("listening on", l.Addr())
		_, err = rondo.Offload(ctx, func(context.Context) (struct{}, error) { return struct{}{}, server.Serve(l) })
		return errors.Join(err, server.Close())
	}))
}
