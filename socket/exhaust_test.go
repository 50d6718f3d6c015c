//go:build linux

package socket_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// TestDescriptorsExhausted: a server without free descriptors waits without
// spinning, and then serves every client that it could not.
//
// Method: the server is a process of its own with a low limit. More clients
// come than it can take. When it reports that, the served ones leave. The test
// guards against a lost edge, which would leave the others waiting, and against
// a loop that tries again at once, which would count thousands of errors.
func TestDescriptorsExhausted(t *testing.T) {
	if os.Getenv(childVar) != "" {
		exhausted(t)
		return
	}
	for _, kind := range []string{"Server", "Protocol"} {
		t.Run(kind, func(t *testing.T) { exhaust(t, kind) })
	}
}

func exhaust(t *testing.T, kind string) {
	const clients, limit = 40, 20
	cmd := exec.Command(os.Args[0], "-test.run=^TestDescriptorsExhausted$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s", childVar, limit, kind))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewScanner(stdout)
	line := func() string {
		if !out.Scan() {
			t.Fatalf("the server ended: %v", cmd.Wait())
		}
		return out.Text()
	}
	addr := line()
	conns := make([]net.Conn, clients)
	for i := range conns {
		if conns[i], err = net.Dial("tcp", addr); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conns[i], "%d\n", i)
	}
	if got := line(); got != "full" {
		t.Fatalf("the server says %q", got)
	}
	for i, c := range conns {
		got, err := bufio.NewReader(c).ReadString('\n')
		if want := fmt.Sprintln(i); got != want {
			t.Errorf("client %d got %q, %v", i, got, err)
		}
		c.Close()
	}
	stdin.Close()
	var served, errs int
	if _, err := fmt.Sscan(line(), &served, &errs); err != nil {
		t.Error(err)
	}
	if served != clients {
		t.Errorf("%d clients were served, of %d", served, clients)
	}
	if errs > 50 {
		t.Errorf("%d errors of Accept: it spins", errs)
	}
	for out.Scan() {
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// exhausted is the server. It ends when its standard input does.
func exhausted(t *testing.T) {
	var limit uint64
	var kind string
	if _, err := fmt.Sscan(os.Getenv(childVar), &limit, &kind); err != nil {
		t.Fatal(err)
	}
	served, errs := 0, 0
	failed := func(err error) {
		if !errors.Is(err, syscall.EMFILE) {
			t.Error(err)
		}
		if errs++; errs == 1 {
			fmt.Println("full")
		}
	}
	s := &socket.Server{
		Handler: func(ctx context.Context, c net.Conn) error {
			served++
			return echo(ctx, c)
		},
		OnError: func(c net.Conn, err error) {
			if c != nil {
				t.Error(err)
			}
			failed(err)
		},
	}
	p := &socket.Protocol{
		Connected: func(*socket.Transport) { served++ },
		Data:      func(tr *socket.Transport, b []byte) { _, _ = tr.Write(b) },
		OnError:   failed,
	}
	serve := s.Serve
	if kind == "Protocol" {
		serve = p.Serve
	}
	run(t, func(ctx context.Context) error {
		l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error { return serve(ctx, l) })
			if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
				return err
			}
			fmt.Println(l.Addr())
			if _, err := rondo.Offload(g, func(context.Context) (int, error) { return os.Stdin.Read(make([]byte, 1)) }); !strings.Contains(fmt.Sprint(err), "EOF") {
				return err
			}
			g.Cancel(nil)
			return nil
		})
	})
	fmt.Println(served, errs)
}
