package inspect

// A loop that does not turn is held by a task that computes,
// or one whose goroutine is blocked outside Rondo.

import (
	"slices"
	"strings"
	"time"

	"github.com/rondo-go/rondo/internal/goinspect"
	"github.com/rondo-go/rondo/internal/layout"
)

// holding is how long ago a loop must have looked at its clock to be called held.
const holding = 100 * time.Millisecond

// held says what keeps the loop from turning; nil if it turns or sleeps.
func (r *reader) held(l *Loop, before, after record) *Held {
	if l.Lag < holding || before.uint64(layout.LoopSteps) != after.uint64(layout.LoopSteps) ||
		before.uint64(layout.LoopCurrent) != after.uint64(layout.LoopCurrent) {
		return nil
	}
	out := &Held{For: l.Lag}
	var stack goinspect.Stack
	s := r.current(l, before)
	if s != nil {
		out.Task = s.info.ID
		stack, out.Stack = r.stepOf(goroutine(s.worker), s)
	} else {
		var asleep bool
		// Without stacks, a loop that sleeps looks the same as one that a callback
		// holds.
		if stack, asleep = r.baton(before); asleep || stack.State == goinspect.Unknown && r.program.Missing() != "" {
			l.Idle += l.Lag
			l.Lag = 0
			return nil
		}
		out.Stack = r.framesOf(stack.Frames)
		if where(out.Stack) == resumes {
			stack, out.Stack = r.stepOf(goinspect.Goroutine{Record: stack.Record, ID: stack.Goroutine}, nil)
		}
	}
	out.Thread = stack.Thread
	out.How, out.Advice = doing(stack)
	if s != nil && out.How == computing && s.info.defunct() {
		out.Advice = swallows(stack)
	}
	if stack.State == goinspect.Unknown && r.program.Missing() != "" {
		out.Advice = "what it does cannot be read"
	}
	return out
}

// current returns the task that has the loop, with its worker as it is now; nil if
// none has.
func (r *reader) current(l *Loop, head record) *seen {
	at := head.uint64(layout.LoopCurrent)
	t := r.one(at, layout.TaskSize)
	if t.b == nil || !r.mine(t) {
		return nil
	}
	info := &Task{ID: t.uint64(layout.TaskID)} // if it was left out
	if i := slices.IndexFunc(l.Tasks, func(t *Task) bool { return t.ID == info.ID }); i >= 0 {
		info = l.Tasks[i]
	}
	r.readNested(head, at)
	return &seen{addr: at, task: t, worker: r.one(t.uint64(layout.TaskWorker), layout.WorkerSize), info: info}
}

// stopped says that the loop does not turn because its process is stopped.
func (l *Loop) stopped(pid int) {
	if l.Held != nil {
		l.Held.How, l.Held.Advice = "stopped", toContinue(pid)
	}
}

// stepOf returns the stack of what runs on a goroutine in a step of the loop, which
// may be a coroutine that it has resumed, and the calls of all of them. s is the
// task whose step it is; nil if it is no task's.
func (r *reader) stepOf(of goinspect.Goroutine, s *seen) (goinspect.Stack, []Frame) {
	stack := r.program.Stacks([]goinspect.Goroutine{of})[0]
	own := r.framesOf(stack.Frames)
	if where(own) != resumes {
		return stack, own
	}
	var nested []goinspect.Goroutine
	if s != nil {
		nested = r.nested[s.addr]
	}
	chain, whole := r.inner(of, nested)
	if !whole && s != nil {
		n := r.nest(nested)
		n.stacks = r.program.Stacks(n.gs)
		chain, whole = r.chain(s, n)
	}
	if !whole {
		// What it computes or waits for is not known.
		return goinspect.Stack{}, own
	}
	return chain[0], r.join(chain, own)
}

// defunct reports whether the waits of a task fail at once: it is in a scope that
// is cancelled, and in no Shield inside of that.
func (t *Task) defunct() bool {
	out := t.Cancelled
	for _, s := range t.Scopes {
		out = s.Cancelled || out && s.Kind != "shield"
	}
	return out
}

