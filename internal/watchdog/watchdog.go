// Package watchdog watches a loop for steps that take too long: a task that
// computes without waiting, or one that blocks its goroutine on something that
// only the loop could bring about, such as a sync.Mutex held by a suspended task.
// The runtime never notices that.
//
// The law: the loop does nothing for it. A Watchdog looks at the loop from a timer,
// four times within the limit, so it sees also a step that never ends; it reports a
// step once, when the step has taken the limit or up to half as long again, and
// nothing while the loop sleeps.
package watchdog

import (
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/rondo-go/rondo/internal/report"
	"github.com/rondo-go/rondo/internal/stacks"
)

// LateAfter is after how many times the limit the end of a loop is late.
const LateAfter = 10

// A Config says what to watch.
type Config struct {
	Loop  string        // the loop's name
	Limit time.Duration // how long a step may take

	// Look returns what the loop does. The watchdog calls it from another
	// goroutine, at any time.
	Look func() Step

	// Member reports whether a goroutine is one of the loop's.
	Member func(id uint64) bool

	// Late is called by the watchdog, once, if the loop's end takes LateAfter
	// times the limit; see Ending.
	Late func()
}

// A Step is what a loop does at one moment.
type Step struct {
	Count     uint64 // steps so far; another number is another step
	Asleep    bool   // the loop waits for events
	Task      string // the name of the task that runs
	Cancelled bool   // the scope that it is in is cancelled, and has ended a wait
	Goroutine uint64 // the task's goroutine; 0 for a callback
	Site      *stacks.Site
}

// A Watchdog watches one loop.
type Watchdog struct {
	config Config
	period time.Duration

	mu       sync.Mutex // held during a look
	timer    *time.Timer
	stopped  bool
	seen     uint64    // the step of the last look
	since    time.Time // when that step was seen first
	last     time.Time // the last look
	reported bool      // that step was
	ending   time.Time // when the loop's end was seen to begin
	late     bool      // Late was called
}

// Start starts a Watchdog. Stop ends it.
func Start(c Config) *Watchdog {
	w := &Watchdog{config: c, period: max(c.Limit/4, time.Millisecond)}
	w.since = time.Now()
	w.last = w.since
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(w.period, w.look)
	return w
}

// Stop ends the Watchdog. When it returns, no look is going on.
func (w *Watchdog) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	w.timer.Stop()
}

// Ending notes that the loop comes to its end.
func (w *Watchdog) Ending() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ending = time.Now()
}

func (w *Watchdog) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	now := time.Now()
	step := w.config.Look()
	if step.Count != w.seen || step.Asleep {
		w.seen, w.since, w.reported = step.Count, now, false
	} else if late := now.Sub(w.last) - w.period; late > w.period {
		// Perhaps the whole program did not run. Perhaps it has one processor, which
		// the step has: then each look is late. So the time counts as one period.
		w.since = w.since.Add(late)
	}
	w.last = now
	if took := now.Sub(w.since); took >= w.config.Limit && !w.reported {
		w.reported = true
		w.report(step, took)
	}
	if !w.ending.IsZero() && !w.late && now.Sub(w.ending) >= LateAfter*w.config.Limit {
		w.late = true
		w.config.Late()
	}
	w.timer.Reset(w.period)
}

// report says which task holds the loop, for how long, where, and what to do
// about it.
func (w *Watchdog) report(step Step, took time.Duration) {
	state, stack := stacks.Of(step.Goroutine)
	if step.Goroutine == 0 {
		state, stack = stacks.Running(w.config.Member)
	}
	args := []any{"loop", w.config.Loop, "task", step.Task, "for", took.Round(time.Millisecond), "at", stacks.UserLine(stack)}
	args = append(args, report.Args("started", step.Site.String())...)
	slog.Warn("rondo: a task holds the loop: "+advice(state, step.Cancelled), append(args, "state", state, "stack", stack)...)
}

// advice says what to do about a goroutine in the given state, in a scope that
// may be cancelled.
func advice(state string, cancelled bool) string {
	state, _, _ = strings.Cut(state, ",")
	switch {
	case state == "sync.WaitGroup.Wait":
		return "it is blocked on a sync.WaitGroup; use rondo.Group, or Offload"
	case state == "sync.Cond.Wait":
		return "it is blocked on a sync.Cond; use rondo.Cond, or Offload"
	case strings.HasPrefix(state, "sync.RWMutex."):
		return "it is blocked on a sync.RWMutex, probably held by a suspended task; use rondo.RWMutex, or Offload"
	case strings.HasPrefix(state, "sync.") || state == "semacquire":
		return "it is blocked on a sync.Mutex, probably held by a suspended task; use rondo.Mutex, or Offload"
	case strings.HasPrefix(state, "chan ") || strings.HasPrefix(state, "select"):
		return "it is blocked on a channel; use rondo.Queue, or rondo.Receive if a goroutine sends, or Offload"
	case state == "sleep":
		return "it is in time.Sleep; use rondo.Sleep"
	case state == "syscall" || state == "IO wait":
		return "it is in a blocking call; use package socket, or Offload"
	}
	if cancelled {
		return "it goes on although its scope is cancelled, where each wait fails at once; return the error of the wait, or of rondo.Check"
	}
	return "it is computing; call rondo.Yield from time to time, or use Offload"
}
