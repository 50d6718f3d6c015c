//go:build unix

package offload

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestStopped: a function that has not returned for long because the whole process was stopped is
// not taken for one that waits for something.
func TestStopped(t *testing.T) {
	const stops = "RONDO_STOPS"
	if os.Getenv(stops) != "" {
		stopInFunctions(t)
		return
	}
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	c := exec.Command(os.Args[0], "-test.run=^TestStopped$")
	c.Env, c.Stdout, c.Stderr = append(os.Environ(), stops+"=1"), out, out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	times := resumeUntilExit(t, c.Process.Pid)
	if err := c.Process.Release(); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Error(err)
	}
	if times != 6 || t.Failed() {
		t.Errorf("the process was stopped %d times, not 6:\n%s", times, text)
	}
}

// resumeUntilExit has a child process go on some time after each stop, and fails t if it exits with
// another status than 0. It returns the number of stops.
func resumeUntilExit(t *testing.T, pid int) (times int) {
	for {
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(pid, &status, syscall.WUNTRACED, nil); err == syscall.EINTR {
			continue
		} else if err != nil || !status.Stopped() {
			if err != nil || status.ExitStatus() != 0 {
				t.Errorf("the process has ended: %v, status %d", err, status.ExitStatus())
			}
			return times
		}
		times++
		<-time.After(2 * slowLooks * lookEvery)
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			t.Error(err)
		}
	}
}

// stopInFunctions runs functions that stop this process, and return when it goes on.
func stopInFunctions(t *testing.T) {
	resumed := make(chan os.Signal, 1)
	signal.Notify(resumed, syscall.SIGCONT)
	defer signal.Stop(resumed)
	stop := func() {
		if err := syscall.Kill(os.Getpid(), syscall.SIGSTOP); err != nil {
			t.Error(err)
		}
		<-resumed
	}
	for range 3 {
		r := newRun(t, 1, 1e6)
		r.offload(&r.a, "1", newUser(), stop)
		r.a.Begins()
		if r.is("1", "1", false); t.Failed() {
			return // a further SIGSTOP would discard a SIGCONT that is pending
		}

		r = newRun(t, 1, 0)
		first := sync.OnceFunc(stop)
		r.offload(&r.a, "1", newUser(), first)
		r.offload(&r.b, "2", newUser(), first)
		r.wait()
		r.wait()
		r.is(r.begun(), r.begun(), false)
	}
}
