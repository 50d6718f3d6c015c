// Command pubsub is cookbook/pubsub with goroutines.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/rondo-go/rondo/examples/cookbook/goroutines/internal/tcp"
)

var (
	mu     sync.Mutex
	topics = map[string]map[chan string]bool{}
)

func publish(topic, line string) {
	mu.Lock()
	defer mu.Unlock()
	for s := range topics[topic] {
		for sent := false; !sent; {
			select {
			case s <- line:
				sent = true
			default:
				select {
				case <-s: // a slow reader misses the oldest
				default:
				}
			}
		}
	}
}

func subscribe(topic string, lines chan string) (leave func()) {
	mu.Lock()
	defer mu.Unlock()
	if topics[topic] == nil {
		topics[topic] = map[chan string]bool{}
	}
	topics[topic][lines] = true
	return func() {
		mu.Lock()
		defer mu.Unlock()
		delete(topics[topic], lines)
	}
}

func serve(ctx context.Context, c net.Conn) error {
	ctx, cancel := context.WithCancel(ctx)
	var writers sync.WaitGroup
	defer writers.Wait()
	defer cancel()
	for in := bufio.NewScanner(c); ; {
		if !in.Scan() {
			return in.Err()
		}
		verb, rest, _ := strings.Cut(in.Text(), " ")
		topic, text, _ := strings.Cut(rest, " ")
		switch verb {
		case "PUB":
			publish(topic, topic+": "+text)
		case "SUB":
			lines := make(chan string, 16)
			leave := subscribe(topic, lines)
			writers.Go(func() {
				defer leave()
				for {
					select {
					case line := <-lines:
						if _, err := fmt.Fprintln(c, line); err != nil {
							c.Close() // ends the reader
							return
						}
					case <-ctx.Done():
						return
					}
				}
			})
		}
		if _, err := fmt.Fprintln(c, "OK"); err != nil {
			return err
		}
	}
}

func main() {
	l, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening on", l.Addr())
	if err := (&tcp.Server{Handle: serve}).Serve(context.Background(), l, time.Second); err != nil {
		log.Fatal(err)
	}
}
