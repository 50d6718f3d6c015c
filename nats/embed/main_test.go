package embed_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/nats"
	"github.com/rondo-go/rondo/nats/embed"
	"github.com/rondo-go/rondo/nats/internal/answer"
)

// peerVariable is in the environment of this program when a test starts it as another process.
const peerVariable = "RONDO_NATS_PEER"

// TestMain runs a server, or the tests, after which no goroutine may be left.
func TestMain(m *testing.M) {
	if os.Getenv(peerVariable) != "" {
		if err := rondo.Run(context.Background(), serve); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	slog.SetDefault(slog.New(slog.DiscardHandler)) // a test that reads what is logged has its own
	answer.Wait = time.Minute                      // what a test expects of an answer must not depend on the machine
	before := runtime.NumGoroutine()
	code := m.Run()
	end := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > before && time.Now().Before(end) {
		runtime.Gosched()
	}
	if n := runtime.NumGoroutine(); n > before {
		stacks := make([]byte, 1<<20)
		fmt.Fprintf(os.Stderr, "%d goroutines before the tests, %d after\n%s\n", before, n, stacks[:runtime.Stack(stacks, true)])
		code = 1
	}
	os.Exit(code)
}

// serve is a server in a process of its own. It prints its address, and ends when its standard
// input does.
func serve(ctx context.Context) error {
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		s, err := embed.Start(g, local(server.Options{}))
		if err != nil {
			return err
		}
		fmt.Println(s.ClientURL())
		return rondo.OffloadFunc(g, func(context.Context) error {
			_, err := io.Copy(io.Discard, os.Stdin)
			return err
		})
	})
}

// A peer is a process of a test.
type peer struct {
	*exec.Cmd
	url string
}

// start starts a server in another process, which ends with the test.
func start(t testing.TB) *peer {
	t.Helper()
	p := &peer{Cmd: exec.Command(os.Args[0])}
	p.Env = append(os.Environ(), peerVariable+"=1")
	p.Stderr = os.Stderr
	in, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		p.kill()
	})
	if _, err := fmt.Fscanln(out, &p.url); err != nil {
		t.Fatal(err)
	}
	return p
}

// kill ends the process at once, as kill -9 does.
func (p *peer) kill() {
	_ = p.Process.Kill()
	_ = p.Wait()
}

// run runs body as the main task of a loop, with a server in the process.
func run(t testing.TB, o server.Options, body func(g *rondo.Scope, url string) error) {
	t.Helper()
	runOn(t, new(rondo.Runner), o, body)
}

// runOn is run with a Runner of the test's own.
func runOn(t testing.TB, r *rondo.Runner, o server.Options, body func(g *rondo.Scope, url string) error) {
	t.Helper()
	err := r.Run(context.Background(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(outer *rondo.Scope) error {
			s, err := embed.Start(outer, local(o))
			if err != nil {
				return err
			}
			return rondo.Group(outer, func(g *rondo.Scope) error {
				if err := body(g, s.ClientURL()); err != nil {
					return err
				}
				g.Cancel(nil)
				return nil
			})
		})
	})
	if err != nil {
		t.Error(err)
	}
}

// patient are the options of a client for which no machine is too slow.
var patient = []natsgo.Option{natsgo.Timeout(time.Minute), natsgo.PingInterval(time.Minute)}

// connect is nats.Connect of a patient client, which fails the test if it fails.
func connect(t testing.TB, g *rondo.Scope, url string, options ...natsgo.Option) *nats.Conn {
	t.Helper()
	c, err := nats.Connect(g, url, slices.Concat(patient, options)...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// jetStream is jetstream.New of a patient client.
func jetStream(c *nats.Conn) (jetstream.JetStream, error) {
	return jetstream.New(c.NC(), jetstream.WithDefaultTimeout(time.Minute))
}

// local returns the options of a server that only this machine reaches.
func local(o server.Options) *server.Options {
	o.Host, o.NoLog = "127.0.0.1", true
	if o.Port == 0 {
		o.Port = server.RANDOM_PORT
	}
	return &o
}
