//go:build unix

package process_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/process"
)

// childVar is set in a process that is the child of a test; its arguments say
// what it is to do.
const childVar = "RONDO_PROCESS_CHILD"

// TestMain counts what the tests leave behind.
func TestMain(m *testing.M) {
	if os.Getenv(childVar) != "" {
		time.AfterFunc(time.Minute, func() { os.Exit(99) })
		os.Exit(play(os.Args[1], os.Args[2:]))
	}
	leak.Main(m)
}

// play is what children do.
func play(part string, args []string) int {
	switch part {
	case "exit":
		n, _ := strconv.Atoi(args[0])
		return n
	case "say":
		fmt.Print(args[0])
		fmt.Fprint(os.Stderr, args[1])
	case "echo":
		_, _ = io.Copy(os.Stdout, os.Stdin)
	case "hang":
		fmt.Println("ready")
		forever()
	case "stay":
		forever()
	case "deaf":
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready")
		forever()
	case "polite":
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		fmt.Println("ready")
		<-c
		fmt.Println("bye")
		if len(args) > 0 {
			n, _ := strconv.Atoi(args[0])
			return n
		}
	case "either":
		// A signal ends it with status 7, and the end of its input with a word.
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		fmt.Println("out")
		go func() { <-c; os.Exit(7) }()
		_, _ = io.Copy(io.Discard, os.Stdin)
		fmt.Fprintln(os.Stderr, "err")
	case "close stdin":
		os.Stdin.Close()
		fmt.Println("closed")
		_, _ = io.Copy(io.Discard, os.Stderr)
	case "die":
		n, _ := strconv.Atoi(args[0])
		_ = syscall.Kill(syscall.Getpid(), syscall.Signal(n))
		forever()
	case "leave":
		// The one that is left behind holds what this one had.
		left := exec.Command(os.Args[0], "stay")
		left.Stdout, left.Stderr = os.Stdout, os.Stderr
		if left.Start() != nil {
			return 1
		}
		fmt.Println("left", left.Process.Pid)
	case "where":
		dir, _ := os.Getwd()
		fmt.Println(dir, os.Getenv("RONDO_WORD"), strings.Join(args, ","))
	case "fourth":
		_, _ = io.Copy(os.NewFile(3, "fourth"), os.Stdin)
	}
	return 0
}

// child is a Cmd of a child that plays a part.
func child(ctx context.Context, part ...string) *process.Cmd {
	c := process.Command(ctx, os.Args[0], part...)
	// The race detector makes a process wait a second before it ends.
	c.Env = append(os.Environ(), childVar+"=1", "GORACE=atexit_sleep_ms=0")
	return c
}

// run runs main in a loop, as a test; one that hangs panics. No child is left
// of it.
func run(t testing.TB, main func(ctx context.Context) error) {
	t.Helper()
	watchdog := time.AfterFunc(50*time.Second, func() { panic(t.Name() + " hangs") })
	defer watchdog.Stop()
	if err := rondo.Run(context.Background(), main); err != nil {
		t.Error(err)
	}
	noChildren(t)
}

// noChildren fails if the process has children, zombies included.
func noChildren(t testing.TB) {
	t.Helper()
	if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != syscall.ECHILD {
		t.Errorf("there is a child left: %d, %v", pid, err)
	}
}

// ready reads the first line of a child's output.
func ready(r io.Reader) (string, error) {
	line, err := bufio.NewReader(r).ReadString('\n')
	return strings.TrimSpace(line), err
}

// started starts a child, and waits until it has said something.
func started(c *process.Cmd) (out io.ReadCloser, said string, err error) {
	if out, err = c.StdoutPipe(); err != nil {
		return nil, "", err
	}
	if err := c.Start(); err != nil {
		return nil, "", err
	}
	said, err = ready(out)
	return out, said, err
}

// forever waits for what ends the process.
func forever() { <-time.After(time.Hour) }
