// Package guest runs a loop inside the loop of another program: that of a graphical interface,
// a game, or a page in a browser, which owns its thread and calls back.
//
// The host, which is the program whose loop it is, calls Step: once a frame; or when wake was
// called, and again as long as Step returns Ready. Tasks run only while the host is in Step, so
// they share variables with its callbacks without locks, and if the host is locked to its thread,
// as graphical interfaces want it, tasks run on that thread too. Between two Steps the loop waits
// for sockets, timers, Offload and Post on a goroutine of its own, and calls wake when one of
// them has something for it.
//
//	l := guest.New(ctx, nil, nil, main)
//	defer l.Close()
//	for frame := range host.Frames() {
//		l.Step(4 * time.Millisecond)
//		draw(frame)
//	}
//
// A callback of the host that wakes a task, as Event.Set does, is no task of the loop. It hands
// that in by Loop.Post, as any goroutine does: the next Step runs it.
//
// The host is locked to its thread (runtime.LockOSThread) before New or not at all, and stays so:
// the runtime ends a program in which a coroutine goes on with another lock than it was made
// with. For the same reason a Loop that is made in a callback from C is stepped only in such
// callbacks on that thread.
//
// This is trio's guest mode (trio.lowlevel.start_guest_run), with the difference that the host
// decides when tasks run and says how long a Step may take.
package guest

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/nocopy"
	"github.com/rondo-go/rondo/internal/poll"
)

// A State is what a loop can do after a Step.
type State int

const (
	// Sleeping: no task can run. A Step does nothing until the sleep has ended, which wake tells.
	Sleeping State = iota
	// Ready: tasks can run, and the time of the Step was used up. Inspection counts the loop as
	// busy until the next Step, because it has work that waits for the host.
	Ready
	// Ended: every task has ended, and Close returns the error of Run.
	Ended
)

// A Loop is a loop that runs inside Step. Of its methods one runs at a time; wake may be called
// during any of them.
type Loop struct {
	_       nocopy.Field
	next    func() (State, bool)
	yield   func(State) bool
	cancel  context.CancelFunc
	state   State
	stepped bool // a Step is running
	err     error

	budget time.Duration // of this Step
	began  time.Time     // when this Step began

	wake  func()
	sleep *sleep         // the wait between two Steps, or nil
	tells sync.WaitGroup // the goroutines that sleep, or call wake
}

// New returns a Loop on which r runs main, as Runner.Run does, from the first Step on. A nil r
// is a Runner that has nothing set.
//
// wake is called when a sleep has ended, once for each time that the loop goes to sleep, on a
// goroutine that is not the host's. It must not wait, nor call Step: it tells the host to do that,
// as a queue of events does, or a send to a channel in a Select with a default. It may be nil if
// the host calls Step in any case. A panic of wake ends the program, as that of each goroutine.
//
// A Runner with LockThread is refused by a panic: a loop stays on the thread of its host if the
// host has called runtime.LockOSThread before New, and calls Step there.
func New(ctx context.Context, r *rondo.Runner, wake func(), main func(ctx context.Context) error) *Loop {
	if main == nil {
		panic("guest: New with a nil function: give it the main task")
	}
	if ctx == nil {
		panic("guest: New with a nil context: use context.Background() if there is no other")
	}
	if r == nil {
		r = new(rondo.Runner)
	}
	if r.LockThread {
		panic("guest: New with LockThread: call runtime.LockOSThread on the host's goroutine before New, and leave LockThread unset")
	}
	if wake == nil {
		wake = func() {}
	}
	open := driver.From(ctx)
	if open == nil {
		open = poll.Open
	}
	l := &Loop{wake: wake, state: Ready}
	ctx, l.cancel = context.WithCancel(ctx)
	var opened atomic.Bool
	ctx = driver.With(ctx, func() (driver.Driver, error) {
		if opened.Swap(true) { // a loop that a function of this one runs beside it, with its ctx
			return open()
		}
		return newWorld(l, open)
	})
	l.next, _ = iter.Pull(func(yield func(State) bool) {
		l.yield = yield
		l.err = r.Run(ctx, main)
	})
	return l
}

// Step runs the tasks that can run, until none can, or until they have run for budget. The loop
// looks at the time about every tenth of a millisecond, so a budget of 0 is about that much; a
// negative one has no end but that of the work. A task that does not wait is not interrupted, so a
// Step may take longer. After Ended, and while the loop sleeps, Step does nothing.
//
// It panics, or calls runtime.Goexit, where Run would do so, and if it is called inside a Step.
func (l *Loop) Step(budget time.Duration) State {
	if l.stepped {
		panic("guest: Step inside a Step: a task must not run the loop that it runs on")
	}
	if l.state == Ended || l.sleep != nil && !l.sleep.over() {
		return l.state
	}
	l.stepped = true
	defer func() { l.stepped = false }()
	l.budget, l.began = budget, time.Now()
	state, running := Ended, false
	defer func() {
		if l.state = state; state == Ended {
			l.cancel()
		}
	}()
	if state, running = l.next(); !running {
		state = Ended
	}
	if state == Sleeping {
		l.tells.Go(func() { l.sleep.run(l.wake) })
	}
	return state
}

// Close cancels every task, runs the loop until all have ended, and returns the error that Run
// returned: nil or that of main if it had ended before. It blocks the host for as long as the
// tasks take, and until a call of wake that has begun returns; in a callback of a browser it
// belongs on a goroutine, because nothing happens there until the callback has returned. It panics
// or calls runtime.Goexit where Step would, and returns nil when Step has. Each Loop is closed, or
// stepped until it has Ended.
func (l *Loop) Close() error {
	if l.stepped {
		panic("guest: Close inside a Step: cancel the ctx of New, or return from main")
	}
	l.cancel()
	for l.state != Ended {
		if l.sleep != nil {
			<-l.sleep.done
		}
		l.Step(-1)
	}
	l.tells.Wait()
	return l.err
}
