//go:build !rondo_portable

package process_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo"
)

// TestCancelPanics: a panic in Cancel leaves no child either.
func TestCancelPanics(t *testing.T) {
	r := rondo.Runner{Recover: true, OnError: func(rondo.TaskInfo, error) {}}
	err := r.Run(context.Background(), func(ctx context.Context) error {
		c := child(ctx, "hang")
		c.Stderr = new(strings.Builder)
		c.Cancel = func() error { panic("lost") }
		_, _, err := started(c)
		return err // and the loop cancels what is left
	})
	if err != nil {
		t.Error(err)
	}
	// It is looked for without being taken from the one who reaps it.
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); runtime.Gosched() {
		if err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); err == unix.ECHILD {
			return
		}
	}
	t.Error("the child is left")
}

// TestEndsBeforeKill: a child that the signal of Cancel has ended when WaitDelay is over ended
// by that signal, although it is killed too.
func TestEndsBeforeKill(t *testing.T) {
	run(t, func(ctx context.Context) error {
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			c := child(g, "hang")
			c.WaitDelay = time.Nanosecond
			c.Cancel = func() error {
				if err := c.Process.Signal(unix.SIGTERM); err != nil {
					return err
				}
				return unix.Waitid(unix.P_PID, c.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
			}
			if _, _, err := started(c); err != nil {
				return err
			}
			g.Cancel(nil)
			return c.Wait()
		})
		if err != nil {
			t.Errorf("the scope returned %v, want nil: it was canceled without a cause", err)
		}
		return nil
	})
}

// TestNoGoroutine: no goroutine waits for a child, and no thread: the loop does,
// for all of them at once.
func TestNoGoroutine(t *testing.T) {
	run(t, func(ctx context.Context) error {
		enough := errors.New("enough")
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			for range 5 {
				c := child(g, "hang")
				if _, _, err := started(c); err != nil {
					return err
				}
			}
			all := make([]byte, 1<<20)
			if stacks := string(all[:runtime.Stack(all, true)]); strings.Contains(stacks, "os.(*Process)") {
				t.Errorf("a goroutine waits for a process:\n%s", stacks)
			}
			seen := 0
			for _, task := range rondo.Tasks(g) {
				if task.Waiting == "process" && task.On > 0 {
					seen++
				}
			}
			if seen != 5 {
				t.Errorf("%d tasks wait for a process", seen)
			}
			return enough
		})
		if err != enough {
			return err
		}
		return nil
	})
}
