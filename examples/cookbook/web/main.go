// Command web counts visits by name. /slow takes a while. After Ctrl-C, requests that run
// have 5 s to end.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/signals"
)

func main() {
	visits := map[string]int{} // handlers are tasks: no lock
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{name}", func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("name")
		visits[name]++
		fmt.Fprintln(w, name, visits[name])
	})
	mux.HandleFunc("GET /slow", func(w http.ResponseWriter, r *http.Request) {
		fmt.Println("a slow request from", r.RemoteAddr)
		if err := rondo.Sleep(r.Context(), 200*time.Millisecond); err != nil {
			return // the client has gone, or the 5 s are over
		}
		fmt.Fprintln(w, "done")
	})
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		l, err := net.Listen("tcp", os.Args[1])
		if err != nil {
			return err
		}
		fmt.Println("listening on", l.Addr())
		return signals.Serve(ctx, &httptask.Server{HTTP: http.Server{Handler: mux}}, l, 5*time.Second)
	})
	if err != nil {
		log.Fatal(err)
	}
}
