// Command wschat is a chat over WebSocket: what one says goes to all.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/broadcast"
	"github.com/rondo-go/rondo/signals"
	"github.com/rondo-go/rondo/socket"
)

var room broadcast.Topic[string]

func chat(ctx context.Context, c net.Conn) error {
	if _, err := ws.Upgrade(c); err != nil {
		return err
	}
	lines := room.Subscribe(64, broadcast.Drop) // a reader that is 64 lines behind has to go
	defer lines.Close()
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(func(ctx context.Context) error {
			for line := range lines.All(ctx) {
				// One Write for the whole frame: the reader may answer a ping meanwhile.
				if _, err := c.Write(ws.MustCompileFrame(ws.NewTextFrame([]byte(line)))); err != nil {
					return err
				}
			}
			return lines.Err()
		})
		defer g.Cancel(nil)
		for {
			text, err := wsutil.ReadClientText(c)
			if errors.As(err, new(wsutil.ClosedError)) {
				return nil
			} else if err != nil {
				return err
			}
			room.TryPublish(string(text))
		}
	})
}

func main() {
	wsutil.SetMaxMessageSize(16 << 10) // or one message could fill the memory
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", os.Args[1])
		if err != nil {
			return err
		}
		fmt.Println("listening on", l.Addr())
		return signals.Serve(ctx, &socket.Server{Handler: chat}, l, time.Second)
	})
	if err != nil {
		log.Fatal(err)
	}
}
