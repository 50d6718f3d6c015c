package rondo

// Run begins and ends a loop. The goroutine that calls Run is parked like a task while the
// tasks run; a task without a function, the runTask, stands for it. It runs when no task can,
// and sleeps until something happens. It also runs when the main task has ended, and then ends
// the loop in steps. Their order is always the same, and none is skipped if main failed or
// panicked:
//
//  1. cancel the tasks that are left, and wait for them;
//  2. report the errors that nobody waited for, and the offloaded functions that
//     were abandoned and still run;
//  3. run what is still in the inbox, and shut it;
//  4. let go of the signals, and end the observers;
//  5. end the workers, so that no goroutine is left;
//  6. close the driver, and with it all watchers of descriptors.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"syscall"
	"time"
	"unsafe"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/gid"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/loopset"
	"github.com/rondo-go/rondo/internal/poll"
	"github.com/rondo-go/rondo/internal/stacks"
	"github.com/rondo-go/rondo/internal/timeline"
	"github.com/rondo-go/rondo/internal/timers"
	"github.com/rondo-go/rondo/internal/trap"
)

// A Runner runs loops. Its zero value is ready, and may run any number of them.
type Runner struct {
	// Name is the loop's name, as rondo tree and reports show it.
	Name string

	// Debug turns on checks and records that help to find mistakes; RONDO_DEBUG=1 in the
	// environment does the same. It sets SlowStep to 100 ms unless it is set, notes where each
	// task was started, reports those that are alive when the main task ends, refuses most
	// calls from goroutines that are not the loop's, and shows tasks in execution traces.
	// docs/DEBUGGING.md has more.
	Debug bool

	// SlowStep is how long a task may run without waiting. A step that takes longer is reported
	// through slog, with the stack at that moment and, if it is blocked, what it is blocked on.
	// 0 means: not watched.
	SlowStep time.Duration

	// HangAfter is how long a step may take before it counts as a hang. A hang is reported as a
	// slow step is, even if SlowStep is not set. 0 means 10 seconds, a negative value never. It
	// costs the loop nothing.
	HangAfter time.Duration

	// EndDeadlock is how long a loop stays in a deadlock, in which no task can run and nothing
	// known can wake one, before Run cancels all tasks and returns ErrDeadlock. 0 means for
	// ever: the deadlock is only reported, once, through slog, after a second. A real loop
	// cannot be certain that it is in deadlock, because any goroutine may hold a Scope or a
	// Task and cancel it. A simulated loop is certain, and ends at once.
	EndDeadlock time.Duration

	// Recover makes a panic in a task that task's error, a *PanicError. Without it a panic is a
	// fault of the program: everything is cancelled, deferred calls run, and Run panics with
	// the *PanicError. A function that is called for someone else (a handler of a server, the
	// function of a shard.Call, a job) is an exception: its panic, or that of a task that it
	// has started, is always the error of that call. In a simulation it is so only with
	// Recover, because a test must see the panic.
	Recover bool

	// OnError is called with errors that cannot be returned to a caller: an error in the root
	// scope for which nobody waited, that of main if Run panics or calls Goexit; a panic of a
	// hook of the Tracer, or of a function that was offloaded and abandoned; and, as
	// ErrLeftBehind, what was still running at the end. It must not wait. If it panics, slog
	// has the panic and the error, and the loop goes on. nil means slog.
	OnError func(TaskInfo, error)

	// Interrupt makes Ctrl-C end the loop in two stages. The first SIGINT or SIGTERM cancels
	// every task with a SignalError that names it as the cause; clean-up runs and is waited
	// for, and Run returns what main does then. After the first one both signals have their
	// default effect, so the second ends the process at once. When Run returns, both are
	// handled as before Run.
	Interrupt bool

	// Threads is how many functions may be offloaded at once. 0 means 256.
	Threads int

	// Tracer is called with what the tasks do. RONDO_TRACE=FILE in the environment also writes
	// a timeline of every loop of the process; see rondo trace.
	Tracer *Tracer

	// NoFlightRecorder turns the flight recorder off. The recorder keeps the last 1 MiB of what
	// the tasks did, once a loop has lived for 100 ms or switched a thousand times; rondo
	// record --last reads it from outside.
	NoFlightRecorder bool

	// ProfileLabels labels the goroutine of each task for package runtime/pprof: "loop"
	// has the loop's name and "task" the task's function, so that a CPU profile can be
	// read by task: go tool pprof -tagfocus, or its tags command. A callback counts for
	// the task on whose stack it runs. In a task, pprof.Do leaves no labels behind. It
	// costs some 25 ns a task, and nothing at a switch.
	ProfileLabels bool

	// LockThread keeps the loop on the OS thread on which Run was called, for C
	// libraries and graphical interfaces that must be called on one thread. Every
	// hand-over to a goroutine then costs two switches of threads. A task must
	// not lock itself to the thread and wait, nor wait in a Go function that C
	// has called, with or without LockThread: the runtime ends the process.
	LockThread bool
}

// Run runs main with a zero Runner.
func Run(ctx context.Context, main func(ctx context.Context) error) error {
	return new(Runner).Run(ctx, main)
}

