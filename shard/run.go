package shard

// The begin and the end of the loops of a Run.
//
// The law: no main runs before all loops have begun; no loop ends before main has
// returned on each of them; and Run returns when all have ended. The first error
// cancels all shards and is the cause of that.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/errtree"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/report"
)

// A Runner runs shards. Its zero value is ready, and may run any number of times.
type Runner struct {
	// Loops is how many shards there are. 0 means runtime.GOMAXPROCS.
	Loops int

	// Loop is the Runner of each loop. Its Name is put before the shard's number; empty means
	// "shard". If tasks of several loops wait for each other in a cycle of calls, that is
	// reported after a second, once, through slog; with EndDeadlock it ends Run with
	// rondo.ErrDeadlock. OnError and the hooks of Tracer are called by all loops, also at the
	// same time.
	Loop rondo.Runner
}

// Run runs main with a zero Runner.
func Run(ctx context.Context, main func(ctx context.Context, s *Shard) error) error {
	return new(Runner).Run(ctx, main)
}

// Run makes the loops, each on a goroutine of its own, and runs main as the first
// task of each. It returns when all loops have ended.
//
// main begins when all loops have begun. A shard whose main has returned nil goes
// on: it serves calls, and its other tasks run, until main has returned on every
// shard. Then the tasks that are left are cancelled and waited for. When ctx is
// cancelled, or the first signal comes if Loop has Interrupt set, so are all shards,
// and Run returns what the mains then return, nil if all return nil; if ctx is
// cancelled already, Run returns the cause and has done nothing.
//
// The first error of a main cancels all shards with itself as the cause, and Run
// returns it, joined with the errors of other shards that are not that cancellation.
// A panic of a task cancels all shards too, and comes out of Run as rondo.Runner.Run
// describes it; so does runtime.Goexit. OnError gets what Run cannot return then.
//
// Run called inside a task is an error. In a simulation Run must be called inside a
// task, one of sim.Cluster; it suspends that task, and the shards are further loops of
// the task's host, whose address, disk and clock they have, and with which they crash. The
// seed decides which of them runs when, and so when a call or a value arrives. Runner.Loop
// has no effect there.
func (r *Runner) Run(ctx context.Context, main func(ctx context.Context, s *Shard) error) error {
	if main == nil {
		panic("rondo: shard.Run with a nil function")
	}
	if ctx == nil {
		panic("rondo: shard.Run with a nil context: use context.Background() if there is no other")
	}
	if r.Loops < 0 {
		panic("rondo: shard.Runner.Loops is negative: use 0 for one loop a processor")
	}
	if world := simulation(ctx); world != nil {
		return newGroup(r).simulate(ctx, world, main)
	}
	if kernel.InsideAny() {
		return &kernel.CallError{Call: "shard.Run", Text: " inside a task: a loop cannot run in a loop, nor shards in a shard; " +
			"start tasks with rondo.Go, or Run on another goroutine"}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	g := newGroup(r)
	ctx, cancel := context.WithCancelCause(ctx)
	g.cancel, g.cancelled = cancel, func() bool { return ctx.Err() != nil }
	defer cancel(nil)
	for _, s := range g.shards {
		g.loops.Go(func() { g.run(ctx, s, main) })
	}
	g.loops.Wait()
	if g.panic != nil || g.exited {
		g.reportAll(context.Cause(ctx))
	}
	return g.result()
}

// errExited is the cause of the cancellation if a task has called Goexit.
var errExited = errors.New("rondo: shard.Run: a task called runtime.Goexit")

// A group is the shards of one Run.
type group struct {
	runner    rondo.Runner
	shards    []*Shard
	cancel    func(cause error)
	cancelled func() bool // by cancel, or from outside
	loops     sync.WaitGroup

	simulated bool
	watching  atomic.Bool // look will be called
	reported  atomic.Bool // a ring was found, which is reported once

	mu     sync.Mutex // guards the rest
	begun  int        // loops that have begun
	active int        // shards whose main has not returned
	errs   []error    // in the order in which they came
	panic  any        // the first
	exited bool       // a task has called Goexit
}

func newGroup(r *Runner) *group {
	g := &group{runner: r.Loop, shards: make([]*Shard, r.Loops)}
	if r.Loops == 0 {
		g.shards = make([]*Shard, runtime.GOMAXPROCS(0))
	}
	name := r.Loop.Name
	if name == "" {
		name = "shard"
	}
	g.active = len(g.shards)
	for i := range g.shards {
		s := &Shard{index: i, name: fmt.Sprintf("%s-%d", name, i), group: g}
		s.callName = "call of " + s.name
		s.box.begin(s)
		g.shards[i] = s
	}
	return g
}

// run is the goroutine of one loop.
func (g *group) run(ctx context.Context, s *Shard, main func(ctx context.Context, s *Shard) error) {
	runner := g.runner
	runner.Name = s.name
	returned, ran := false, false
	defer func() {
		v := recover()
		byLoop.Delete(s.loop)
		switch {
		case v != nil:
			s.err = asError(v)
			g.end(func() {
				if g.panic == nil {
					g.panic = v
				}
			})
			g.cancel(s.err)
		case !returned:
			g.end(func() { g.exited = true })
			g.cancel(errExited)
		}
		if !ran {
			g.mainReturned()
		}
	}()
	err := runner.Run(ctx, func(ctx context.Context) error {
		ran = true
		return s.run(ctx, main)
	})
	returned = true
	if s.err = err; err != nil {
		g.fail(err)
	}
}

// run is the main task of the shard's loop.
func (s *Shard) run(ctx context.Context, main func(ctx context.Context, s *Shard) error) error {
	g := s.group
	defer s.box.close()
	returned := false
	defer func() {
		if !returned {
			g.mainReturned()
		}
	}()
	// After LoopOf the loop is in no deadlock: other shards may wake it.
	s.loop, s.public, s.ctx = kernel.Of(ctx), rondo.LoopOf(ctx), ctx
	byLoop.Store(s.loop, s)
	s.box.open(s.loop)
	err := s.begin(ctx)
	if err == nil {
		err = main(ctx, s)
	}
	if err != nil {
		g.fail(err)
	}
	returned = true
	g.mainReturned()
	if cause := s.await(ctx, g.ended); cause != nil {
		switch _, interrupted := cause.(rondo.SignalError); {
		case interrupted: // as Loop.Interrupt says, what the mains return is the result
			g.cancel(cause)
		case !g.cancelled(): // a task of this shard has failed
			g.fail(cause)
		}
		_ = rondo.Shield(ctx, func(ctx context.Context) error { return s.await(ctx, g.ended) })
	}
	return err
}

// begin waits until all loops have begun.
func (s *Shard) begin(ctx context.Context) error {
	s.group.end(func() { s.group.begun++ })
	return s.await(ctx, func() bool { return s.group.begun == len(s.group.shards) })
}

// await waits until done, which is called under the lock of the group, returns true.
func (s *Shard) await(ctx context.Context, done func() bool) error {
	for {
		s.group.mu.Lock()
		over := done()
		s.group.mu.Unlock()
		if over {
			return nil
		}
		if err := s.changed.Park(ctx, rondo.Reason{What: "other shards"}); err != nil {
			return err
		}
	}
}

func (g *group) ended() bool { return g.active == 0 }

// mainReturned is called once for each shard, when its main has returned or cannot
// run any more.
func (g *group) mainReturned() { g.end(func() { g.active-- }) }

// end changes the group, and has all shards look at it.
func (g *group) end(change func()) {
	g.mu.Lock()
	change()
	g.mu.Unlock()
	for _, s := range g.shards {
		_ = s.box.put(look{}, false)
	}
}

// A look has a shard look at its group.
type look struct{}

func (look) deliver(at *Shard) { at.changed.WakeAll() }
func (look) refused(*Shard)    {}

// fail notes an error, and cancels all shards.
func (g *group) fail(err error) {
	g.mu.Lock()
	g.errs = append(g.errs, err)
	g.mu.Unlock()
	g.cancel(err)
}

// result is how Run ends.
func (g *group) result() error {
	if g.panic != nil {
		panic(g.panic)
	}
	if g.exited {
		runtime.Goexit()
	}
	var errs []error
	for _, err := range g.errs {
		if !slices.ContainsFunc(errs, func(said error) bool { return echoes(err, said) }) {
			errs = append(errs, err)
		}
	}
	return errtree.Join(errs)
}

// reportAll passes the errors of the shards to OnError, because Run cannot return them, but for
// those that say no more than cause, that of the cancellation of all, or than the end of Run.
func (g *group) reportAll(cause error) {
	said := []error{cause, errGone}
	if g.panic != nil {
		said = append(said, asError(g.panic))
	}
	for _, s := range g.shards {
		if s.err == nil || slices.ContainsFunc(said, func(said error) bool { return echoes(s.err, said) }) {
			continue
		}
		said = append(said, s.err)
		g.reportError(s)
	}
}

// reportError passes the error of s to OnError, or else to the log. OnError may panic.
func (g *group) reportError(s *Shard) {
	if g.runner.OnError == nil {
		report.Log(slog.LevelError, "rondo: shard.Run panics or calls Goexit, and cannot return the error of a shard", "loop", s.name, "err", s.err)
		return
	}
	defer func() {
		if v := recover(); v != nil {
			report.Log(slog.LevelError, "rondo: OnError panicked with this error", "loop", s.name, "err", s.err, "panic", report.Text(v))
		}
	}()
	g.runner.OnError(rondo.TaskInfo{Name: "main", Loop: s.name}, s.err)
}

// echoes reports whether err says no more than one that came before it. Errors of which a method
// panics, which nobody is left to blame for, say something of their own.
func echoes(err, said error) (same bool) {
	defer func() { _ = recover() }() // then it is false
	return errtree.Judge(err, said, context.Canceled, func(error) bool { return false }).Rest == nil
}

// asError returns the value of a panic as the cause of a cancellation.
func asError(v any) error {
	if err, ok := v.(error); ok {
		return err
	}
	return errors.New("panic: " + report.Text(v))
}
