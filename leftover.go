package rondo

// This file says what is left over when a loop ends, and tells the program what
// no caller can be told, above all the errors that nobody waited for.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
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

// reportLate has the watchdog, if there is one, see to it that the loop says whom
// its end waits for if it takes long: a task behind a Shield, or one that does not
// heed its cancellation. A timer of the loop's would not do: while one is set, a
// loop is not in deadlock.
func (l *Loop) reportLate() {
	if l.watch == nil || l.watch.dog == nil || l.virtual {
		return
	}
	l.watch.dog.ends(func() {
		if l.live > 0 {
			slog.Warn("rondo: the loop cannot end: tasks that were cancelled go on; look for a Shield, or for an error of a wait that is not returned",
				"loop", l.name, "after", lateAfter*l.runner.SlowStep, "tasks", l.describeTasks())
		}
	})
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

// An unheard error is one of a root-scope task for which nobody has waited.
type unheard struct {
	info TaskInfo
	err  error // nil once somebody has it
}

// unheards are the errors that are kept, in the order in which they came. Those
// that somebody has are dropped when they are half of all.
type unheards struct {
	list []*unheard
	dead int // how many of them somebody has
}

func (us *unheards) add(u *unheard) { us.list = append(us.list, u) }

// heard notes that somebody has u's error.
func (us *unheards) heard(u *unheard) {
	u.err = nil
	if us.dead++; 2*us.dead >= len(us.list) {
		us.list = slices.DeleteFunc(us.list, func(u *unheard) bool { return u.err == nil })
		us.dead = 0
	}
}

// unclaimed keeps the error of a task that the root scope owns until somebody
// takes it. What nobody takes is reported when the task can no longer be waited
// for, or at the end of the loop.
func (l *Loop) unclaimed(t *Task, err error) {
	if v := l.root.verdict(); t.heard || v != nil && v.explains(err) {
		return
	}
	u := &unheard{info: t.info(), err: err}
	t.more().unheard = u
	l.unheard.add(u)
	if !l.virtual {
		// When the garbage collector runs is no part of a schedule that can be
		// replayed, so a simulation waits for the end.
		runtime.AddCleanup(t, func(u *unheard) { _ = l.Post(func() { l.report(u) }) }, u)
	}
}

// hear notes that somebody has the task's error.
func (t *Task) hear() {
	t.heard = true
	if r := t.rare; r != nil && r.unheard != nil {
		t.scope.loop.unheard.heard(r.unheard)
		r.unheard = nil
	}
}

// report tells OnError of u, once.
func (l *Loop) report(u *unheard) {
	err := u.err
	if err == nil {
		return
	}
	l.unheard.heard(u)
	if l.runner.OnError != nil {
		l.runner.OnError(u.info, err)
		return
	}
	args := []any{"loop", l.name, "task", u.info.Name, "err", err}
	if u.info.Site != "" {
		args = append(args, "started", u.info.Site)
	}
	slog.Error("rondo: a task failed and nobody waited for it", args...)
}

func (l *Loop) reportUnheard() {
	for len(l.unheard.list) > 0 {
		list := l.unheard.list
		l.unheard = unheards{}
		for _, u := range list {
			l.report(u)
		}
	}
}
