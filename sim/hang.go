package sim

// A run that makes no progress in real time is left, and its report says where it stands.
//
// The law: time alone proves nothing, because the whole process may have been stopped, and what a
// body does outside its loop, such as a checker, may take its time. So looks are counted, and a
// task that is blocked ends the run early only if nothing else in the process runs that could let
// it go on.

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rondo-go/rondo/internal/gid"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/sim/internal/search"
)

// hangAfter is how long, in real time, a loop may wait for other goroutines while
// its clock stands still, or a task may run without coming back to the loop.
// Only tests change it.
var hangAfter = time.Minute

// The time between two looks at a run, and the number of looks without progress after which a
// task counts as blocked. Together they are less than two seconds.
const (
	lookEach     = 400 * time.Millisecond
	blockedAfter = 4
)

// wait returns the outcome of a run. It reports a loop that makes no progress for
// hangAfter as stuck, and before that one with a task that is blocked for good. inside is the
// loop that runs.
func (w *loopWorld) wait(ended <-chan search.Outcome, inside *atomic.Pointer[kernel.Loop]) search.Outcome {
	after := hangAfter
	if search.Shrinking() {
		after = search.Patience()
	}
	looks := int(after / lookEach)
	timer := time.NewTimer(lookEach)
	warned, named := false, false
	for steps, same := uint64(0), 0; ; {
		select {
		case o := <-ended:
			return o
		case <-timer.C:
			timer.Reset(lookEach)
		}
		same++
		if now := w.run.Steps.Load(); now != steps {
			steps, same = now, 0
		}
		if same >= blockedAfter && !named && !w.idle.Load() {
			if h, ok := holds(inside); ok && h.Blocked {
				named = true
				if alone() {
					return search.Outcome{Stuck: hang(h, same), Running: true}
				}
				fmt.Fprintf(os.Stderr, "sim: %s: %s\n", w.run.Label, hang(h, same))
			}
		}
		if same < looks {
			continue
		}
		if warned || !w.idle.Load() {
			h, _ := holds(inside)
			return search.Outcome{Stuck: hang(h, same), Running: true}
		}
		close(w.giveUp)
		warned, same = true, 0
	}
}

// holds says where the loop stands, if one runs.
func holds(inside *atomic.Pointer[kernel.Loop]) (h kernel.Hold, ok bool) {
	loop := inside.Load()
	if loop == nil {
		return h, false
	}
	return (*loop).Holds(), true
}

// hang says where a loop stands that has made no progress at so many looks: the user's line first.
func hang(h kernel.Hold, looks int) string {
	took := time.Duration(looks) * lookEach
	if h.Place == "" {
		stacks := make([]byte, 64<<10)
		stacks = stacks[:runtime.Stack(stacks, true)]
		return fmt.Sprintf("hang: the loop has made no progress for %v of real time: a task is blocked outside Rondo, or it never waits, or it continues although it is cancelled\n\n%s", took, stacks)
	}
	return fmt.Sprintf("hang: %s: %s holds the loop for %v of real time: %s\n\n%s", h.Place, h.Task, took, h.Advice, h.Stack)
}

// alone reports whether nothing runs in the process but the caller. A timer may yet fire.
func alone() bool {
	first := true
	for stack := range gid.Stacks() {
		head, rest, _ := bytes.Cut(stack, []byte("\n"))
		_, state, _ := bytes.Cut(head, []byte("["))
		state, _, _ = bytes.Cut(state, []byte("]"))
		switch name, _, _ := strings.Cut(string(state), ","); name {
		case "running", "runnable", "syscall", "IO wait", "sleep", "waiting":
			if !first && !bytes.HasPrefix(rest, []byte("os/signal.")) {
				return false
			}
		}
		first = false
	}
	return true
}