// Run makes a loop on the calling goroutine, runs main as its first task in the root
// scope, and returns main's error when every task has ended. When main ends, the tasks
// that are left are cancelled and waited for. When ctx is cancelled, so is the root
// scope; if it is cancelled already, Run returns the cause and has done nothing.
//
// A task that panics makes Run panic with a *PanicError, unless Recover is set;
// one that calls runtime.Goexit, as testing.T.FailNow does, makes Run call it.
// If all tasks wait for each other, see EndDeadlock.
//
// Run called inside a task is an error.
func (r *Runner) Run(ctx context.Context, main func(ctx context.Context) error) error {
	mustNotBeNil(main == nil)
	if ctx == nil {
		panic("rondo: " + stacks.CalledAs() + " with a nil context: use context.Background() if there is no other")
	}
	if insideAny() {
		return &kernel.CallError{Call: "Run", Text: " inside a task: a loop cannot run in a loop; start a task with Go, or Run on another goroutine", At: stacks.Place()}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if r.LockThread {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
	}
	line, err := timeline.FromEnv()
	if err != nil {
		return wrap("Run", err)
	}
	l, err := r.newLoop(ctx)
	if err != nil {
		if line != nil {
			err = errors.Join(err, line.Close())
		}
		return err
	}
	begun, ended := false, false
	defer func() {
		if !begun { // a method of ctx has panicked
			loops.Remove(l)
			_ = l.driver.Close()
			if line != nil {
				_ = line.Close()
			}
		}
	}()
	l.setUp(ctx, main, line)
	begun = true
	defer l.endUnwinding(&ended)
	if l.observer != nil {
		l.tell(taskStarted, l.main)
	}
	l.awaitMain()
	l.finishTasks()
	l.close()
	ended = true
	return l.fault.result(l.main.err)
}

// endUnwinding is called, deferred, when Run is left. If the loop has not ended, a
// callback called Goexit while this goroutine was the one to run it, or a worker
// handed its own on; another callback may do so while the loop ends.
func (l *Loop) endUnwinding(ended *bool) {
	if *ended {
		return
	}
	defer l.endUnwinding(ended)
	l.noteGoexit()
	l.markUnwinding(l.runTask)
	l.finishTasks()
	l.close()
	*ended = true
	if p := l.fault.panic; p != nil {
		panic(p) // it came first
	}
}

func (r *Runner) newLoop(ctx context.Context) (*Loop, error) {
	open := driver.From(ctx)
	if open == nil {
		open = poll.Open
	}
	d, err := open()
	if err != nil {
		return nil, fmt.Errorf("rondo: Run: %w", err)
	}
	l := &Loop{runner: *r, driver: d}
	l.timers = timers.New[worker, Handle](unsafe.Offsetof(worker{}.timerIndex), unsafe.Offsetof(Handle{}.timerIndex))
	l.inbox.Open()
	l.flight.off = r.NoFlightRecorder
	l.simulate()
	l.goroutines.Add(gid.ID())
	l.serial = loops.Number()
	l.name = cmp.Or(r.Name, fmt.Sprintf("loop-%d", l.serial))
	loops.Add(l)
	return l, nil
}

// setUp starts the loop's clock and its first task.
func (l *Loop) setUp(ctx context.Context, main func(ctx context.Context) error, line *timeline.Loop) {
	r := &l.runner
	if r.Threads <= 0 {
		r.Threads = threads
	}
	r.Debug = r.Debug || os.Getenv("RONDO_DEBUG") == "1"
	if r.Debug && r.SlowStep == 0 {
		r.SlowStep = 100 * time.Millisecond
	}
	l.now = l.driver.Now()
	l.started, l.yielded, l.flight.born = l.now, l.now, l.now
	l.pace.Resume(l.now)
	l.epoch = l.driver.Epoch()
	l.runTask = new(Task)
	l.runTask.worker = &worker{loop: l, job: l.runTask, id: gid.ID(), g: gid.Record()}
	l.runTask.worker.waiter.worker = l.runTask.worker
	l.runTask.SetName("Run")
	l.runTask.scope.loop = l
	l.runTask.self, l.root.host = gid.Self(), l.runTask
	l.root.begin(l, nil, ctx)
	x := l.root.ensureExtra()
	x.onFailure, x.onEmpty = l.keepError, func() { l.drained.WakeAll() }
	l.onStill = l.nothingCanWake
	if c := l.root.watchContext(ctx); c != nil {
		l.root.cancel(c)
	}
	if r.Interrupt && l.sim == nil {
		l.catchInterrupt()
	}
	l.current = l.runTask
	l.main = l.spawn(&l.root, &l.root, main, 0, 0)
	l.main.SetName("main")
	l.startObservers(line)
}

// reportAlive reports, with Debug, the tasks that the end of the main task cuts short. It
// leaves out tasks that were cancelled already, also by a fault, and in a simulation it
// reports none, because there the test decides whether that is a mistake.
func (l *Loop) reportAlive() {
	if !l.runner.Debug || l.sim != nil || l.root.cancelled() != nil {
		return
	}
	var alive []TaskInfo
	for t := range l.tasks() {
		if t.scope.cancelled() == nil {
			alive = append(alive, t.info())
		}
	}
	for _, about := range alive {
		err := wrap("a task was alive when the main task ended and is cancelled now", ErrLeftBehind)
		l.inCallback(func() { l.notice(about, err) })
	}
}

// reportUnobserved reports the errors that nobody waited for.
func (l *Loop) reportUnobserved() {
	for list := l.unobserved.Take(); len(list) > 0; list = l.unobserved.Take() {
		for _, u := range list {
			l.inCallback(func() { l.report(u) })
		}
	}
}

// inCallback calls fn, which reports an error at the end of the loop, as a callback: so
// OnError cannot wait, and a panic of it keeps no other error from being reported.
func (l *Loop) inCallback(fn func()) {
	l.current = nil
	l.call(l.direct(fn))
	l.current = l.runTask
}

// reportAbandoned reports, when all tasks have ended, the offloaded functions that still run:
// calls of the same function are one report. All of them were abandoned: for the others tasks
// have waited. Those that heed their ctx get a moment to end.
func (l *Loop) reportAbandoned() {
	for range 100 {
		if l.offloads.abandoned.First() == nil || l.inbox.Pending() {
			return
		}
		runtime.Gosched()
	}
	var left []*offloadCall
	for c := range l.offloads.abandoned.All(offloadLinks) {
		left = append(left, c)
		l.offloads.abandoned.Remove(c, offloadLinks)
		c.left = false
	}
	if l.sim != nil {
		return
	}
	for len(left) > 0 {
		first, n := left[0], len(left)
		left = slices.DeleteFunc(left, func(c *offloadCall) bool { return c.user == first.user })
		about := first.info(l)
		err := wrap(fmt.Sprintf("Offload of %s was abandoned, %d times", about.Func, n-len(left)), ErrLeftBehind)
		l.inCallback(func() { l.notice(about, err) })
	}
}

// finishTasks is steps 1 to 3 of a loop's end.
func (l *Loop) finishTasks() {
	l.reportAlive()
	if l.late != nil && l.sim == nil {
		l.late()
	}
	for {
		l.cancelAll(context.Canceled)
		l.await(func() bool { return l.live == 0 }, &l.drained)
		l.inbox.Refuse()
		if l.queue.Len() > 0 || l.inbox.Pending() {
			l.runTask.yield() // what came in may be a wait for an error that was not reported yet
			continue
		}
		if l.fault.panic == nil && !l.fault.goexit {
			l.main.observe() // Run returns its error
		}
		l.reportUnobserved()
		// A callback that runs now may start a task, which is cancelled from the start.
		l.reportAbandoned()
		if l.queue.Len() == 0 && l.inbox.Close() {
			return
		}
		l.runTask.yield()
	}
}

// close is steps 4 to 6. When retireAll ends a worker whose task called Goexit, the Goexit may
// continue in the goroutine of Run. Then close is called again, so its statements before
// retireAll may run twice.
func (l *Loop) close() {
	if l.signals != nil {
		l.signals.Release()
	}
	l.observer = nil
	for _, stop := range l.stops {
		stop()
	}
	l.stops = nil
	l.root.end()
	l.retireAll()
	l.goroutines.Clear()
	l.current = nil // nobody is inside any more
	loops.Remove(l)
	if err := l.driver.Close(); err != nil && l.fault.err == nil {
		l.fault.err = fmt.Errorf("rondo: closing the driver: %w", err)
	}
	l.inbox.End()
}

// awaitMain waits for the end of main. It is no wait for main's error: see finishTasks.
func (l *Loop) awaitMain() {
	list := WaitList{Owner: l.main}
	l.main.onDone(l.direct(func() { list.Wake() }))
	l.await(func() bool { return l.main.state == stateDone }, &list)
}

// await parks the goroutine of Run in list until done holds. It runs also
// when the loop is to sleep, and does that then; see pick.
func (l *Loop) await(done func() bool, list *WaitList) {
	for !done() {
		list.push(l.runTask)
		for l.runTask.state = stateWaiting; l.runTask.state == stateWaiting; {
			if s := l.depart(l.runTask); s != nil {
				s.swap()
			}
		}
		l.arrive(l.runTask)
	}
}

// loops are the loops of the process, which any goroutine may read.
var loops loopset.Set[Loop]

// A SignalError says that a signal ended what was running. It is the cause if Runner.Interrupt
// or signals.Cancel turned the signal into a cancellation; package signals calls it Error. It is
// no pointer: errors.As(err, new(SignalError)) finds it.
type SignalError struct{ Sig os.Signal }

// Error returns the signal's name.
func (e SignalError) Error() string { return "rondo: ended by a signal: " + e.Sig.String() }

// catchInterrupt begins to wait for the first signal. A signal can only cancel, so
// it does not hide a deadlock.
func (l *Loop) catchInterrupt() {
	caught := func(s os.Signal) bool { return l.Post(func() { l.cancelAll(SignalError{s}) }) == nil }
	l.signals = trap.Set(true, caught, os.Interrupt, syscall.SIGTERM)
}
