//go:build linux && (amd64 || arm64)

package inspect_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo/inspect"
)

// TestStalledMemory: names of tasks that never arrive are given up. All else is read, and what is
// missing is said, until it arrives.
func TestStalledMemory(t *testing.T) {
	t.Parallel()
	fd, _, e := unix.Syscall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC, 0, 0)
	if e != 0 {
		t.Logf("memory that does not arrive cannot be made here (userfaultfd: %v); TestWatch does without", e)
		return
	}
	if err := unix.Close(int(fd)); err != nil {
		t.Fatal(err)
	}
	p := start(t, plain.program(t), "stalled")
	target := open(t, p)
	size := fmt.Sprintf("%d kB at ", 4*os.Getpagesize()>>10)
	for range 2 { // the second time it is known
		s := shot(t, target, inspect.Options{Stacks: true})
		if len(s.Loops) != 1 || len(s.Loops[0].Tasks) != 7 || !strings.Contains(s.Missing, size) || !strings.Contains(s.Missing, "did not arrive") {
			t.Fatalf("%d loops, missing %q; want one with 7 tasks, and that %sis missing", len(s.Loops), s.Missing, size)
		}
		unread, named := 0, 0
		for _, v := range s.Verdicts(0) {
			if v.Kind == inspect.VerdictUnread {
				unread++
			}
		}
		for _, task := range s.Loops[0].Tasks {
			if task.Name == "named" && task.What == "sleep" && len(task.Stack) > 0 {
				named++
			}
		}
		if unread != 1 || named != 1 {
			t.Fatalf("%d verdicts that something is unread, %d tasks as they are; want 1 of each", unread, named)
		}
	}
	if err := p.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); ; {
		s := shot(t, target, inspect.Options{Stacks: true})
		if s.Missing == "" && len(s.Loops) == 1 && len(s.Loops[0].Tasks) == 7 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the memory has arrived, and it says %q", s.Missing)
		}
	}
}
