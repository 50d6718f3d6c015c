// Package watchdog watches a loop for steps that take too long: a task that
// computes without waiting, or one that blocks its goroutine on something that
// only the loop could bring about, such as a sync.Mutex held by a suspended task.
// The runtime never notices that. A Watchdog is a goroutine of its own, so it
// reports also a step that never ends.
//
// The law: one report a step, at the earliest when the step has taken Limit, and
// none while the loop sleeps.
package watchdog

import (
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/rondo-go/rondo/internal/stacks"
)

// LateAfter is after how many times Limit the end of a loop is late.
const LateAfter = 10

// A Config says what to watch.
type Config struct {
	Loop  string        // the loop's name
	Limit time.Duration // how long a step may take
	Go    func(fn func())

	// Late is called by the watchdog, once, if the loop's end takes LateAfter
	// times Limit; see Ending.
	Late func()
}

// A Watchdog watches one loop. Its methods may be called by any goroutine.
type Watchdog struct {
	config Config
	quit   chan struct{}
	gone   chan struct{}

	mu     sync.Mutex
	step   uint64 // how many steps began
	name   string // the task whose step it is
	site   *stacks.Site
	id     uint64 // the goroutine that runs the step
	asleep bool   // the loop waits for events
	ending bool   // the loop comes to its end
}

// Start starts a Watchdog. Stop ends it.
func Start(c Config) *Watchdog {
	w := &Watchdog{config: c, quit: make(chan struct{}), gone: make(chan struct{})}
	c.Go(w.run)
	return w
}

// Stop ends the Watchdog and waits for its goroutine.
func (w *Watchdog) Stop() {
	close(w.quit)
	<-w.gone
}

// Step notes that the loop begins a step of the task with the given name, which
// was started at site if that is known.
func (w *Watchdog) Step(name string, site *stacks.Site) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.step++
	w.name, w.site = name, site
}

// Running notes on which goroutine the step runs.
func (w *Watchdog) Running(id uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.id = id
}

// Sleeping notes that the loop goes to sleep, or wakes.
func (w *Watchdog) Sleeping(asleep bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asleep = asleep
	w.step++
}

// Ending notes that the loop comes to its end.
func (w *Watchdog) Ending() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ending = true
}

// run looks at the loop four times within the limit.
func (w *Watchdog) run() {
	defer close(w.gone)
	tick := time.NewTicker(max(w.config.Limit/4, time.Millisecond))
	defer tick.Stop()
	seen, since := uint64(0), time.Now()
	var ending time.Time
	late := false
	for {
		var now time.Time
		select {
		case <-w.quit:
			return
		case now = <-tick.C:
		}
		w.mu.Lock()
		step, name, site, asleep, id, ends := w.step, w.name, w.site, w.asleep, w.id, w.ending
		w.mu.Unlock()
		if ends && ending.IsZero() {
			ending = now
		}
		if ends && !late && now.Sub(ending) >= LateAfter*w.config.Limit {
			late = true
			w.config.Late()
		}
		if step != seen || asleep {
			seen, since = step, now
			continue
		}
		if took := now.Sub(since); took >= w.config.Limit {
			w.report(name, site, id, took)
			since = now.Add(1 << 40) // once for each step
		}
	}
}

// report says which task holds the loop, for how long, where, and what to do
// about it.
func (w *Watchdog) report(name string, site *stacks.Site, id uint64, took time.Duration) {
	state, stack := stacks.Of(id)
	args := []any{"loop", w.config.Loop, "task", name, "for", took.Round(time.Millisecond), "at", stacks.UserLine(stack)}
	if s := site.String(); s != "" {
		args = append(args, "started", s)
	}
	slog.Warn("rondo: a task holds the loop: "+advice(state), append(args, "state", state, "stack", stack)...)
}

// advice says what to do about a goroutine in the given state.
func advice(state string) string {
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
		return "it is blocked on a channel; use rondo.Queue, or Offload"
	case state == "sleep":
		return "it is in time.Sleep; use rondo.Sleep"
	case state == "syscall" || state == "IO wait":
		return "it is in a call that blocks; use package socket, or Offload"
	}
	return "it computes; call rondo.Yield now and then, or Offload it"
}
