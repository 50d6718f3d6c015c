package rondo

// This file tells people what the tasks of a loop are doing.

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// TaskInfo describes a task at one moment.
type TaskInfo struct {
	ID       uint64
	Name     string
	Loop     string
	Func     string        // the function that it runs
	State    string        // new, ready, running, waiting or done
	Waiting  string        // what it waits for, such as "sleep" or "lock"
	Of       string        // how that is called: a lock's name, a peer's address
	On       uint64        // the task or the descriptor that it waits for; 0 if there is none
	Parent   uint64        // the task that started it; 0 for the main task
	Age      time.Duration // since it was started
	Since    time.Duration // how long it has been waiting
	Switches uint64        // how often it was given the baton
	Site     string        // where it was started, as file:line; only with Debug
}

// Tasks describes the live tasks of ctx's loop, in the order in which they were
// started. Any goroutine may call it; one that is not on the loop is blocked
// until the loop answers. It returns nil if ctx belongs to no loop, or the loop
// has ended.
func Tasks(ctx context.Context) []TaskInfo {
	s := scopeOf(ctx)
	if s == nil {
		return nil
	}
	l := s.loop
	if l.inside() {
		return l.snapshot()
	}
	answer := make(chan []TaskInfo, 1)
	if l.Post(func() { answer <- l.snapshot() }) != nil {
		return nil
	}
	return <-answer
}

// answerTime is how long AllTasks waits for the answers of other loops.
const answerTime = time.Second

// AllTasks describes the live tasks of all loops of the process, loop by loop in
// the order in which these were started. Any goroutine may call it, and is
// blocked until the loops have answered, which they do in their next turn; a
// task that calls it holds its own loop up for that time, and does not suspend.
//
// A loop that has not answered after a second, because one of its tasks does not
// wait, is not waited for any longer: in place of its tasks stands one TaskInfo
// with its name in Loop, the State "busy" and nothing else.
func AllTasks() []TaskInfo {
	loops.Lock()
	live := slices.Clone(loops.live)
	loops.Unlock()
	answers := make([]chan []TaskInfo, len(live))
	for i, l := range live {
		answer := make(chan []TaskInfo, 1)
		if l.inside() {
			answer <- l.snapshot()
		} else if l.Post(func() { answer <- l.snapshot() }) != nil {
			close(answer) // It has ended.
		}
		answers[i] = answer
	}
	late, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	var infos []TaskInfo
	for i, answer := range answers {
		select {
		case some := <-answer:
			infos = append(infos, some...)
			continue
		case <-late.Done():
		}
		select {
		case some := <-answer: // It had answered while another was waited for.
			infos = append(infos, some...)
		default:
			infos = append(infos, TaskInfo{Loop: live[i].name, State: "busy"})
		}
	}
	return infos
}

// tasks ranges over the live tasks, the oldest first.
func (l *Loop) tasks() iter.Seq[*Task] {
	return func(yield func(*Task) bool) {
		for t := l.ring; t != nil; {
			next := t.next
			if !yield(t) || next == l.ring {
				return
			}
			t = next
		}
	}
}

func (l *Loop) snapshot() []TaskInfo {
	l.now = l.driver.Now()
	infos := make([]TaskInfo, 0, l.live)
	for t := range l.tasks() {
		infos = append(infos, t.info())
	}
	return infos
}

func (t *Task) info() TaskInfo {
	l := t.scope.loop
	i := TaskInfo{
		ID: t.id, Name: t.Name(), Loop: l.name, State: t.state.String(), Parent: t.parent,
		Age: time.Duration(l.now - t.born),
	}
	i.Func = t.function()
	i.Site = t.startedAt()
	w := t.worker
	if w == nil {
		return i
	}
	i.Switches = w.switches
	if t.state == stateWaiting {
		i.Waiting, i.Of, i.On, i.Since = w.reason.What, w.of(), w.on(), time.Duration(l.now-w.since)
	}
	return i
}

// function gives the name of the function that a task runs: the user's, also if
// Rondo has wrapped it into one of its own.
func (t *Task) function() string {
	if t.rare != nil && t.rare.entry != 0 {
		return functionName(t.rare.entry)
	}
	if t.fn == nil {
		return ""
	}
	return functionName(reflect.ValueOf(t.fn).Pointer())
}

// functionName gives the name of a function. That of a method value, as in
// Go(ctx, s.run), is the method's.
func functionName(pc uintptr) string { return strings.TrimSuffix(runtime.FuncForPC(pc).Name(), "-fm") }

// on gives the number of what a waiting task waits for: the task that can end
// the wait, if one is known to.
func (w *worker) on() uint64 {
	if w.list != nil && w.list.Owner != nil {
		return w.list.Owner.id
	}
	return w.reason.On
}

// of says how that is called what a waiting task waits for, if it has a name.
func (w *worker) of() string {
	if w.list == nil {
		return ""
	}
	switch of := w.list.Of.(type) {
	case *string:
		return *of
	case fmt.Stringer:
		return of.String()
	}
	return ""
}

// waiting says what a waiting task waits for in words.
func (w *worker) waiting() string {
	what := w.reason.What
	if of := w.of(); of != "" {
		what += " " + strconv.Quote(of)
	}
	switch {
	case w.list != nil && w.list.Owner != nil && what == "task":
		return w.list.Owner.Name()
	case w.list != nil && w.list.Owner != nil:
		return what + " held by " + w.list.Owner.Name()
	case w.reason.On != 0:
		return fmt.Sprintf("%s %d", what, w.reason.On)
	}
	return what
}