// swallows advises for a task that goes on after it was cancelled.
func swallows(s goinspect.Stack) string {
	for _, f := range s.Frames {
		pkg := Frame{Func: f.Func}.Package()
		if pkg == module || strings.HasPrefix(pkg, module+"/") {
			return "it was cancelled and drops the error of its waits, which fail at once; return that error"
		}
		if pkg != "runtime" && !strings.HasPrefix(pkg, "internal/") {
			break
		}
	}
	return "it was cancelled and goes on; return the error of its waits, which fail at once, or if it computes, call rondo.Yield from time to time and return its error"
}

// baton returns the stack of the one goroutine of the loop that is not parked in
// a slot. It reports whether it is asleep in the driver.
func (r *reader) baton(head record) (goinspect.Stack, bool) {
	hub := r.one(head.uint64(layout.LoopRunTask), layout.TaskSize)
	// Nearly always it is the goroutine of Run, asleep.
	run := r.program.Stacks([]goinspect.Goroutine{goroutine(r.one(hub.uint64(layout.TaskWorker), layout.WorkerSize))})[0]
	if asleep(run) {
		return run, true
	}
	if where(r.framesOf(run.Frames)) != inLoop {
		return run, false
	}
	for from := 0; from < len(r.ring.workers); from += piece {
		for _, s := range r.program.Stacks(r.goroutines(from, from+piece)) {
			if s.State == goinspect.Unknown || s.State == goinspect.Dead || where(r.framesOf(s.Frames)) == inLoop {
				continue
			}
			return s, asleep(s) // A busy loop may fall asleep where a task has asked its driver.
		}
	}
	return goinspect.Stack{}, false
}

// goroutines returns those that run some of the tasks, by their places in the ring.
func (r *reader) goroutines(from, to int) []goinspect.Goroutine {
	from, to = min(from, len(r.ring.workers)), min(to, len(r.ring.workers))
	var gs []goinspect.Goroutine
	r.each(r.ring.workers[from:to], r.size(layout.WorkerSize), func(i int, w record) {
		if w.uint64(layout.WorkerJob) == r.ring.addrs[from+i] {
			gs = append(gs, goroutine(w))
		}
	})
	return gs
}

// asleep reports whether a stack is in the driver of a loop.
func asleep(s goinspect.Stack) bool {
	for _, f := range s.Frames {
		if strings.HasSuffix(f.Func, ".Poll") && (strings.HasPrefix(f.Func, module+"/internal/poll.") || strings.HasPrefix(f.Func, module+"/sim.")) {
			return true
		}
		if f.Func == module+"/guest.(*world).rest" {
			return true
		}
	}
	return false
}

// What a goroutine does that holds a loop.
const (
	computing  = "computing"
	collecting = "waiting for the garbage collector"
	adviceGC   = "it allocates faster than the garbage collector frees; allocate less, raise GOGC or GOMEMLIMIT, or use Offload"
)

// doing says what a goroutine that is not parked in the loop does, and what the
// program should use instead.
func doing(s goinspect.Stack) (how, advice string) {
	switch s.State {
	case goinspect.Running, goinspect.Runnable:
		switch {
		case s.How == "in a system call", atCall(s.Frames):
			return "in a system call", "it is in a blocking call; use Offload"
		case inCollector(s.Frames):
			return collecting, adviceGC
		}
		return computing, "it is computing; call rondo.Yield from time to time, or use Offload"
	case goinspect.Syscall:
		for _, f := range s.Frames {
			if f.Func == "runtime.cgocall" {
				return "in a call of C", "it is in a call of C; use Offload"
			}
		}
		return "in a system call", "it is in a blocking call; use Offload"
	case goinspect.Waiting:
		switch {
		case inCollector(s.Frames):
			return collecting, adviceGC
		}
		if how, advice := inSync(s.Frames); how != "" {
			return how, advice
		}
		if s.How != "" {
			return blockedBy(s.How)
		}
		return blocked(s.Frames)
	}
	return "not known", "its goroutine could not be read; try again"
}

