// Package guest runs a loop inside the loop of another program: that of a graphical
// interface, a game, or a page in a browser, which owns its thread and calls back.
//
// The host, which is the program whose loop it is, calls Step: once a frame, or when wake has
// been called. Tasks run only inside Step, on the goroutine that calls it, so they may use what
// belongs to the host's thread, and share variables with its callbacks without locks. Between
// two Steps the loop waits for sockets, timers, Offload and Post on a goroutine of its own, and
// calls wake when one of them has something for it.
//
//	l := guest.New(ctx, nil, host.Post, main)
//	defer l.Close()
//	for frame := range host.Frames() {
//		l.Step(4 * time.Millisecond)
//		draw(frame)
//	}
//
// This is trio's guest mode (trio.lowlevel.start_guest_run), with the difference that the host
// says how long a Step may take.
package guest

import (
	"context"
	"iter"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/nocopy"
	"github.com/rondo-go/rondo/internal/poll"
)

// A State is what a loop can do after a Step.
type State int

const (
	// Sleeping: no task can run. A Step does nothing until wake has been called.
	Sleeping State = iota
	// Ready: tasks can run, and the time of the Step was used up.
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
	sleep *sleep // the wait between two Steps, or nil
}

// New returns a Loop on which r runs main, as Runner.Run does, from the first Step on. A nil r
// is a Runner that has nothing set.
//
// wake is called when the loop sleeps and has something to do again, once for each Step that
// returned Sleeping, on a goroutine that is not the host's. It must not wait, nor call Step: it
// tells the host to do that, as a Post, a channel with room or a queue of events does. It may
// be nil if the host calls Step in any case.
//
// A Runner with LockThread is refused by a panic: a loop stays on the thread of its host if the
// host has called runtime.LockOSThread before New, and calls Step there.
func New(ctx context.Context, r *rondo.Runner, wake func(), main func(ctx context.Context) error) *Loop {
	if main == nil {
		panic("guest: New with a nil function: give it the main task")
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
	ctx = driver.With(ctx, func() (driver.Driver, error) { return newWorld(l, open) })
	l.next, _ = iter.Pull(func(yield func(State) bool) {
		l.yield = yield
		l.err = r.Run(ctx, main)
	})
	return l
}

// Step runs the tasks that can run, until none can, or until they have run for budget. A budget
// of 0 runs what is ready for a tenth of a millisecond at most, a negative one until the loop
// sleeps. A task that does not wait is not interrupted, so a Step may take longer. After Ended,
// and while the loop sleeps, Step does nothing.
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
		go l.sleep.run(l.wake)
	}
	return state
}

// Close cancels every task, runs the loop until all have ended, and returns the error of Run,
// which is nil or main's own if main had ended before. It blocks the host for as long as the
// tasks take. The goroutine of the Loop has ended when Close returns; each Loop that has begun is
// closed, or stepped until it has Ended.
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
	return l.err
}
