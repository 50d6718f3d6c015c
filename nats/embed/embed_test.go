package embed_test

import (
	"context"
	"errors"
	"io"
	"log"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"weak"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/nats/embed"
)

// TestStartFails: a server that cannot start is an error with the reason, and is gone.
func TestStartFails(t *testing.T) {
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

// A hostileLog is a handler of slog that panics, with a value that cannot be printed either.
type hostileLog struct{ slog.Handler }

func (hostileLog) Handle(context.Context, slog.Record) error { panic(hostileLog{}) }
func (hostileLog) Error() string                             { panic(hostileLog{}) }

// spoilLogs makes the log of the program a hostileLog until the function that it returns, which
// has what came to standard error meanwhile, is called.
func spoilLogs(t *testing.T) (written func() string) {
	f, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	before, writer, flags, stderr := slog.Default(), log.Writer(), log.Flags(), os.Stderr
	slog.SetDefault(slog.New(hostileLog{slog.NewTextHandler(f, nil)}))
	os.Stderr = f
	return func() string {
		os.Stderr = stderr
		slog.SetDefault(before)
		log.SetOutput(writer) // SetDefault has sent that to slog
		log.SetFlags(flags)
		defer f.Close()
		text, err := os.ReadFile(f.Name())
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
}

// TestLogPanics: a handler of slog that panics does not end the program, in which the server has
// goroutines of its own, and keeps no error from Start. The lines go to standard error.
func TestLogPanics(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	written := spoilLogs(t)
	err = rondo.Run(context.Background(), func(ctx context.Context) error {
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			_, err := embed.Start(g, &server.Options{Host: "127.0.0.1", Port: taken.Addr().(*net.TCPAddr).Port})
			return err
		})
		if err == nil || !strings.Contains(err.Error(), "address already in use") {
			t.Errorf("Start where another listens: %v", err)
		}
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			s, err := embed.Start(g, &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT})
			if err != nil {
				return err
			}
			return rondo.OffloadFunc(g, func(context.Context) error { return offend(s) })
		})
	})
	text := written()
	if err != nil {
		t.Error(err)
	}
	for _, want := range []string{"address already in use", "parser ERROR", "panicked: (a embed_test.hostileLog that cannot be printed"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q on standard error:\n%s", want, text)
		}
	}
}

// offend breaks the protocol of a server, which complains and closes the connection, and then
// has it answer another client. It blocks.
func offend(s *server.Server) error {
	c, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Write([]byte("NONSENSE\r\n")); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, c) // until the server closes it, by a reset if it has not read all
	nc, err := natsgo.Connect(s.ClientURL(), patient...)
	if err != nil {
		return err
	}
	defer nc.Close()
	return nc.Flush()
}

// TestStoreOfOther: a server whose store another one uses does not start, and does when that
// has ended.
func TestStoreOfOther(t *testing.T) {
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
				nc, err := natsgo.Connect(s.ClientURL(), patient...)
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

// TestServerKeepsNoLoop: a server that has ended does not keep its loop in memory, although its
// own timers keep the server for a while.
func TestServerKeepsNoLoop(t *testing.T) {
	var s *server.Server
	var scope weak.Pointer[rondo.Scope]
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) (err error) {
			s, err = embed.Start(g, local(server.Options{}))
			scope = weak.Make(g)
			g.Cancel(nil)
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if !leak.Collected(func() bool { return scope.Value() == nil }) {
		t.Error("the scope of Start is still in memory")
	}
	runtime.KeepAlive(s)
}
