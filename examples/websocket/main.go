// Command websocket is a chat for people who say little: what one says goes to all. Handlers are
// those of net/http, WebSocket is package gobwas/ws. A member who is silent has no task and no
// buffer, and costs less than a kilobyte.
//
// Try it:
//
//	go run ./examples/websocket
//
// and open http://localhost:8080 in several tabs.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/signals"
	"github.com/rondo-go/rondo/socket"
)

var address = "localhost:8080"

const (
	longest   = 16 << 10         // bytes of a message
	mostSent  = 64               // messages that a member may be behind
	inMiddle  = 10 * time.Second // the time in which a message that has begun must come
	toGoodbye = time.Second      // the time in which a member must take the goodbye
)

const page = `<!doctype html>
<meta charset="utf-8"><title>Chat</title>
<form><input autofocus placeholder="say something"></form>
<pre></pre>
<script>
const chat = new WebSocket("ws://" + location.host + "/chat")
const input = document.querySelector("input"), said = document.querySelector("pre")
chat.onmessage = e => said.append(e.data + "\n")
chat.onclose = e => said.append("the chat has ended: " + e.reason + "\n")
document.querySelector("form").onsubmit = e => {
	e.preventDefault()
	chat.send(input.value)
	input.value = ""
}
</script>
`

// A chat is a server and its members. It has no lock: all of it belongs to the loop.
type chat struct {
	*httptask.Server
	members []*member
	writers *rondo.Scope // owns the tasks that write
}

// A member is a connection and what it is still to be sent.
type member struct {
	chat    *chat
	conn    net.Conn
	unsent  [][]byte
	writing bool // a task writes
}

func newChat(writers *rondo.Scope) *chat {
	c := &chat{writers: writers}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, page) })
	mux.HandleFunc("GET /chat", c.join)
	c.Server = &httptask.Server{HTTP: http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}}
	return c
}

// say sends a frame to all members.
func (c *chat) say(f ws.Frame) {
	bytes := ws.MustCompileFrame(f)
	for _, m := range c.members {
		m.send(bytes)
	}
}

// send never suspends. One Write sends a whole frame, so the answer to a ping does not get between.
func (m *member) send(frame []byte) {
	if len(m.unsent) == mostSent {
		_ = m.conn.Close() // it does not read; hear is told
		return
	}
	m.unsent = append(m.unsent, frame)
	if !m.writing {
		m.writing = true
		m.chat.writers.Go(m.write)
	}
}

// write sends what there is, and ends: an idle member has no task.
func (m *member) write(context.Context) error {
	for len(m.unsent) > 0 {
		frame := m.unsent[0]
		m.unsent = m.unsent[1:]
		if _, err := m.conn.Write(frame); err != nil {
			_ = m.conn.Close() // hear is told
			break
		}
	}
	m.unsent, m.writing = nil, false
	return nil
}

func (c *chat) leave(m *member) {
	if i := slices.Index(c.members, m); i >= 0 {
		c.members = slices.Delete(c.members, i, i+1)
	}
}

// Shutdown says goodbye to all members and ends the server.
func (c *chat) Shutdown(ctx context.Context) error {
	goodbye := ws.MustCompileFrame(ws.NewCloseFrame(ws.NewCloseFrameBody(ws.StatusGoingAway, "goodbye")))
	_ = rondo.Timeout(ctx, toGoodbye, func(ctx context.Context) error { // those who do not read miss it
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			for _, m := range c.members {
				g.Go(func(context.Context) error { _, _ = m.conn.Write(goodbye); return nil })
			}
			return nil
		})
	})
	return c.Server.Shutdown(ctx)
}

// serve serves until Ctrl-C.
func serve(ctx context.Context) error {
	l, err := socket.Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	fmt.Println("listening on", l.Addr())
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		defer g.Cancel(nil) // those who do not read keep their writers
		return signals.Serve(g, newChat(g), l, 2*time.Second)
	})
}

func main() {
	if err := rondo.Run(context.Background(), serve); err != nil {
		log.Fatal(err)
	}
}

// join makes a WebSocket of a request. When it has returned, the connection has no task, until
// the member says something.
func (c *chat) join(w http.ResponseWriter, r *http.Request) {
	conn, _, _, err := ws.UpgradeHTTP(r, w)
	if err == nil {
		m := &member{chat: c, conn: conn}
		if err = httptask.Session(r.Context(), m.hear); err == nil {
			c.members = append(c.members, m)
			return
		}
	}
	if conn != nil {
		_ = conn.Close() // UpgradeHTTP has told the client why
	}
}

// hear is called whenever something has come. It reads one frame, or the message that the frame
// begins; what a client does wrong ends its connection.
func (m *member) hear(ctx context.Context, in *bufio.Reader) error {
	stays := false
	defer func() {
		if !stays {
			m.chat.leave(m)
		}
	}()
	if err := m.read(ctx, in); err != nil {
		return io.EOF
	}
	stays = true
	return m.conn.SetReadDeadline(time.Time{}) // it may be silent for as long as it likes
}

func (m *member) read(ctx context.Context, in *bufio.Reader) error {
	if err := m.conn.SetReadDeadline(rondo.Now(ctx).Add(inMiddle)); err != nil {
		return err
	}
	control := wsutil.ControlFrameHandler(m.conn, ws.StateServerSide)
	frames := wsutil.Reader{
		Source: in, State: ws.StateServerSide, CheckUTF8: true, OnIntermediate: control,
		MaxFrameSize: longest, MaxMessageSize: longest,
	}
	h, err := frames.NextFrame()
	switch {
	case err != nil:
		return err
	case h.OpCode.IsControl():
		return control(h, &frames) // an error if it says goodbye
	case h.OpCode != ws.OpText:
		return frames.Discard()
	}
	text, err := io.ReadAll(&frames)
	if err == nil {
		m.chat.say(ws.NewTextFrame(text))
	}
	return err
}
