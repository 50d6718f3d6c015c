package inspect_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rondo-go/rondo/inspect"
)

// TestHeldWithSignals: a thread in a system call that handles signals all the time, as the runtime
// sends them, is in that call in each snapshot.
func TestHeldWithSignals(t *testing.T) {
	t.Parallel()
	p := start(t, plain.program(t), "raw")
	target := open(t, p)
	inCall := func(l *inspect.Loop) bool { return l.Held != nil && l.Held.How == "in a system call" }
	l := until(t, target, "a loop that is held in a system call", inCall)
	thread, done, ended := l.Held.Thread, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			default:
				_ = unix.Tgkill(p.Process.Pid, thread, unix.SIGURG)
			}
		}
	}()
	defer func() {
		close(done)
		<-ended
	}()
	for range 50 {
		l := until(t, target, "a loop that is held", func(l *inspect.Loop) bool { return l.Held != nil && len(inspect.Own(l.Held.Stack)) > 0 })
		if !inCall(l) {
			t.Fatalf("%s, at %v", l.Held.How, l.Held.Stack)
		}
	}
}
