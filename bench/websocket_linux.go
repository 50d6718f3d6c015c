package main

// The row of idle WebSockets: gobwas/ws in sessions of httptask, and coder/websocket as its
// documents say, a goroutine for each connection. Both echo.

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/coder/websocket"
	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
)

// upgrade is the handshake of RFC 6455, section 1.3, and a message after it.
var upgrade = "GET /chat HTTP/1.1\r\nHost: bench\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
	"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n" + string(ws.MustCompileFrame(ws.MaskFrameWith(ws.NewTextFrame([]byte(webSocketText)), [4]byte{1, 2, 3, 4})))

var webSocketText = strings.Repeat("w", 64)

// greeting is the message of the server.
var greeting = string(ws.MustCompileFrame(ws.NewTextFrame([]byte(webSocketText))))

func serveWebSocketSession(ctx context.Context, _ serving) error {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _, _, err := ws.UpgradeHTTP(r, w)
		if err == nil {
			err = httptask.Session(r.Context(), func(_ context.Context, in *bufio.Reader) error { return echoText(c, in) })
		}
		if err != nil && c != nil {
			c.Close()
		}
	})
	return serveSite(func(ctx context.Context, l net.Listener, _ http.Handler) error {
		return rondo.Run(ctx, func(ctx context.Context) error { return httptask.Serve(ctx, l, h) })
	})(ctx, serving{})
}

// echoText echoes a message.
func echoText(c net.Conn, in *bufio.Reader) error {
	text, err := wsutil.ReadClientText(struct {
		io.Reader
		io.Writer
	}{in, c})
	if err != nil {
		return io.EOF // the load ends its connections with a reset
	}
	_, err = c.Write(ws.MustCompileFrame(ws.NewTextFrame(text)))
	return err
}

func serveWebSocketCoder(ctx context.Context, _ serving) error {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return // Accept has answered
		}
		defer c.CloseNow()
		for {
			kind, text, err := c.Read(r.Context())
			if err != nil || c.Write(r.Context(), kind, text) != nil {
				return
			}
		}
	})
	return serveSite(func(ctx context.Context, l net.Listener, _ http.Handler) error { return siteByNetHTTP(ctx, l, h) })(ctx, serving{})
}

// webSocketIdleRow is the memory of a WebSocket that has echoed one message.
func webSocketIdleRow() row {
	return row{
		name: "websocket-idle", section: memory,
		why: "A goroutine for each connection keeps its stack and the library's buffers.",
		run: func(o options) ([]result, error) {
			return idleOf(o, "idle WebSocket", "websocket", []server{
				{"websocket-session", "httptask.Session", true, inGo("websocket-session")},
				{"websocket-coder", "coder/websocket on net/http", false, inGo("websocket-coder")},
			}, nil, map[string]float64{"httptask.Session": 1500})
		},
	}
}
