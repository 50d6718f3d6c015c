package process

// A task starts the child, waits for its end, and closes its pipes. The task belongs
// to the scope of the Cmd's ctx, so the scope does not end before the child.
//
// The task waits in a Shield: a cancellation is passed on to the child, and the task
// stays until the child has ended.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/errtree"
	"github.com/rondo-go/rondo/internal/kernel"
)

// A child has what a Cmd needs besides its exported fields. It belongs to the loop,
// except for err, which is read when the task has ended.
type child struct {
	cmd  *Cmd
	loop kernel.Loop
	task *rondo.Task
	exit exit

	theirs  []*os.File // the child's ends of pipes, until it has them
	inlets  []*inlet
	outlets []*outlet // those that the user reads
	copied  []*outlet // those that streams read
	streams []*stream
	open    int // how many of outlets are open
	copying int // streams that are not done

	begun   rondo.Event
	waited  bool           // Wait was called
	changed rondo.WaitList // the task, waiting for a change of the four above

	until  time.Time // when WaitDelay ends; zero: it has not begun, or has no limit
	cause  error     // of the cancellation, if the child has ended for it
	killed bool      // WaitDelay was over before the child had ended
	late   bool      // pipes had to be closed
	err    error     // what Wait returns

	status *exec.ExitError // how the child has ended, if not with status 0
}

var (
	errGone    = errors.New("the child has ended")
	errOverdue = errors.New("the child's pipes were closed")
)

// start is Cmd.Start for the task t.
func (ch *child) start(c *Cmd, loop kernel.Loop, t kernel.Task) error {
	ch.cmd, ch.loop = c, loop
	ch.exit.loop, ch.exit.std = loop, c.command()
	if err := ch.connect(); err != nil {
		ch.discard()
		return c.failed("Start", err)
	}
	ch.task = rondo.Go(c.ctx, ch.live)
	loop.SetExempt(ch.task, false) // the task that waits for it may be the last that a limit allows
	ch.task.SetName("child " + c.name())
	// This takes no longer than the start of a process.
	_ = rondo.Shield(t.Scope(), ch.begun.Wait)
	if c.Process == nil {
		return ch.err
	}
	return nil
}

// live is the child's task. It never fails: Wait returns how the child ended.
func (ch *child) live(ctx context.Context) error {
	defer ch.begun.Set()
	watched := false
	defer func() {
		if !watched {
			ch.discard() // also if a callback's Goexit unwinds the task
		}
	}()
	if ch.err = rondo.Check(ctx); ch.err != nil {
		return nil
	}
	_ = rondo.Shield(ctx, func(shielded context.Context) error {
		if ch.err = ch.exit.start(shielded); ch.err != nil {
			return nil
		}
		watched = true
		ch.closeTheirs()
		ch.exit.watch()
		ch.cmd.Process = ch.exit.std.Process
		ch.begun.Set()
		return rondo.Group(shielded, func(g *rondo.Scope) error {
			ch.attend(ctx, g)
			return nil
		})
	})
	if ch.cmd.Process != nil {
		ch.conclude()
	}
	return nil
}

// attend waits for the end of the child, and then for the end of its pipes. A
// cancellation reaches ctx and not g, which is the scope of the streams.
func (ch *child) attend(ctx context.Context, g *rondo.Scope) {
	reaped := false
	defer func() {
		if !reaped {
			// Cancel panicked.
			ch.exit.abandon()
			ch.discard()
			g.Cancel(errOverdue)
		}
	}()
	ch.copy(g)
	if cause := ch.exit.wait(ctx); cause != nil {
		ch.stop(g, cause)
	}
	ch.err = ch.exit.reap()
	ch.status, _ = ch.err.(*exec.ExitError)
	ch.cmd.ProcessState = ch.exit.std.ProcessState
	reaped = true
	ch.finish(ctx, g)
}

// stop ends the child, because of cause.
func (ch *child) stop(g *rondo.Scope, cause error) {
	ch.setUntil(g)
	if ch.cmd.Cancel != nil {
		ch.callCancel(g, cause)
	}
	if ch.limited(g, ch.exit.wait) == nil {
		return
	}
	ch.kill(cause)
	_ = ch.exit.wait(g)
}

