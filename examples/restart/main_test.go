//go:build unix

package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo/examples/internal/program"
)

const (
	successorFails = "RESTART_TEST_SUCCESSOR_FAILS"
	successorHangs = "RESTART_TEST_SUCCESSOR_HANGS"
)

func TestMain(m *testing.M) {
	program.Main(m, func() {
		if os.Getenv(successorFails) != "" && os.Getenv("RESTART_READY") != "" {
			fmt.Println("fails")
			os.Exit(3)
		}
		if os.Getenv(successorHangs) != "" && os.Getenv("RESTART_READY") != "" {
			fmt.Println("hangs")
			l, _ := net.FileListener(os.NewFile(firstPassed, "listener"))
			_, _ = l.Accept() // nobody connects
		}
		grace = time.Minute // as long as a child may live: TestRestart holds a connection all the time
		main()
	})
}

// serving returns what a process says when it serves.
func serving(t *testing.T, p *program.Process) (pid int, address string) {
	t.Helper()
	line := p.Line()
	if n, err := fmt.Sscanf(line, "process %d serves %s", &pid, &address); n != 2 {
		t.Fatalf("it said %q: %v", line, err)
	}
	return pid, address
}

// exchange connects, and expects what it sends to come back, and then the end.
func exchange(address string) error {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := io.WriteString(c, "hello"); err != nil {
		return err
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		return err
	}
	back, err := io.ReadAll(c)
	if err == nil && string(back) != "hello" {
		err = fmt.Errorf("%q came back", back)
	}
	return err
}

// TestRestart replaces the process three times under a storm of connections. Each of them
// must be served, and one that is open all the time too.
func TestRestart(t *testing.T) {
	p := program.Start(t, "-addr", "127.0.0.1:0")
	pid, address := serving(t, p)
	first := pid
	held, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	var wg sync.WaitGroup
	var stop atomic.Bool
	var served atomic.Int64
	for range 8 {
		wg.Go(func() {
			for !stop.Load() {
				if err := exchange(address); err != nil {
					t.Errorf("after %d connections: %v", served.Load(), err)
					return
				}
				served.Add(1)
			}
		})
	}
	pids := []int{pid}
	t.Cleanup(func() {
		for _, pid := range pids {
			if t.Failed() {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
	for range 3 {
		for before := served.Load(); served.Load() < before+50 && !t.Failed(); {
			if err := exchange(address); err != nil {
				t.Error(err)
			}
		}
		if err := syscall.Kill(pid, syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		next, at := serving(t, p)
		if next == pid || at != address {
			t.Errorf("process %d at %s was replaced by %d at %s", pid, address, next, at)
		}
		pid = next
		pids = append(pids, pid)
	}
	stop.Store(true)
	wg.Wait()
	t.Logf("%d connections, served by the processes %v", served.Load(), pids)
	if _, err := io.WriteString(held, "still here?"); err != nil {
		t.Error(err)
	}
	back := make([]byte, 11)
	if _, err := io.ReadFull(held, back); err != nil || string(back) != "still here?" {
		t.Errorf("process %d answered %q to the connection that it had: %v", first, back, err)
	}
	held.Close()
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.End()
}

// TestPassed has the socket passed as a service manager does it.
func TestPassed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	defer f.Close()
	t.Setenv("LISTEN_FDS", "1")
	t.Setenv("LISTEN_PID", "")
	p := program.StartWith(t, []*os.File{f})
	if _, address := serving(t, p); address != l.Addr().String() {
		t.Errorf("it serves %s, and not the socket that was passed, %s", address, l.Addr())
	}
	if err := exchange(l.Addr().String()); err != nil {
		t.Error(err)
	}
	p.Interrupt()
	p.End()
}

// TestReplaceFails: a process whose successor does not serve goes on.
func TestReplaceFails(t *testing.T) {
	t.Setenv(successorFails, "1")
	p := program.Start(t, "-addr", "127.0.0.1:0")
	pid, address := serving(t, p)
	for range 2 { // the second successor starts when the first has ended
		if err := syscall.Kill(pid, syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		if line := p.Line(); line != "fails" {
			t.Errorf("the successor said %q", line)
		}
		if err := exchange(address); err != nil {
			t.Error(err)
		}
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	output, errors, code := p.Wait()
	if output != "" || code != 0 || !strings.Contains(errors, "the new process did not serve: exit status 3") {
		t.Errorf("exit code %d, output %q, errors %s", code, output, errors)
	}
}

// TestReplaceHangs: SIGTERM ends a process whose successor hangs before it serves, and that
// one too.
func TestReplaceHangs(t *testing.T) {
	t.Setenv(successorHangs, "1")
	p := program.Start(t, "-addr", "127.0.0.1:0")
	pid, _ := serving(t, p)
	if err := syscall.Kill(pid, syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if line := p.Line(); line != "hangs" {
		t.Errorf("the successor said %q", line)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	// The successor has the same output, so this waits for its end too.
	output, errors, code := p.Wait()
	if output != "" || code != 0 || !strings.Contains(errors, "the new process did not serve: signal: killed") {
		t.Errorf("exit code %d, output %q, errors %s", code, output, errors)
	}
}
