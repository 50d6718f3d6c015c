package rondo

// The report of a loop on all its tasks: what each waits for, and where. Without stopping the
// program, only the goroutine of a waiting task can print that task's stack. So the report
// switches to this goroutine, which prints its stack and switches back.
//
// The law: that changes nothing but the counts of switches. The goroutine that asks is parked in
// the slot of the one that answers and comes out of it again, so each is parked where it was; and
// no task becomes ready for it.

import (
	"log/slog"

	"github.com/rondo-go/rondo/internal/gid"
	"github.com/rondo-go/rondo/internal/report"
	"github.com/rondo-go/rondo/internal/stacks"
	"github.com/rondo-go/rondo/internal/waits"
	"github.com/rondo-go/rondo/internal/watchdog"
)

// describeWaits returns a line for each live task: what it waits for, and where. Beyond a limit
// it only counts tasks. It is called on the loop, while no task runs.
func (l *Loop) describeWaits() string {
	return waits.Describe(l.tasks(), l.tangles(), (*Task).inWords, l.lineOf)
}

// reportLate reports the tasks that delay the end of the loop for long: a task behind a Shield,
// or one that ignores its cancellation. The watchdog calls it, because a timer of the loop's
// would keep a deadlock from being found.
func (l *Loop) reportLate() {
	if l.live > 0 {
		report.Log(slog.LevelWarn, "rondo: the loop cannot end: tasks that were cancelled go on; look for a Shield, or for an error of a wait that is not returned",
			"loop", l.name, "after", watchdog.LateAfter*l.runner.SlowStep, "tasks", l.describeWaits())
	}
}

// A witness is the observer of a loop while a task is asked where it stands.
type witness struct {
	loop  *Loop
	slot  *slot // where the task is parked, and meanwhile the one that asks
	stack string
}

// lineOf returns the user's innermost place on the stack of a task that waits, or "".
func (l *Loop) lineOf(t *Task) string { return stacks.UserLine(l.stackOf(t)) }

// stackOf returns the text of the stack of t, which waits.
func (l *Loop) stackOf(t *Task) string {
	if t.worker.at == nil { // it has the loop, and looks for what runs next
		return gid.Stack()
	}
	w := &witness{loop: l, slot: t.worker.at}
	observer, current := l.observer, l.current
	l.observer = w
	w.slot.swap()
	l.observer, l.current = observer, current
	return w.stack
}

// observe is called by the task when it runs. It returns when the wait has ended.
func (w *witness) observe(e event) {
	if e.kind != taskRuns {
		return
	}
	w.stack = gid.Stack()
	e.task.state = stateWaiting
	w.slot.swap()
	w.loop.arrive(e.task)
}
