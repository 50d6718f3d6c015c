package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/examples/internal/program"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// TestMain passes the child the address at which it listens.
func TestMain(m *testing.M) {
	program.Main(m, func() {
		address = os.Args[1]
		main()
	})
}

// A visitor is a member's end of a connection.
type visitor struct {
	net.Conn
	in *bufio.Reader
}

// visit joins the chat by a connection. It does the handshake itself, with the key of RFC 6455,
// because a simulation must be the same each time.
func visit(c net.Conn) (*visitor, error) {
	_, err := io.WriteString(c, "GET /chat HTTP/1.1\r\nHost: chat\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
	if err != nil {
		return nil, err
	}
	v := &visitor{c, bufio.NewReader(c)}
	a, err := http.ReadResponse(v.in, nil)
	if err == nil && a.Header.Get("Sec-WebSocket-Accept") != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
		err = fmt.Errorf("the answer is %s, %v", a.Status, a.Header)
	}
	return v, err
}

// says sends a text.
func (v *visitor) says(text string) error {
	_, err := v.Write(masked(ws.NewTextFrame([]byte(text))))
	return err
}

func masked(f ws.Frame) []byte { return ws.MustCompileFrame(ws.MaskFrameWith(f, [4]byte{1, 2, 3, 4})) }

// hears returns the next text, or the goodbye as an error.
func (v *visitor) hears() (string, error) {
	text, err := wsutil.ReadServerText(struct {
		io.Reader
		io.Writer
	}{v.in, v.Conn})
	return string(text), err
}

// TestChat: all hear what one says; pings are answered; text that comes in pieces is one; one who
// sends nonsense, or too much, has to go, and the others stay. Ctrl-C says goodbye.
func TestChat(t *testing.T) {
	p := program.Start(t, "localhost:0")
	at := strings.TrimPrefix(p.Line(), "listening on ")
	a, err := http.Get("http://" + at)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(a.Body)
	a.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if err != nil || !strings.Contains(string(text), "new WebSocket") {
		t.Errorf("the page is %q, %v", text, err)
	}
	var visitors []*visitor
	for range 4 {
		c, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		v, err := visit(c)
		if err != nil {
			t.Fatal(err)
		}
		visitors = append(visitors, v)
	}
	all := func(want string) {
		t.Helper()
		for i, v := range visitors {
			if got, err := v.hears(); got != want || err != nil {
				t.Errorf("visitor %d hears %q, %v, want %q", i, got, err, want)
			}
		}
	}
	first := visitors[0]
	_ = first.says("hello")
	all("hello")
	_, _ = first.Write(masked(ws.NewPingFrame([]byte("are you there"))))
	pong := make([]byte, len("are you there"))
	head, err := ws.ReadHeader(first.in)
	if _, err2 := io.ReadFull(first.in, pong); head.OpCode != ws.OpPong || string(pong) != "are you there" || err != nil || err2 != nil {
		t.Errorf("a ping is answered by %v %q, %v, %v", head.OpCode, pong, err, err2)
	}
	bytes := masked(ws.NewTextFrame([]byte("in pieces")))
	for i := range bytes {
		_, _ = first.Write(bytes[i : i+1])
	}
	all("in pieces")
	for _, wrong := range [][]byte{{0xff, 0x80, 0, 0, 0, 0}, masked(ws.NewTextFrame(make([]byte, longest+1)))} {
		v := visitors[len(visitors)-1]
		visitors = visitors[:len(visitors)-1]
		_, _ = v.Write(wrong)
		if got, err := v.hears(); err == nil {
			t.Errorf("one who sends nonsense hears %q", got)
		}
		_ = first.says("still here")
		all("still here")
	}
	p.Interrupt()
	for i, v := range visitors {
		_, err := v.hears()
		if closed := (wsutil.ClosedError{}); !errors.As(err, &closed) || closed.Code != ws.StatusGoingAway {
			t.Errorf("visitor %d hears %v at the end", i, err)
		}
	}
	if _, errors, code := p.Wait(); code != 0 || errors != "" {
		t.Errorf("it ended with %d: %s", code, errors)
	}
}

// TestCluster has the chat on a simulated host. Members who say nothing have no task. One who does
// not read has to go, and the others hear everything in order.
func TestCluster(t *testing.T) {
	const idle, texts = 20, 250
	sim.Config{Seeds: 1, Exact: true}.Cluster(t, func(ctx context.Context, w *sim.World) {
		var c *chat
		var heard []string
		w.Host("chat", func(ctx context.Context) error {
			l, err := socket.Listen(ctx, "tcp", ":80")
			if err != nil {
				return err
			}
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				c = newChat(g)
				g.Go(func(ctx context.Context) error {
					_ = rondo.Sleep(ctx, 30*time.Second)
					// This one, Serve's two, the one that stands for the sessions, and main.
					if n := len(rondo.Tasks(ctx)); n > 8 || len(c.members) != idle+3 {
						t.Errorf("%d tasks for %d members", n, len(c.members))
					}
					return nil
				})
				return c.Serve(g, l)
			})
		})
		w.Host("members", func(ctx context.Context) error {
			var all []*visitor
			for range idle + 3 {
				c, err := socket.Dial(ctx, "tcp", "chat:80")
				if err != nil {
					return err
				}
				defer c.Close()
				v, err := visit(c)
				if err != nil {
					return err
				}
				all = append(all, v)
			}
			_ = rondo.Sleep(ctx, time.Minute)
			talker, reader := all[0], all[1]
			for _, v := range all[3:] {
				v.Close()
			}
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(func(ctx context.Context) error {
					for len(heard) < texts {
						text, err := reader.hears()
						if err != nil {
							return err
						}
						heard = append(heard, text[:3])
					}
					return nil
				})
				for i := range texts {
					if err := talker.says(fmt.Sprintf("%03d", i) + strings.Repeat(" long", 3000)); err != nil {
						return err
					}
					if _, err := talker.hears(); err != nil {
						return err
					}
				}
				return nil
			})
			if len(c.members) != 2 {
				t.Errorf("%d members, want two: one does not read", len(c.members))
			}
			return err
		})
		_ = rondo.Sleep(ctx, 10*time.Minute)
		for i, text := range heard {
			if text != fmt.Sprintf("%03d", i) {
				t.Fatalf("text %d is %q", i, text)
			}
		}
		if len(heard) != texts {
			t.Errorf("%d texts of %d were heard", len(heard), texts)
		}
		if len(c.members) != 0 {
			t.Errorf("%d members are left", len(c.members))
		}
	})
}
