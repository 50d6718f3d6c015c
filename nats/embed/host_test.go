package embed_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"testing"
	"testing/cryptotest"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/nats/embed"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// relay is the program of a host: a server that does not listen, and a listener of the host whose
// connections lead to it.
func relay(ctx context.Context) error {
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		s, err := embed.Start(g, &server.Options{DontListen: true, NoLog: true})
		if err != nil {
			return err
		}
		return rondo.OffloadFunc(g, func(ctx context.Context) error {
			l, err := socket.Listen(ctx, "tcp", ":4222")
			if err != nil {
				return err
			}
			for {
				outer, err := l.Accept()
				if err != nil {
					return err
				}
				inner, err := s.InProcessConn()
				if err != nil {
					return err
				}
				for _, c := range [2][2]net.Conn{{outer, inner}, {inner, outer}} {
					go func() {
						_, _ = io.Copy(c[0], c[1])
						_ = c[0].Close()
					}()
				}
			}
		})
	})
}

// hostDialer dials on the network of a host.
type hostDialer struct{ host context.Context }

func (d hostDialer) Dial(network, address string) (net.Conn, error) {
	return socket.Dial(d.host, network, address)
}

// TestHosts: a server on a host of a cluster, and clients of nats.go on another. They have no
// Request, whose subjects contain a counter of the process.
func TestHosts(t *testing.T) {
	answered := 0
	sim.Config{Seeds: 20, SeedsShort: 20, Goroutines: true, Once: runtime.GOOS != "linux"}.Cluster(t, func(ctx context.Context, w *sim.World) {
		cryptotest.SetGlobalRandom(t, 1) // the server has a name by chance, which is sent
		w.Host("server", relay)
		_ = rondo.Sleep(ctx, time.Minute)
		err := rondo.OffloadFunc(ctx, func(context.Context) error {
			var conns [2]*natsgo.Conn
			for i := range conns {
				var err error
				if conns[i], err = natsgo.Connect("nats://server:4222", natsgo.SkipHostLookup(), natsgo.SetCustomDialer(hostDialer{ctx})); err != nil {
					return err
				}
				defer conns[i].Close()
			}
			if _, err := conns[0].Subscribe("twice", func(m *natsgo.Msg) { _ = m.Respond(append(m.Data, m.Data...)) }); err != nil {
				return err
			}
			if err := conns[0].Flush(); err != nil {
				return err
			}
			replies, err := conns[1].SubscribeSync("replies")
			if err != nil {
				return err
			}
			for i := range 5 {
				if err := conns[1].PublishRequest("twice", "replies", []byte(fmt.Sprint(i))); err != nil {
					return err
				}
				m, err := replies.NextMsg(time.Minute)
				if err != nil {
					return err
				}
				if want := fmt.Sprintf("%d%d", i, i); string(m.Data) != want {
					t.Errorf("%q, want %s", m.Data, want)
				}
				answered++
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	if answered == 0 {
		t.Error("nothing was answered")
	}
}
