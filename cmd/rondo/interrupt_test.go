//go:build unix

package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A child is the command in a process of its own.
type child struct {
	*exec.Cmd
	t      *testing.T
	out    *bufio.Reader
	said   strings.Builder // what it has written to standard output
	stderr strings.Builder
}

// start starts the command. A child that hangs is killed after a minute.
func start(t *testing.T, args ...string) *child {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	c := &child{Cmd: exec.CommandContext(ctx, os.Args[0], args...), t: t}
	c.Env = append(os.Environ(), asCommand+"=1")
	c.Stderr = &c.stderr
	pipe, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewReader(io.TeeReader(pipe, &c.said))
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

// until reads lines of the output to the first with word in it.
func (c *child) until(word string) (line string) {
	c.t.Helper()
	for {
		line, err := c.out.ReadString('\n')
		if strings.Contains(line, word) {
			return strings.TrimSuffix(line, "\n")
		}
		if err != nil {
			_ = c.Wait()
			c.t.Fatalf("the command ended (%v) and did not say %q; output\n%s%s", c.ProcessState, word, &c.said, &c.stderr)
		}
	}
}

func (c *child) signal(s os.Signal) {
	c.t.Helper()
	if err := c.Process.Signal(s); err != nil {
		c.t.Fatal(err)
	}
}

// end waits for the end and returns all of the output.
func (c *child) end() string {
	c.t.Helper()
	if _, err := io.Copy(io.Discard, c.out); err != nil {
		c.t.Error(err)
	}
	// The state says how it ended.
	_ = c.Wait()
	return c.said.String()
}

// succeeded fails the test unless the command ended well and said no error.
func (c *child) succeeded() {
	c.t.Helper()
	if c.ProcessState.ExitCode() != exitDone || c.stderr.Len() > 0 {
		c.t.Errorf("the command ended with %v and the error %q", c.ProcessState, c.stderr.String())
	}
}

// address waits until the server listens.
func (c *child) address() string {
	c.t.Helper()
	_, address, _ := strings.Cut(c.until("Listening on "), "Listening on ")
	address, _, _ = strings.Cut(address, ". ")
	return address
}

func dial(t *testing.T, address string) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.(*net.TCPConn)
}

// say sends a message and waits for the echo.
func say(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, len(text))
	if _, err := io.ReadFull(c, buf); err != nil || string(buf) != text {
		t.Fatalf("the echo of %q is %q, %v", text, buf, err)
	}
}

func TestDemoInterrupted(t *testing.T) {
	t.Parallel()
	c := start(t, "demo", "--conns", "5", "--for", "1h")
	c.until("messages/s")
	c.signal(syscall.SIGTERM) // TestDemoOnTerminal has Ctrl-C
	out := c.end()
	c.succeeded()
	if number(t, out, "messages  ") == 0 || !strings.Contains(out, " of 1 h 0 min, until SIGTERM ended it.\n") || !strings.Contains(out, "└─ 5 × client") {
		t.Errorf("the output is\n%s", out)
	}
}

// The signal may come while the clients connect, or when they have just begun.
func TestDemoInterruptedEarly(t *testing.T) {
	c := start(t, "demo", "--conns", "300", "--for", "1h")
	c.until("Ctrl-C ends it early")
	c.signal(os.Interrupt)
	out := c.end()
	c.succeeded()
	if !strings.Contains(out, "Ctrl-C ended it") || !strings.Contains(out, "The tasks when it ended") {
		t.Errorf("the output is\n%s", out)
	}
}

// What a client sends after SIGTERM still comes back, to the end of its
// connection.
func TestEchoFinishes(t *testing.T) {
	c := start(t, "echo", "--addr", "127.0.0.1:0", "--grace", "1h")
	address := c.address()
	done := dial(t, address)
	say(t, done, "one")
	if err := done.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(done); err != nil || len(rest) > 0 {
		t.Fatalf("after the end comes %q, %v", rest, err)
	}
	open := dial(t, address)
	say(t, open, "two")
	c.signal(syscall.SIGTERM)
	if line := c.until("SIGTERM"); line != "SIGTERM: 1 connection may go on for 1 h 0 min; the next Ctrl-C ends all at once." {
		t.Errorf("it says %q", line)
	}
	long := strings.Repeat("three", 100000)
	go func() {
		// What this could fail with shows in what is read.
		_, _ = io.WriteString(open, long)
		_ = open.CloseWrite()
	}()
	if rest, err := io.ReadAll(open); err != nil || string(rest) != long {
		t.Errorf("%d bytes of %d came back, %v", len(rest), len(long), err)
	}
	out := c.end()
	c.succeeded()
	for _, want := range []string{"Ended by SIGTERM.\n", "\n  served      2 connections\n", "\n  cut off     0\n", "\n  sent back   500 kB\n", "\n  up for      "} {
		if !strings.Contains(out, want) {
			t.Errorf("there is no %q in\n%s", want, out)
		}
	}
}

// Connections that do not end in time are cut off and counted.
func TestEchoCutsOff(t *testing.T) {
	c := start(t, "echo", "--addr", "127.0.0.1:0", "--grace", "0s")
	address := c.address()
	conns := []*net.TCPConn{dial(t, address), dial(t, address), dial(t, address)}
	for _, conn := range conns {
		say(t, conn, "hello")
	}
	c.signal(os.Interrupt)
	out := c.end()
	c.succeeded()
	for _, conn := range conns {
		if rest, err := io.ReadAll(conn); len(rest) > 0 {
			t.Errorf("after the end comes %q, %v", rest, err)
		}
	}
	for _, want := range []string{"Ended by Ctrl-C.\n", "\n  served      3 connections\n", "\n  cut off     3\n", "\n  sent back   15 bytes\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("there is no %q in\n%s", want, out)
		}
	}
}

// A connection that breaks off is counted, with what it broke off with.
func TestEchoBrokenOff(t *testing.T) {
	c := start(t, "echo", "--addr", "127.0.0.1:0", "--grace", "1h")
	conn := dial(t, c.address())
	say(t, conn, "hello")
	// Closing without lingering sends a reset.
	if err := conn.SetLinger(0); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	// The server comes to it before it comes to a connection made later.
	after := dial(t, conn.RemoteAddr().String())
	say(t, after, "world")
	after.Close()
	c.signal(os.Interrupt)
	out := c.end()
	c.succeeded()
	if !strings.Contains(out, "\n  broke off   1, the last with: read tcp ") || !strings.Contains(out, "connection reset by peer") {
		t.Errorf("the output is\n%s", out)
	}
}

// The second signal ends what the first could not end.
func TestSecondInterrupt(t *testing.T) {
	c := start(t, "echo", "--addr", "127.0.0.1:0", "--grace", "1h")
	say(t, dial(t, c.address()), "hello")
	c.signal(syscall.SIGTERM)
	c.until("may go on")
	c.signal(syscall.SIGTERM)
	c.end()
	if status, ok := c.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGTERM {
		t.Errorf("it ended with %v", c.ProcessState)
	}
}