// callCancel calls Cancel. Its waits end with WaitDelay; so does the child, even if Cancel waits in
// a Shield, perhaps for the end of the child.
func (ch *child) callCancel(g *rondo.Scope, cause error) {
	if !ch.until.IsZero() {
		timer := rondo.LoopOf(g).CallAt(ch.until, func() { ch.kill(cause) })
		defer timer.Cancel()
	}
	var err error
	late := ch.limited(g, func(context.Context) error { err = ch.cmd.Cancel(); return nil })
	switch {
	case err == nil, late != nil && rondo.TimedOut(g, err):
		ch.cause = cause
	case !errtree.Is(err, os.ErrProcessDone):
		ch.cause = fmt.Errorf("%w; and Cancel failed: %w", cause, err)
	}
}

// kill kills the child, which was to end because of cause.
func (ch *child) kill(cause error) {
	if ch.exit.gone {
		return // and how it ended is its own affair
	}
	switch err := ch.cmd.Process.Kill(); {
	case err == nil:
		ch.killed = true
		if ch.cause == nil {
			ch.cause = cause
		}
	case !errtree.Is(err, os.ErrProcessDone):
		ch.cause = fmt.Errorf("%w; and it could not be killed: %w", cause, err)
	}
}

// setUntil starts the WaitDelay, if it has not been started.
func (ch *child) setUntil(ctx context.Context) {
	if d, limited := ch.cmd.delay(); limited && ch.until.IsZero() {
		ch.until = rondo.Now(ctx).Add(d)
	}
}

// limited runs wait until WaitDelay ends.
func (ch *child) limited(ctx context.Context, wait func(ctx context.Context) error) error {
	if ch.until.IsZero() {
		return wait(ctx)
	}
	return rondo.Deadline(ctx, ch.until, wait)
}

// finish ends the pipes of a child that has ended.
func (ch *child) finish(ctx context.Context, g *rondo.Scope) {
	ch.setUntil(g)
	for _, s := range ch.streams {
		if s.in && !s.done {
			s.task.Cancel(errGone)
		}
	}
	for _, i := range ch.inlets {
		i.end()
	}
	ended := func(unread func() bool) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			for ch.copying > 0 || ch.open > 0 && !unread() {
				ch.loop.AddWakers(1)
				err := ch.changed.Park(ctx, rondo.Reason{What: "pipe"})
				ch.loop.AddWakers(-1)
				if err != nil {
					return err
				}
			}
			return nil
		}
	}
	if ch.limited(ctx, ended(func() bool { return ch.waited })) != nil {
		// When ctx is cancelled nobody is expected to read further, but copying may
		// take as long as WaitDelay.
		_ = ch.limited(g, ended(func() bool { return true }))
	}
	if ch.copying > 0 {
		ch.late = true
		for _, o := range ch.copied {
			o.drain()
		}
		g.Cancel(errOverdue)
	}
	for _, o := range ch.outlets {
		o.drain()
	}
}

// conclude makes ch.err what Wait returns. Before that it is what the system has
// said about the child. A panic comes first, because a child whose pipe was closed
// by it may have failed for that.
func (ch *child) conclude() {
	for _, s := range ch.streams {
		if s.fault != nil {
			ch.err = s.fault
			return
		}
	}
	if ch.cause != nil {
		ch.err = cancelled(ch.cmd.name(), ch.cause, ch.err, ch.cmd.ProcessState, ch.killed)
		return
	}
	if ch.err != nil {
		return
	}
	if ch.late {
		ch.err = exec.ErrWaitDelay
		return
	}
	for _, s := range ch.streams {
		if s.err != nil && !(s.in && errtree.Is(s.err, errGone)) {
			ch.err = s.err
			return
		}
	}
}

// ask notes that Wait was called. Any goroutine may call it.
func (ch *child) ask() {
	ch.onLoop(func() {
		ch.waited = true
		ch.changed.WakeAll()
	})
}

func (ch *child) onLoop(fn func()) {
	if ch.loop.Inside() {
		fn()
		return
	}
	// When the loop has ended, the child has ended too.
	_ = ch.loop.Post(fn)
}

func (ch *child) closeTheirs() {
	for _, f := range ch.theirs {
		// The child has its own descriptors.
		_ = f.Close()
	}
	ch.theirs = nil
}

// discard closes all pipes.
func (ch *child) discard() {
	ch.closeTheirs()
	for _, i := range ch.inlets {
		i.end()
	}
	for _, list := range [][]*outlet{ch.outlets, ch.copied} {
		for _, o := range list {
			o.drain()
		}
	}
}
