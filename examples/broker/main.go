// Command broker passes messages from publishers to the subscribers of a topic.
// Requests and answers are lines:
//
//	SUB topic         OK
//	UNSUB topic       OK
//	PUB topic text    OK n, for n subscribers; each gets: MSG topic text
//
// "go run ./examples/broker" starts it. Connect with "nc localhost 7779" or "curl
// telnet://localhost:7779". Up to 64 messages wait for a subscriber that does not
// read. A publisher of one more waits for it, so all run as fast as the slowest. After
// -patience the broker disconnects the slow subscriber. On Ctrl-C it first sends the
// messages that are under way.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/signals"
	"github.com/rondo-go/rondo/socket"
)

const backlog, topicsMax, lineMax = 64, 1000, 64 << 10

// A broker is shared by the tasks of all clients without a lock.
type broker struct {
	socket.Server
	patience time.Duration
	topics   map[string][]*client
	clients  map[*client]bool
}

func newBroker(patience time.Duration) *broker {
	b := &broker{patience: patience, topics: make(map[string][]*client), clients: make(map[*client]bool)}
	b.Handler, b.MaxConns = b.serve, 10_000
	return b
}

// Shutdown takes no more requests. What is under way is sent, for as long as ctx lasts.
func (b *broker) Shutdown(ctx context.Context) error {
	for c := range b.clients {
		_ = c.Conn.(*socket.Conn).CloseRead()
	}
	return b.Server.Shutdown(ctx)
}

// A client has a queue of lines, which a separate task writes to the connection.
type client struct {
	net.Conn
	lines  *rondo.Queue[string]
	topics map[string]bool
}

// publish returns how many subscribers got the message. It waits only for subscribers
// whose queues are full, for all of them together, and no longer than b.patience.
func (b *broker) publish(ctx context.Context, topic, text string) (n int) {
	line := "MSG " + topic + " " + text
	// late is a copy, because the list may change while this waits.
	late := slices.DeleteFunc(slices.Clone(b.topics[topic]), func(c *client) bool { return c.lines.TryPut(line) })
	n = len(b.topics[topic]) - len(late)
	err := rondo.Timeout(ctx, b.patience, func(ctx context.Context) error {
		for ; len(late) > 0; late = late[1:] {
			if err := late[0].lines.Put(ctx, line); err == nil {
				n++
			} else if !errors.Is(err, rondo.ErrQueueClosed) { // it has gone
				return err
			}
		}
		return nil
	})
	for _, c := range late {
		if c.lines.TryPut(line) {
			n++ // only one before it was slow
		} else if errors.Is(err, context.DeadlineExceeded) {
			c.lines.Abort()
			_ = c.Close() // its reader then ends
		}
	}
	return n
}

// answer executes the request in a line, and returns the answer.
func (b *broker) answer(ctx context.Context, c *client, line string) string {
	verb, rest, _ := strings.Cut(line, " ")
	topic, text, hasText := strings.Cut(rest, " ")
	switch {
	case topic == "" || hasText != (verb == "PUB") || !slices.Contains([]string{"SUB", "UNSUB", "PUB"}, verb):
		return "ERR expected SUB topic, UNSUB topic or PUB topic text"
	case verb == "PUB":
		return fmt.Sprint("OK ", b.publish(ctx, topic, text))
	case verb == "UNSUB":
		b.drop(c, topic)
	case len(c.topics) == topicsMax:
		return fmt.Sprintf("ERR more than %d topics", topicsMax)
	case !c.topics[topic]:
		c.topics[topic] = true
		b.topics[topic] = append(b.topics[topic], c)
	}
	return "OK"
}

// drop ends a subscription, if there is one.
func (b *broker) drop(c *client, topic string) {
	delete(c.topics, topic)
	if b.topics[topic] = slices.DeleteFunc(b.topics[topic], func(o *client) bool { return o == c }); len(b.topics[topic]) == 0 {
		delete(b.topics, topic)
	}
}

// serve handles one client, with a task that reads and one that writes. The writer is
// shielded: it ends with the queue, also if the reader fails.
func (b *broker) serve(ctx context.Context, conn net.Conn) error {
	c := &client{conn, rondo.NewQueue[string](backlog), make(map[string]bool)}
	b.clients[c] = true
	defer delete(b.clients, c)
	err := rondo.Group(ctx, func(g *rondo.Scope) (err error) {
		g.Go(func(ctx context.Context) error {
			return rondo.Shield(ctx, func(ctx context.Context) error {
				for line := range c.lines.All(ctx) {
					if _, err := fmt.Fprintln(c, line); err != nil {
						return err
					}
				}
				return nil
			})
		})
		in := bufio.NewScanner(c)
		for in.Buffer(nil, lineMax); err == nil && in.Scan(); {
			err = c.lines.Put(g, b.answer(g, c, in.Text()))
		}
		if errors.Is(in.Err(), bufio.ErrTooLong) {
			c.lines.TryPut(fmt.Sprintf("ERR a line has at most %d bytes", lineMax))
		}
		for topic := range c.topics {
			b.drop(c, topic)
		}
		c.lines.Close()
		return errors.Join(err, in.Err(), c.SetWriteDeadline(rondo.Now(g).Add(b.patience)))
	})
	if errors.Is(err, net.ErrClosed) || rondo.Check(ctx) != nil {
		return nil // it was disconnected, or the broker ends
	}
	return err
}

func main() {
	address := flag.String("addr", "localhost:7779", "where to listen")
	patience := flag.Duration("patience", time.Second, "how long to wait for a slow subscriber")
	flag.Parse()
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", *address)
		if err != nil {
			return err
		}
		fmt.Println("listening on", l.Addr())
		return signals.Serve(ctx, newBroker(*patience), l, *patience)
	})
	if err != nil {
		log.Fatal(err)
	}
}
