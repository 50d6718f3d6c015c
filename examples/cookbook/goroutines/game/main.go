// Command game is cookbook/game with goroutines.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"os"
	"sync"
	"time"

	"github.com/rondo-go/rondo/examples/cookbook/goroutines/internal/tcp"
)

type player struct {
	X, speed int
	states   chan []byte // holds the newest
}

var (
	mu      sync.Mutex
	players = map[string]*player{}
)

func tick() error {
	mu.Lock()
	defer mu.Unlock()
	for _, p := range players {
		p.X += p.speed
	}
	state, err := json.Marshal(players)
	if err != nil {
		return err
	}
	state = append(state, '\n') // not in the loop: then all would write to one array
	for _, p := range players {
		select {
		case <-p.states: // the one before
		default:
		}
		p.states <- state
	}
	return nil
}

func world(ctx context.Context) {
	every := time.NewTicker(time.Second / 60)
	defer every.Stop()
	for {
		select {
		case <-every.C:
			if err := tick(); err != nil {
				log.Fatal(err)
			}
		case <-ctx.Done():
			return
		}
	}
}

func play(ctx context.Context, c net.Conn) error {
	me, name := &player{states: make(chan []byte, 1)}, c.RemoteAddr().String()
	mu.Lock()
	players[name] = me
	mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	var writer sync.WaitGroup
	defer writer.Wait()
	defer cancel()
	defer func() {
		mu.Lock()
		defer mu.Unlock()
		delete(players, name)
	}()
	writer.Go(func() {
		defer c.Close() // ends the reader
		for {
			select {
			case state := <-me.states:
				if _, err := c.Write(state); err != nil {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	})
	in := bufio.NewScanner(c)
	for in.Scan() {
		mu.Lock()
		me.speed = map[string]int{"l": -1, "r": 1}[in.Text()]
		mu.Unlock()
	}
	return in.Err()
}

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go world(ctx)
	l, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening on", l.Addr())
	if err := (&tcp.Server{Handle: play}).Serve(ctx, l, time.Second); err != nil {
		log.Fatal(err)
	}
}
