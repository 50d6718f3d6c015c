// Command fetch gets several pages at once, in two ways: with the client of net/http,
// which suspends a task by package httptask, and with that of fasthttp, which runs in
// the tasks themselves.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/socket"
)

func main() {
	if err := rondo.Run(context.Background(), func(ctx context.Context) error { return fetch(ctx, os.Args[1:]) }); err != nil {
		log.Fatal(err)
	}
}

// fetch prints the lengths of the pages, in the order of their addresses.
func fetch(ctx context.Context, urls []string) error {
	// As many connections as tasks, so that no task waits for a connection.
	client := &fasthttp.Client{
		MaxConnsPerHost: len(urls),
		ReadTimeout:     10 * time.Second,
		Dial:            func(address string) (net.Conn, error) { return socket.Dial(ctx, "tcp", address) },
	}
	ordinary := httptask.Client(ctx)
	var byNetHTTP, byFasthttp []func(ctx context.Context) (int, error)
	for _, url := range urls {
		byNetHTTP = append(byNetHTTP, func(ctx context.Context) (int, error) {
			return get(ctx, ordinary, url)
		})
		byFasthttp = append(byFasthttp, func(context.Context) (int, error) { // ends with its task too
			_, body, err := client.Get(nil, url)
			return len(body), err
		})
	}
	for _, way := range [][]func(ctx context.Context) (int, error){byNetHTTP, byFasthttp} {
		sizes, err := rondo.Gather(ctx, way...)
		if err != nil {
			return err
		}
		fmt.Println(sizes)
	}
	return nil
}

// get is an ordinary request of net/http. ctx ends it together with its task.
func get(ctx context.Context, client *http.Client, url string) (int, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	a, err := client.Do(q)
	if err != nil {
		return 0, err
	}
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	return len(body), err
}
