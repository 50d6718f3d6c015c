package process_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/process"
)

// TestGoexitDuringStart: a callback's Goexit unwinds the task on whose stack it runs, also
// if that is the one that starts a child. No descriptor is left, and so no child, whose own
// one would be.
func TestGoexitDuringStart(t *testing.T) {
	fds := leak.Descriptors()
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
		// A goroutine reaps the child.
		for end := time.Now().Add(5 * time.Second); leak.Descriptors() > fds && time.Now().Before(end); {
			runtime.Gosched()
		}
		if left := leak.Descriptors(); left > fds {
			t.Fatalf("Goexit in turn %d: %d descriptors before, %d after", turns, fds, left)
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
