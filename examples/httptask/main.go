// Command httptask is a web server whose handlers run in tasks. They share a map
// without a lock, wait as tasks do, and tell each other by a stream of events.
//
//	go run ./examples/httptask
//	curl -N localhost:8080/events &
//	curl localhost:8080/a
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/signals"
)

var address = "localhost:8080"

func main() {
	if err := rondo.Run(context.Background(), serve); err != nil {
		log.Fatal(err)
	}
}

// serve serves until Ctrl-C. Requests that run then have two seconds more.
func serve(ctx context.Context) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println("listening on", l.Addr())
	server := &httptask.Server{HTTP: http.Server{Handler: newVisits(), ReadHeaderTimeout: 5 * time.Second}}
	return signals.Serve(ctx, server, l, 2*time.Second)
}

// A counter is the state that all handlers share. Only one of them runs at a time.
type counter struct {
	count   map[string]int
	total   int
	changed rondo.WaitList
}

func newVisits() http.Handler {
	v := &counter{count: make(map[string]int)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{name}", v.visit)
	mux.HandleFunc("GET /events", v.events)
	return mux
}

func (v *counter) visit(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	v.count[name]++
	v.total++
	v.changed.WakeAll()
	fmt.Fprintln(w, "visits:", v.count[name])
}

// events sends the number of visits whenever it has changed, until the client goes away.
func (v *counter) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	for sent := -1; ; {
		if sent == v.total {
			if err := v.changed.Park(r.Context(), rondo.Reason{What: "visit"}); err != nil {
				return
			}
		}
		sent = v.total
		fmt.Fprintf(w, "data: %d\n\n", sent)
		w.(http.Flusher).Flush() // others run meanwhile
	}
}
