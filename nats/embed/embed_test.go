package embed_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/nats/embed"
)

// TestStartFails: a server that cannot start is an error with the reason, and is gone.
func TestStartFails(t *testing.T) {
	discardLogs(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := l.Addr().(*net.TCPAddr).Port
	for want, o := range map[string]server.Options{
		"address already in use": {Port: taken},
		"its store: mkdir /dev":  {JetStream: true, StoreDir: "/dev/null"},
		"cluster name cannot":    {Cluster: server.ClusterOpts{Port: -1, Host: "127.0.0.1", Name: "a b"}},
	} {
		err := rondo.Run(context.Background(), func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				_, err := embed.Start(g, local(o))
				return err
			})
		})
		if err == nil || !strings.HasPrefix(err.Error(), "embed: start the server: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// TestShutdown: the server ends with its scope.
func TestShutdown(t *testing.T) {
	var s *server.Server
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		err := rondo.Group(ctx, func(g *rondo.Scope) (err error) {
			s, err = embed.Start(g, local(server.Options{}))
			return err
		})
		if s.Running() {
			t.Error("the server runs")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestStoreOfOther: a server whose store another one uses does not start, and does when that
// has ended.
func TestStoreOfOther(t *testing.T) {
	discardLogs(t)
	o := withStore(t)
	for range 2 {
		run(t, o, func(g *rondo.Scope, _ string) error {
			err := rondo.Group(g, func(g *rondo.Scope) error {
				_, err := embed.Start(g, local(o))
				return err
			})
			if err == nil || !strings.Contains(err.Error(), "another server uses its store") {
				t.Errorf("a second server: %v", err)
			}
			return nil
		})
	}
}

// TestServerAlone: a program that is only a broker is not in deadlock while all its tasks
// wait for the end, and is again when the server has ended.
func TestServerAlone(t *testing.T) {
	served := false
	r := rondo.Runner{EndDeadlock: 1}
	err := r.Run(context.Background(), func(ctx context.Context) error {
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			s, err := embed.Start(g, local(server.Options{}))
			if err != nil {
				return err
			}
			go func() {
				defer g.Cancel(nil)
				nc, err := natsgo.Connect(s.ClientURL())
				if err != nil {
					t.Error(err)
					return
				}
				defer nc.Close()
				for range 20 {
					if err := nc.Flush(); err != nil {
						t.Error(err)
					}
				}
			}()
			_ = rondo.WaitCanceled(g)
			return nil
		})
		if err != nil {
			return err
		}
		served = true
		var never rondo.Event
		return never.Wait(ctx)
	})
	if !errors.Is(err, rondo.ErrDeadlock) || !served {
		t.Errorf("Run returned %v; the server has served: %t", err, served)
	}
}
