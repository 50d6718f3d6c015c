// Package watchdog watches a loop for steps that take too long: a task that
// computes without waiting, or one that blocks its goroutine on something that
// only the loop could bring about, such as a sync.Mutex held by a suspended task.
// The runtime never notices that.
//
// The law: the loop does nothing for it. A Watchdog looks at the loop from a timer, so it sees
// also a step that never ends. A step is reported once, when it has taken the limit, and never
// before; the report comes before 1.25 times the limit if the machine lets it. Nothing is
// reported while the loop sleeps.
//
// Where the loop read its clock when the step began, as after each sleep, that is when it began.
// Any other step began between two looks, of which there are twenty within the limit: it counts
// from the later one.
package watchdog

import (
	"log/slog"
	"sync"
	"time"

	"github.com/rondo-go/rondo/internal/kernel"
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
	Count     uint64        // steps so far; another number is another step
	Age       time.Duration // since the step began; 0 if the loop did not read its clock then
	Asleep    bool          // the loop waits for events
	Task      string        // the name of the task that runs
	Cancelled bool          // the scope that it is in is cancelled, and has ended a wait
	Goroutine uint64        // the task's goroutine; 0 for a callback
	Site      *stacks.Site
}

// A Watchdog watches one loop.
type Watchdog struct {
	config Config
	period time.Duration // between two looks
	grace  time.Duration // how late a look may be

	mu       sync.Mutex // held during a look
	timer    *time.Timer
	stopped  bool
	seen     uint64    // the step of the last look
	began    time.Time // when that step began, or was seen first
	since    time.Time // began, and later if looks were late: from when the limit counts
	last     time.Time // the last look
	next     time.Time // when the next look is due
	reported bool      // that step was
	ending   time.Time // when the loop's end was seen to begin
	late     bool      // Late was called
}

// Start starts a Watchdog. Stop ends it.
func Start(c Config) *Watchdog {
	w := &Watchdog{config: c, period: max(c.Limit/20, time.Millisecond), grace: max(c.Limit/4, 5*time.Millisecond)}
	w.last = time.Now()
	w.began, w.since, w.next = w.last, w.last, w.last.Add(w.period)
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
		w.seen, w.began, w.reported = step.Count, now, false
		if began := now.Add(-step.Age); !began.Before(w.last) { // then another step ran
			w.began = began
		}
		w.since = w.began
	} else if late := now.Sub(w.next); late > w.grace {
		// Perhaps the whole program did not run. Perhaps it has one processor, which
		// the step has: then each look is late. So the time counts as the grace.
		w.since = w.since.Add(late - w.grace)
	}
	w.last, w.next = now, now.Add(w.period)
	if !w.reported && !step.Asleep {
		if due := w.since.Add(w.config.Limit); now.Before(due) {
			w.next = earlier(w.next, due)
		} else {
			w.reported = true
			w.report(step, now.Sub(w.began))
		}
	}
	if !w.ending.IsZero() && !w.late && now.Sub(w.ending) >= LateAfter*w.config.Limit {
		w.late = true
		w.config.Late()
	}
	w.timer.Reset(time.Until(w.next))
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// report says which task holds the loop, for how long, where, and what to do
// about it.
func (w *Watchdog) report(step Step, took time.Duration) {
	report.Trouble("held", 0)
	h := step.Hold(w.config.Look, w.config.Member)
	args := []any{"loop", w.config.Loop, "task", step.Task, "for", took.Round(time.Millisecond)}
	args = append(args, report.Args("at", h.Place, "started", step.Site.String(), "state", h.State, "stack", h.Stack)...)
	report.Log(slog.LevelWarn, "rondo: a task holds the loop: "+h.Advice, args...)
}

// Hold says where a step is that holds its loop, and what to do about it. look and member are
// those of a Config. It stops the program to read all stacks. If the loop has gone on meanwhile, a
// stack may be that of a later step, and only the task's name is known.
func (step Step) Hold(look func() Step, member func(id uint64) bool) kernel.Hold {
	state, stack := stacks.Of(step.Goroutine)
	if step.Goroutine == 0 {
		state, stack = stacks.Running(member)
	}
	if now := look(); now.Count != step.Count || now.Asleep != step.Asleep {
		return kernel.Hold{Task: step.Task, Advice: "it has ended its step before its stack was read, so where it was is not known"}
	}
	place, calls := stacks.UserCall(stack)
	how, _ := stuck(state)
	return kernel.Hold{
		Task: step.Task, Place: place, Advice: advice(state, calls, step.Goroutine == 0, step.Cancelled),
		State: state, Stack: stack, Blocked: how != "",
	}
}
