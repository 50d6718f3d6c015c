// Command web is cookbook/web with goroutines.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

func main() {
	var mu sync.Mutex
	visits := map[string]int{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{name}", func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("name")
		mu.Lock()
		visits[name]++
		n := visits[name]
		mu.Unlock()
		fmt.Fprintln(w, name, n)
	})
	mux.HandleFunc("GET /slow", func(w http.ResponseWriter, r *http.Request) {
		fmt.Println("a slow request from", r.RemoteAddr)
		select {
		case <-time.After(200 * time.Millisecond):
		case <-r.Context().Done():
			return // the client has gone
		}
		fmt.Fprintln(w, "done")
	})
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	l, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening on", l.Addr())
	server := &http.Server{Handler: mux}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		log.Fatal(err)
	case <-ctx.Done():
	}
	stop() // a second signal ends the program
	grace, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		server.Close()
	}
}
