// Command wschat is cookbook/wschat with goroutines.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"sync"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"

	"github.com/rondo-go/rondo/examples/cookbook/goroutines/internal/tcp"
)

var (
	mu      sync.Mutex
	members = map[chan string]bool{}
)

func say(line string) {
	mu.Lock()
	defer mu.Unlock()
	for m := range members {
		select {
		case m <- line:
		default:
			delete(members, m)
			close(m) // a reader that is 64 lines behind has to go
		}
	}
}

func leave(m chan string) {
	mu.Lock()
	defer mu.Unlock()
	if members[m] {
		delete(members, m)
		close(m)
	}
}

func chat(ctx context.Context, c net.Conn) error {
	if _, err := ws.Upgrade(c); err != nil {
		return err
	}
	lines := make(chan string, 64)
	mu.Lock()
	members[lines] = true
	mu.Unlock()
	var writer sync.WaitGroup
	defer writer.Wait()
	defer leave(lines)
	writer.Go(func() {
		defer c.Close() // ends the reader
		for line := range lines {
			if _, err := c.Write(ws.MustCompileFrame(ws.NewTextFrame([]byte(line)))); err != nil {
				return
			}
		}
	})
	for {
		text, err := wsutil.ReadClientText(c)
		if errors.As(err, new(wsutil.ClosedError)) {
			return nil
		} else if err != nil {
			return err
		}
		say(string(text))
	}
}

func main() {
	wsutil.SetMaxMessageSize(16 << 10) // or one message could fill the memory
	l, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening on", l.Addr())
	if err := (&tcp.Server{Handle: chat}).Serve(context.Background(), l, time.Second); err != nil {
		log.Fatal(err)
	}
}
