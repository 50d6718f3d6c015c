package process

// This file has the life of a child. It is the life of a task: one that starts
// the child, waits for its end, and sees to it that nothing is left of it. The
// task belongs to the scope of the Cmd's ctx, so the scope does not end before.
//
// All that waits is in a Shield: a cancellation is told to the child and does
// not make the task run away from it.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/kernel"
)

// A child is what a Cmd has besides its fields. Save for err, which is read when
// the task has ended, it belongs to the loop.
type child struct {
	cmd  *Cmd
	loop kernel.Loop
	task *rondo.Task
	exit exit

	theirs  []*os.File // the child's ends of pipes, until it has them
	inlets  []*inlet
	outlets []*outlet // those that the user has
	copied  []*outlet // those that streams read
	streams []*stream
	open    int // outlets of the user's that are open
	copying int // streams that are not done

	begun rondo.Event
	asked bool           // somebody has called Wait
	news  rondo.WaitList // the task, waiting for a change of the four above

	until time.Time // when patience ends; zero: it does not, or has not begun to
	cause error     // of the cancellation, if the child has ended for it
	late  bool      // pipes had to be closed
	err   error     // what Wait returns
}

var (
	errGone    = errors.New("the child has ended")
	errOverdue = errors.New("the child's pipes were closed")
)

// start is Cmd.Start for the task t.
func (ch *child) start(c *Cmd, loop kernel.Loop, t kernel.Task) error {
	ch.cmd, ch.loop = c, loop
	ch.exit.loop, ch.exit.std = loop, c.command()
	if err := ch.plumb(); err != nil {
		ch.discard()
		return c.failed("Start", err)
	}
	ch.task = rondo.Go(c.ctx, ch.live)
	ch.task.SetName("child " + c.name())
	// It does not take longer than it takes to start a process.
	_ = rondo.Shield(t.Scope(), ch.begun.Wait)
	if c.Process == nil {
		return ch.err
	}
	return nil
}

// live is the child's task. It does not fail: how the child ended is for those
// who call Wait.
func (ch *child) live(ctx context.Context) error {
	defer ch.begun.Set()
	if ch.err = rondo.Check(ctx); ch.err != nil {
		ch.discard()
		return nil
	}
	_ = rondo.Shield(ctx, func(shielded context.Context) error {
		if ch.err = ch.exit.start(shielded); ch.err != nil {
			ch.discard()
			return nil
		}
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

// attend waits for the end of the child, and then for that of its pipes. g is
// the scope of the streams, which no cancellation reaches, and ctx the one that
// it reaches.
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
		ch.urge(g, cause)
	}
	ch.err = ch.exit.reap()
	ch.cmd.ProcessState = ch.exit.std.ProcessState
	reaped = true
	ch.settle(ctx, g)
}

// urge ends the child, because of cause.
func (ch *child) urge(g *rondo.Scope, cause error) {
	c := ch.cmd
	ch.setUntil(g)
	if c.Cancel != nil {
		switch err := c.Cancel(); {
		case err == nil:
			ch.cause = cause
		case !errors.Is(err, os.ErrProcessDone):
			ch.cause = fmt.Errorf("%w; and Cancel failed: %w", cause, err)
		}
	}
	if ch.patiently(g, ch.exit.wait) == nil {
		return
	}
	switch err := c.Process.Kill(); {
	case err == nil:
		if ch.cause == nil {
			ch.cause = cause
		}
	case !errors.Is(err, os.ErrProcessDone):
		ch.cause = fmt.Errorf("%w; and it could not be killed: %w", cause, err)
	}
	_ = ch.exit.wait(g)
}

// setUntil starts the WaitDelay, if it has not been started.
func (ch *child) setUntil(ctx context.Context) {
	if d, limited := ch.cmd.delay(); limited && ch.until.IsZero() {
		ch.until = rondo.Now(ctx).Add(d)
	}
}

// patiently runs wait until patience ends.
func (ch *child) patiently(ctx context.Context, wait func(ctx context.Context) error) error {
	if ch.until.IsZero() {
		return wait(ctx)
	}
	return rondo.Deadline(ctx, ch.until, wait)
}

// settle ends what is left of a child that has ended.
func (ch *child) settle(ctx context.Context, g *rondo.Scope) {
	ch.setUntil(g)
	for _, s := range ch.streams {
		if s.in && !s.done {
			s.task.Cancel(errGone)
		}
	}
	for _, i := range ch.inlets {
		i.end()
	}
	quiet := func(unwanted func() bool) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			for ch.copying > 0 || ch.open > 0 && !unwanted() {
				ch.loop.Hold(1)
				err := ch.news.Park(ctx, rondo.Reason{What: "pipe"})
				ch.loop.Hold(-1)
				if err != nil {
					return err
				}
			}
			return nil
		}
	}
	if ch.patiently(ctx, quiet(func() bool { return ch.asked })) != nil {
		// When ctx is cancelled nobody is expected to read on, but what is copied
		// is copied as long as it may take.
		_ = ch.patiently(g, quiet(func() bool { return true }))
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

// conclude makes ch.err what Wait returns: it is what the system said of the
// child, so far.
func (ch *child) conclude() {
	if ch.cause != nil {
		ch.err = &cancelledError{name: ch.cmd.name(), cause: ch.cause, exit: ch.err}
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
		if s.err != nil && !(s.in && errors.Is(s.err, errGone)) {
			ch.err = s.err
			return
		}
	}
}

// ask notes that somebody waits. Any goroutine may call it.
func (ch *child) ask() {
	ch.onLoop(func() {
		ch.asked = true
		ch.news.WakeAll()
	})
}

func (ch *child) onLoop(fn func()) {
	if ch.loop.Inside() {
		fn()
		return
	}
	// When the loop has ended the child has, too.
	_ = ch.loop.Post(fn)
}

func (ch *child) closeTheirs() {
	for _, f := range ch.theirs {
		// The child has its own.
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
