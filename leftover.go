package rondo

// This file says what is left over when a loop ends, and tells the program what
// no caller can be told.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
)

// ErrLeftBehind says of what is reported to OnError that it was still running
// when the loop came to its end: a function that was offloaded and abandoned,
// or, with Debug, a task that was alive when the main task ended, and was
// cancelled.
var ErrLeftBehind = errors.New("still running at the end of the loop")

// notice tells OnError, or else the log, what no caller can be told.
func (l *Loop) notice(about TaskInfo, err error) {
	if l.runner.OnError != nil {
		l.runner.OnError(about, err)
		return
	}
	level := slog.LevelError
	if errors.Is(err, ErrLeftBehind) {
		level = slog.LevelWarn
	}
	args := []any{"loop", l.name}
	if about.Name != "" {
		args = append(args, "task", about.Name)
	}
	if about.Func != "" {
		args = append(args, "func", about.Func)
	}
	if about.Site != "" {
		args = append(args, "started", about.Site)
	}
	slog.Log(context.Background(), level, err.Error(), args...)
}

// reportAlive tells, with Debug, of the tasks that the end of the main task cuts
// short. Those that were cancelled already, or that a fault ends, are no
// surprise; and in a simulation it is the test that decides what is.
func (l *Loop) reportAlive() {
	if l.watch == nil || !l.watch.debug || l.virtual || l.fault.any() || l.root.verdict() != nil {
		return
	}
	for t := range l.tasks() {
		if t.state != stateDone && t.scope.verdict() == nil {
			l.notice(t.info(), fmt.Errorf("rondo: a task was alive when the main task ended, and is cancelled: %w", ErrLeftBehind))
		}
	}
}

// lateAfter is after how many times SlowStep a loop says whom it waits for at
// its end.
const lateAfter = 10

// reportLate sets a timer, if steps are watched, that says whom the loop's end
// waits for if it takes long: a task behind a Shield, or one that does not heed
// its cancellation.
func (l *Loop) reportLate() (stop func()) {
	slow := l.runner.SlowStep
	if slow <= 0 || l.virtual {
		return func() {}
	}
	h := l.callAt(l.after(lateAfter*slow), func() {
		slog.Warn("rondo: the loop cannot end: tasks that were cancelled go on; look for a Shield, or for an error of a wait that is not returned",
			"loop", l.name, "after", lateAfter*slow, "tasks", l.describeTasks())
	})
	return func() { h.Cancel() }
}

// describeTasks says in a line each what the live tasks wait for, and with Debug
// where they were started.
func (l *Loop) describeTasks() string {
	var b strings.Builder
	for t := range l.tasks() {
		switch {
		case t.state == stateWaiting:
			fmt.Fprintf(&b, "\n\t%s waits for %s", t.Name(), t.worker.waiting())
		default:
			fmt.Fprintf(&b, "\n\t%s is %s", t.Name(), t.state)
		}
		if site := t.startedAt(); site != "" {
			fmt.Fprintf(&b, ", started at %s", site)
		}
	}
	return b.String()
}

// startedAt gives the place where the task was started, if that is known.
func (t *Task) startedAt() string {
	if t.rare == nil {
		return ""
	}
	return t.rare.site.String()
}