// atCall reports whether a goroutine that runs stands at the instruction of a system call. Its
// thread is not in the call while it handles a signal: the runtime sends one every few
// milliseconds to a goroutine that keeps its processor, and the kernel begins the call again.
func atCall(frames []goinspect.Frame) bool {
	return len(frames) > 0 && strings.HasPrefix(frames[0].Func, "internal/runtime/syscall")
}

// inCollector reports whether a goroutine works or waits for the garbage
// collector: below the runtime's own calls it allocates, or has called runtime.GC.
func inCollector(frames []goinspect.Frame) bool {
	for _, f := range frames {
		name, ok := strings.CutPrefix(f.Func, "runtime.")
		if !ok {
			return false
		}
		for _, begins := range []string{"gcAssist", "gcParkAssist", "gcStart", "gcWaitOnMark", "gcDrain", "GC", "stopTheWorld", "deductAssistCredit"} {
			if strings.HasPrefix(name, begins) {
				return true
			}
		}
	}
	return false
}

// blocked says on what a goroutine is parked, by the runtime's calls at the end of
// its stack.
func blocked(frames []goinspect.Frame) (how, advice string) {
	for _, f := range frames {
		name := strings.TrimPrefix(strings.TrimPrefix(f.Func, "runtime."), "internal/poll.")
		switch {
		case strings.HasPrefix(name, "semacquire"):
			return "blocked on a lock", "it is blocked on a lock of the runtime; use Offload"
		case strings.HasPrefix(name, "chanrecv"), strings.HasPrefix(name, "chansend"):
			return "blocked on a channel", "it is blocked on a channel; use rondo.Queue, or Offload"
		case name == "selectgo", name == "block":
			return "blocked in a select", "it is blocked in a select; use rondo.Select, or Offload"
		case f.Func == "time.Sleep":
			return "in time.Sleep", "it is in time.Sleep; use rondo.Sleep"
		case strings.HasPrefix(name, "netpollblock"), name == "runtime_pollWait":
			return "waiting for a file or a connection of package net", "it is in a blocking call; use Offload"
		}
	}
	return "parked by the runtime", "it is blocked outside Rondo; use Offload"
}

// syncCalls are the calls of package sync in which a goroutine waits, as the end of its stack has
// them, with what is said of them. The first of several counts: Once waits by way of a Mutex.
var syncCalls = []struct{ call, how, advice string }{
	{"sync.(*WaitGroup).Wait", "blocked in sync.WaitGroup.Wait", "it is blocked in sync.WaitGroup.Wait, for goroutines or tasks that have not called Done; use rondo.Group, or Offload"},
	{"sync.(*Cond).Wait", "blocked in sync.Cond.Wait", "it is blocked in sync.Cond.Wait; use rondo.Cond, or Offload"},
	{"sync.(*Once).", "blocked in sync.Once.Do", "it is blocked in sync.Once.Do, whose function another goroutine or a suspended task runs; use Offload"},
	{"sync.(*RWMutex).", "blocked on a lock", "it is blocked on a sync.RWMutex, probably held by a suspended task; use rondo.RWMutex, or Offload"},
	{"sync.(*Mutex).", "blocked on a lock", "it is blocked on a sync.Mutex, probably held by a suspended task; use rondo.Mutex, or Offload"},
	{"sync.", "blocked in package sync", "it is blocked in package sync; use Offload"},
}

// inSync says in which call of package sync a goroutine is parked; "" if it is in none. The
// runtime's calls and those of package sync, which may be in internal/sync, stand together at the
// end of its stack.
func inSync(frames []goinspect.Frame) (how, advice string) {
	found := len(syncCalls)
	for _, f := range frames {
		name := strings.TrimPrefix(f.Func, "internal/")
		if !strings.HasPrefix(name, "sync.") {
			if strings.HasPrefix(f.Func, "runtime.") && found == len(syncCalls) {
				continue
			}
			break
		}
		for i, c := range syncCalls {
			if strings.HasPrefix(name, c.call) {
				found = min(found, i)
				break
			}
		}
	}
	if found == len(syncCalls) {
		return "", ""
	}
	return syncCalls[found].how, syncCalls[found].advice
}
