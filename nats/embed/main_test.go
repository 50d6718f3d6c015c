package embed_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/nats/embed"
	"github.com/rondo-go/rondo/nats/internal/answer"
)

// roles are what this test program does when a test starts it as another process. A role
// writes lines that start with a word, and ends when its standard input does.
var roles = map[string]func(ctx context.Context) error{"server": serverRole}

// roleVariable names the role in the environment.
const roleVariable = "RONDO_NATS_ROLE"

// TestMain runs a role, or the tests, after which no goroutine may be left.
func TestMain(m *testing.M) {
	if role := roles[os.Getenv(roleVariable)]; role != nil {
		if err := rondo.Run(context.Background(), role); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	answer.Wait = time.Minute // what a test expects of an answer must not depend on the machine
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

// serverRole is a server in a process of its own. Its arguments are in the environment.
func serverRole(ctx context.Context) error {
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		o := &server.Options{Host: "127.0.0.1", Port: port(os.Getenv("RONDO_NATS_PORT")), NoLog: true}
		if dir := os.Getenv("RONDO_NATS_STORE"); dir != "" {
			o.JetStream, o.StoreDir = true, dir
		}
		s, err := embed.Start(g, o)
		if err != nil {
			return err
		}
		fmt.Println("ready", s.ClientURL())
		return untilInputEnds(g)
	})
}

// untilInputEnds waits for the end of the standard input.
func untilInputEnds(ctx context.Context) error {
	return rondo.OffloadFunc(ctx, func(context.Context) error {
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	})
}

func port(text string) int {
	n := server.RANDOM_PORT
	if text != "" {
		fmt.Sscan(text, &n)
	}
	return n
}

// A peer is a process of a test.
type peer struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// start starts this program in a role. It ends with the test.
func start(t testing.TB, role string, environment ...string) *peer {
	t.Helper()
	p := &peer{Cmd: exec.Command(os.Args[0])}
	p.Env = append(append(os.Environ(), roleVariable+"="+role), environment...)
	p.Stderr = os.Stderr
	var err error
	if p.in, err = p.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewScanner(out)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.in.Close()
		p.kill()
	})
	return p
}

// line waits for the line that begins with a word, and returns the rest of it.
func (p *peer) line(word string) (string, error) {
	for p.out.Scan() {
		if rest, ok := strings.CutPrefix(p.out.Text(), word); ok {
			return strings.TrimSpace(rest), nil
		}
	}
	return "", fmt.Errorf("no line %q: %w", word, errors.Join(p.out.Err(), io.ErrUnexpectedEOF))
}

// must is line in a test.
func (p *peer) must(t testing.TB, word string) string {
	t.Helper()
	rest, err := p.line(word)
	if err != nil {
		t.Fatal(err)
	}
	return rest
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

// local returns the options of a server that only this machine reaches.
func local(o server.Options) *server.Options {
	o.Host, o.NoLog = "127.0.0.1", true
	if o.Port == 0 {
		o.Port = server.RANDOM_PORT
	}
	return &o
}

// discardLogs keeps expected log lines out of the output of a test.
func discardLogs(t testing.TB) {
	before := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	t.Cleanup(func() { slog.SetDefault(before) })
}
