package process_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/process"
)

// TestGoexitDuringStart: a callback's Goexit unwinds the task on whose stack it runs,
// also if that is the one that starts a child. No descriptor is left, and no child.
func TestGoexitDuringStart(t *testing.T) {
	goroutines, fds := runtime.NumGoroutine(), leak.Descriptors()
	for turns := range 40 {
		var w sync.WaitGroup
		w.Go(func() {
			_ = rondo.Run(t.Context(), func(ctx context.Context) error {
				exit(rondo.LoopOf(ctx), turns)
				cmd := process.Command(ctx, "sleep", "1000")
				cmd.Stdin, cmd.Stdout = strings.NewReader("a"), new(strings.Builder)
				return cmd.Run()
			})
		})
		w.Wait()
		if left := leak.Settle(goroutines); left > goroutines { // one reaps the child
			t.Fatalf("Goexit in turn %d: %d goroutines before, %d after\n%s", turns, goroutines, left, leak.Stacks())
		}
		if left := leak.Descriptors(); left > fds {
			t.Fatalf("Goexit in turn %d: %d descriptors before, %d after", turns, fds, left)
		}
		if left := children(); left != "" {
			t.Fatalf("Goexit in turn %d: a child is left: %s", turns, left)
		}
	}
}

// exit calls Goexit in a callback after some turns of the loop.
func exit(l *rondo.Loop, turns int) {
	if turns == 0 {
		l.CallSoon(runtime.Goexit)
		return
	}
	l.CallSoon(func() { exit(l, turns-1) })
}

// children returns the numbers of the child processes.
func children() string {
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	all := ""
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		all += string(text)
	}
	return all
}
