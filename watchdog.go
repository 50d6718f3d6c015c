package rondo

// This file watches for steps that take too long: a task that computes without
// waiting, or one that blocks its goroutine on something, a sync.Mutex held by
// a suspended task above all, that only the loop it blocks could bring about.
// The runtime never notices that, so the watchdog must: it is a goroutine of
// its own, and reports also if the step never ends.

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rondo-go/rondo/internal/gid"
)

type watchdog struct {
	loop  *Loop
	limit time.Duration
	quit  chan unit
	gone  chan unit

	mu     sync.Mutex
	step   uint64 // how many steps began
	name   string // the task whose step it is
	site   *site  // where that was started; nil if not known
	id     uint64 // the goroutine that has the baton
	asleep bool   // the loop waits for news
	late   func() // what to post to the loop if its end takes long; nil before that, and after
}

func startWatchdog(l *Loop, limit time.Duration) *watchdog {
	w := &watchdog{loop: l, limit: limit, quit: make(chan unit), gone: make(chan unit)}
	beside(w.run)
	return w
}

func (w *watchdog) stop() {
	close(w.quit)
	<-w.gone
}

// stepped notes that the loop has begun a step.
func (w *watchdog) stepped(e entry) {
	name, site := callback, (*site)(nil)
	if t := e.task; t != nil {
		name = t.Name()
		if t.rare != nil {
			site = t.rare.site
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.step++
	w.name, w.site = name, site
}

// runs notes on which goroutine the step runs.
func (w *watchdog) runs(id uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.id = id
}

// sleeps notes that the loop goes to sleep, or wakes.
func (w *watchdog) sleeps(asleep bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asleep = asleep
	w.step++
}

// ends notes that the loop comes to its end. late is called on the loop if that
// takes long.
func (w *watchdog) ends(late func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.late = late
}

// takeLate gives what is to be posted if the end has begun and takes too long,
// once. ending is since when the watchdog knows of it.
func (w *watchdog) takeLate(now time.Time, ending *time.Time) func() {
	w.mu.Lock()
	defer w.mu.Unlock()
	late := w.late
	switch {
	case late == nil:
		return nil
	case ending.IsZero():
		*ending = now
	}
	if now.Sub(*ending) < lateAfter*w.limit {
		return nil
	}
	w.late = nil
	return late
}

// run looks at the loop four times within the limit.
func (w *watchdog) run() {
	defer close(w.gone)
	tick := time.NewTicker(max(w.limit/4, time.Millisecond))
	defer tick.Stop()
	seen, since := uint64(0), time.Now()
	var ending time.Time
	for {
		select {
		case <-w.quit:
			return
		case now := <-tick.C:
			if late := w.takeLate(now, &ending); late != nil {
				_ = w.loop.Post(late)
			}
			w.mu.Lock()
			step, name, site, asleep, id := w.step, w.name, w.site, w.asleep, w.id
			w.mu.Unlock()
			if step != seen || asleep {
				seen, since = step, now
				continue
			}
			if took := now.Sub(since); took >= w.limit {
				w.report(name, site, id, took)
				since = now.Add(1 << 40) // once for each step
			}
		}
	}
}

// report says which task has held the loop, for how long, where it is, and what
// to do about it.
func (w *watchdog) report(name string, site *site, id uint64, took time.Duration) {
	state, stack := stackOf(id)
	args := []any{"loop", w.loop.name, "task", name, "for", took.Round(time.Millisecond), "at", userLine(stack)}
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
	case strings.HasPrefix(state, "sync.") || state == "semacquire":
		return "it is blocked on a lock that perhaps a suspended task holds; use rondo.Mutex, or Offload"
	case strings.HasPrefix(state, "chan ") || strings.HasPrefix(state, "select"):
		return "it is blocked on a channel; use rondo.Queue, or Offload"
	case state == "sleep":
		return "it is in time.Sleep; use rondo.Sleep"
	case state == "syscall" || state == "IO wait":
		return "it is in a call that blocks; use package socket, or Offload"
	}
	return "it computes; call rondo.Yield now and then, or Offload it"
}

// userLine gives the place in the text of a stack that is in the program's own
// part of it, as "function at file:line".
func userLine(stack string) string {
	lines := strings.Split(stack, "\n")
	for i := 1; i+1 < len(lines); i += 2 {
		function := lines[i]
		if below(function) {
			continue
		}
		if cut := strings.LastIndexByte(function, '('); cut > 0 {
			function = function[:cut]
		}
		place, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " +0x")
		return function + " at " + place
	}
	return ""
}

// below tells whether a function is of Rondo or of the packages of the standard
// library that calls which block go through.
func below(function string) bool {
	if ours(function) {
		return true
	}
	name, _, _ := strings.Cut(function, ".")
	first, _, _ := strings.Cut(name, "/")
	return slices.Contains([]string{"internal", "sync", "time", "syscall", "os", "io", "net", "bufio", "context", "fmt", "log"}, first)
}

// stackOf gives the state and the stack of a goroutine. If that one is parked
// in a coroutine that it resumed, the coroutine is the one that runs, and the
// one whose stack is given.
func stackOf(id uint64) (state, stack string) {
	all := slices.Collect(gid.Stacks())
	for {
		state, stack = find(all, func(s []byte) bool { return bytes.HasPrefix(s, fmt.Appendf(nil, "goroutine %d ", id)) })
		if !strings.HasPrefix(state, "coroutine") {
			return state, stack
		}
		// Of those that it made, at most one is not parked.
		suffix := fmt.Appendf(nil, " in goroutine %d\n", id)
		inner, text := find(all, func(s []byte) bool {
			return bytes.Contains(append(s, '\n'), suffix) && bytes.Contains(s, []byte("created by iter.Pull")) &&
				!bytes.Contains(firstLine(s), []byte("[coroutine"))
		})
		if text == "" {
			return state, stack
		}
		number, _, _ := strings.Cut(strings.TrimPrefix(text, "goroutine "), " ")
		next, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			return inner, text
		}
		id = next
	}
}

func firstLine(s []byte) []byte {
	line, _, _ := bytes.Cut(s, []byte("\n"))
	return line
}

// find gives the state and the text of the first stack that matches.
func find(all [][]byte, match func([]byte) bool) (state, stack string) {
	for _, s := range all {
		if match(s) {
			_, rest, _ := bytes.Cut(firstLine(s), []byte("["))
			state, _, _ := bytes.Cut(rest, []byte("]"))
			return string(state), string(s)
		}
	}
	return "", ""
}
