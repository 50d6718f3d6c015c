package rondo

// This file tells the program what no caller can be told, above all the errors of
// tasks for which nobody has waited.
//
// The law: an error is returned, joined to others in its scope, or given to
// OnError once. Nothing is dropped.

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"

	"github.com/rondo-go/rondo/internal/watchdog"
)

// ErrLeftBehind says of what is reported to OnError that it was still running
// when the loop came to its end: a function that was offloaded and abandoned,
// or, with Debug, a task that was alive when the main task ended, and was
// cancelled.
var ErrLeftBehind = errors.New("rondo: still running at the end of the loop")

// An unobservedError is one of a root-scope task for which nobody has waited.
type unobservedError struct {
	info TaskInfo
	err  error // nil once somebody has it
}

// unobservedErrors are the errors that are kept, in the order in which they came.
// Those that somebody has are dropped when they are half of all.
type unobservedErrors struct {
	list []*unobservedError
	dead int // how many of them somebody has
}

func (us *unobservedErrors) add(u *unobservedError) { us.list = append(us.list, u) }

// observed notes that somebody has u's error.
func (us *unobservedErrors) observed(u *unobservedError) {
	u.err = nil
	if us.dead++; 2*us.dead >= len(us.list) {
		us.list = slices.DeleteFunc(us.list, func(u *unobservedError) bool { return u.err == nil })
		us.dead = 0
	}
}

// keepError keeps the error of a task that the root scope owns until somebody
// takes it. What nobody takes is reported when the task can no longer be waited
// for, or at the end of the loop.
func (l *Loop) keepError(t *Task, err error) {
	if c := l.root.cancelled(); t.observed || c != nil && c.onlyCancels(err) {
		return
	}
	u := &unobservedError{info: t.info(), err: err}
	t.ensureExtra().unobserved = u
	l.unobserved.add(u)
	if !l.virtual {
		// When the garbage collector runs is no part of a schedule that can be
		// replayed, so a simulation waits for the end.
		runtime.AddCleanup(t, func(u *unobservedError) { _ = l.Post(func() { l.report(u) }) }, u)
	}
}

// observe notes that somebody has the task's error.
func (t *Task) observe() {
	t.observed = true
	if x := t.extra; x != nil && x.unobserved != nil {
		t.scope.loop.unobserved.observed(x.unobserved)
		x.unobserved = nil
	}
}

// report calls OnError with u, once.
func (l *Loop) report(u *unobservedError) {
	err := u.err
	if err == nil {
		return
	}
	l.unobserved.observed(u)
	if l.callOnError(u.info, err) {
		return
	}
	args := []any{"loop", l.name, "task", u.info.Name, "err", err}
	if u.info.Site != "" {
		args = append(args, "started", u.info.Site)
	}
	slog.Error("rondo: a task failed and nobody waited for it", args...)
}

// callOnError calls OnError, and reports whether there is one. If OnError does not return
// but panics, the error that it was called with is in the log.
func (l *Loop) callOnError(about TaskInfo, err error) bool {
	if l.runner.OnError == nil {
		return false
	}
	returned := false
	defer func() {
		if !returned {
			slog.Error("rondo: OnError panicked with this error", "loop", l.name, "task", about.Name, "err", err)
		}
	}()
	l.runner.OnError(about, err)
	returned = true
	return true
}

// notice calls OnError, or else the log, with what no caller can be told.
func (l *Loop) notice(about TaskInfo, err error) {
	if l.callOnError(about, err) {
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

// reportLate reports whom the end of the loop waits for, when that takes long: a
// task behind a Shield, or one that ignores its cancellation. The watchdog calls
// it, because a timer of the loop's would keep a deadlock from being found.
func (l *Loop) reportLate() {
	if l.live > 0 {
		slog.Warn("rondo: the loop cannot end: tasks that were cancelled go on; look for a Shield, or for an error of a wait that is not returned",
			"loop", l.name, "after", watchdog.LateAfter*l.runner.SlowStep, "tasks", l.describeWaits())
	}
}
