// Command session is a key-value server. Its connections are sessions: code as
// sequential as a handler's, but no stack while a client says nothing.
//
// Try it:
//
//	go run ./examples/session
//	nc localhost 7780
//
// The commands are "set KEY VALUE", "get KEY", "wait KEY", which waits until the
// key is set, and "quit".
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"strings"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/signals"
	"github.com/rondo-go/rondo/socket"
)

var (
	address  = "localhost:7780"
	idleTime = 5 * time.Minute // a client that says nothing for so long is disconnected
)

// A store has the values, and a wish for each key that somebody waits for.
// All sessions share it, without a lock: they take turns.
type store struct {
	values map[string]string
	wishes map[string]*wish
}

type wish struct {
	granted rondo.Event
	waiters int
}

func newStore() *store {
	return &store{values: make(map[string]string), wishes: make(map[string]*wish)}
}

// wait returns the value of a key when there is one. It ends with ctx, so also when the
// client leaves.
func (s *store) wait(ctx context.Context, key string) (string, error) {
	if value, found := s.values[key]; found {
		return value, nil
	}
	w := s.wishes[key]
	if w == nil {
		w = new(wish)
		s.wishes[key] = w
	}
	w.waiters++
	err := w.granted.Wait(ctx)
	if w.waiters--; w.waiters == 0 && s.wishes[key] == w { // all have left
		delete(s.wishes, key)
	}
	return s.values[key], err
}

func (s *store) put(key, value string) {
	s.values[key] = value
	if w := s.wishes[key]; w != nil {
		delete(s.wishes, key)
		w.granted.Set()
	}
}

// session is called once a connection. What it returns is called for each
// command; between two of them there are only the closure and its variables.
func (s *store) session(c net.Conn) func(ctx context.Context) error {
	in := bufio.NewReaderSize(c, 512)
	_ = c.SetReadDeadline(time.Now().Add(idleTime))
	return func(ctx context.Context) error {
		for {
			line, err := in.ReadSlice('\n')
			if err != nil {
				return err
			}
			if err := s.answer(ctx, c, strings.TrimSpace(string(line))); err != nil {
				return err
			}
			// Commands that came together are in the reader, and only we know.
			if in.Buffered() == 0 {
				return c.SetReadDeadline(time.Now().Add(idleTime))
			}
		}
	}
}

// answer does one command.
func (s *store) answer(ctx context.Context, c net.Conn, line string) (err error) {
	command, rest, _ := strings.Cut(line, " ")
	key, value, _ := strings.Cut(rest, " ")
	switch command {
	case "set":
		s.put(key, value)
		_, err = fmt.Fprintln(c, "ok")
	case "get":
		if value, found := s.values[key]; found {
			_, err = fmt.Fprintln(c, "=", value)
		} else {
			_, err = fmt.Fprintln(c, "none")
		}
	case "wait":
		if value, err = s.wait(ctx, key); err == nil {
			_, err = fmt.Fprintln(c, "=", value)
		}
	case "quit":
		err = io.EOF
	default:
		_, err = fmt.Fprintf(c, "error: no command is called %q\n", command)
	}
	return err
}

func main() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", address)
		if err != nil {
			return err
		}
		fmt.Println("listening on", l.Addr())
		return signals.Serve(ctx, &socket.Server{Session: newStore().session}, l, time.Second)
	})
	if err != nil {
		log.Fatal(err)
	}
}
