//go:build unix

package signals_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
)

// childVar names the one of the children that a process is to be.
const childVar = "RONDO_SIGNALS_CHILD"

// TestMain counts what the tests leave behind. The goroutine that os/signal
// starts at its first use and keeps is not theirs.
func TestMain(m *testing.M) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	signal.Stop(c)
	if name := os.Getenv(childVar); name != "" {
		watchdog := time.AfterFunc(time.Minute, func() { panic(name + " hangs") })
		defer watchdog.Stop()
		if err := children[name](); err != nil {
			fmt.Println(err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	leak.Main(m)
}

// run runs main in a loop, as a test; one that hangs panics.
func run(t testing.TB, main func(ctx context.Context) error) {
	t.Helper()
	watchdog := time.AfterFunc(time.Minute, func() { panic(t.Name() + " hangs") })
	defer watchdog.Stop()
	if err := rondo.Run(t.Context(), main); err != nil {
		t.Error(err)
	}
}

// raise sends the signals to this process.
func raise(sigs ...syscall.Signal) error {
	for _, s := range sigs {
		if err := syscall.Kill(syscall.Getpid(), s); err != nil {
			return err
		}
	}
	return nil
}

// ends runs a child to its end, and returns the signal that ended it, or 0, and
// what it said.
func ends(t *testing.T, name string) (by syscall.Signal, said string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVar+"="+name)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return status.Signal(), string(out)
	}
	if !status.Exited() || status.ExitStatus() != 0 {
		t.Errorf("%s ended with %v, and said %s", name, cmd.ProcessState, out)
	}
	return 0, string(out)
}

// forever waits for what ends the process.
func forever(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) }
