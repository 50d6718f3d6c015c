package sim

// This file has process: what runs on a host from a boot to its end. It is the driver
// of one Run, which sits on a coroutine of the world's goroutine.
//
// The law: a process that was killed changes nothing any more. Its deferred calls run,
// but its sockets are closed, its disk refuses, and its clock is its own: it jumps, and
// no time passes for anyone else.

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/kernel"
)

// A process is one boot of a host.
type process struct {
	host    *Host
	world   *World
	boots   uint64 // which boot of the host it is
	outages int    // how often the host had lost power before
	order   *order
	main    context.Context // of the main task; nil before it runs
	loop    kernel.Loop     // likewise

	next  func() (struct{}, bool) // nil before it runs
	yield func(struct{}) bool
	timer moment // when its loop wakes by itself

	explored explored
	early    early
	queued   bool        // it is in world.ready
	late     bool        // it is ready, but its host is paused
	polling  bool        // its loop sleeps
	asleep   bool        // until something comes, without a timer
	since    int64       // when its loop fell asleep last
	outside  bool        // until a goroutine wakes it
	woken    atomic.Bool // Wake was called
	survey   bool        // it is to say what its tasks wait for
	surveyed string

	killed  error // why it was killed; nil: it lives
	own     int64 // what its clock shows since then
	told    bool  // its loop was told
	refused int   // how many of its waits have failed since then
	over    bool  // its coroutine has ended
	ended   bool  // and that is known
	result  outcome

	sockets  []socket
	reports  []socket // those with something to report
	ports    map[port]socket
	names    map[string]socket // of Unix sockets
	nextPort uint16
	handlers []*handler
	signals  []delivery
}

// start begins the process; it runs when its turn comes.
func (h *Host) start() {
	w := h.world
	h.boots++
	p := &process{
		host: h, world: w, boots: h.boots, outages: h.outages,
		order: newOrder(w.run.choices, h.number<<8|h.boots&0xff),
		ports: make(map[port]socket), names: make(map[string]socket), nextPort: firstPort,
	}
	p.timer.what = p
	p.order.calm = w.calm
	h.process = p
	w.log(hosted, h, nil, "boot", int(h.boots))
	w.faults.event(h)
	w.makeReady(p)
}

// run runs the process until it yields or ends.
func (p *process) run() {
	if p.next == nil {
		p.next, _ = iter.Pull(p.live)
	}
	p.next()
}

// live is the life of the process.
func (p *process) live(yield func(struct{}) bool) {
	p.yield = yield
	p.result.exited = true
	defer func() {
		if v := recover(); v != nil {
			p.result.fault, p.result.exited = v, false
		}
		p.over = true
	}()
	var unobserved []error
	runner := rondo.Runner{
		Name:   p.host.name,
		Tracer: p.world.run.tracer(p.order, &p.early, p.host.number),
		OnError: func(i rondo.TaskInfo, err error) {
			unobserved = append(unobserved, fmt.Errorf("%s failed and nobody waited for it: %w", i.Name, err))
		},
	}
	ctx := driver.With(context.Background(), func() (driver.Driver, error) { return p, nil })
	err := runner.Run(ctx, func(ctx context.Context) error {
		p.main, p.loop = ctx, kernel.Of(ctx)
		p.world.inside.Store(&p.loop)
		return p.host.boot(ctx)
	})
	p.result.err = errors.Join(append(unobserved, err)...)
	p.result.exited = false
}

// finish is called when the coroutine of the process has ended.
func (p *process) finish() {
	if p.ended {
		return
	}
	w, h := p.world, p.host
	p.ended = true
	p.order.end()
	w.moments.drop(&p.timer)
	if p.killed == nil {
		h.process = nil
		if h == w.test {
			h.process = p
		}
		p.closeAll()
		if o := p.result; o.bad() || o.exited {
			if o.err != nil && h != w.test {
				o.err = fmt.Errorf("host %s: %w", h.name, o.err)
			}
			if o.exited && p.main != nil {
				o.err = abandoned(p.main)
			}
			w.fail(o)
		}
		w.log(hosted, h, nil, "exit", 0)
		return
	}
	// What a killed process does and returns has no effect, except that it must not
	// be lost that the program itself is broken.
	if o := p.result; o.exited && !w.ending {
		w.fail(o)
	}
	if h.process == p {
		h.process = nil
	}
}

// kill ends the process: every wait of it fails, and nothing that it does has an
// effect. The sockets are closed or dropped before.
func (p *process) kill(why error) {
	if p.killed != nil || p.ended {
		return
	}
	p.killed, p.own = why, p.Now()
	w := p.world
	w.moments.drop(&p.timer)
	if p.queued {
		w.ready = slices.DeleteFunc(w.ready, func(o *process) bool { return o == p })
		p.queued = false
	}
	if p.next == nil {
		p.ended = true // it has not begun
		if p.host.process == p {
			p.host.process = nil
		}
		return
	}
	if p != w.running {
		w.makeReady(p)
	}
}

// Poll delivers what has come for the host. If there is nothing, it yields to the
// world until there is something.
func (p *process) Poll(until int64) error {
	if p.killed != nil {
		return p.pollKilled(until)
	}
	w := p.world
	switch delivered := p.deliver(); {
	case delivered && (until == driver.Posted || until > p.Now()):
		return nil
	case until < 0 && p.mayGoOn():
		return nil
	case until == driver.Posted:
		p.sleep(until)
	case until != driver.Outside && p.woken.Swap(false):
		return nil
	case until <= p.Now():
		if len(w.ready) == 0 && w.wakes.Load() == 0 && p.host.pausedUntil <= w.base.now {
			w.base.step(pollSteps)
			return nil
		}
		w.makeReady(p) // the others have their turn
		p.park()
	default:
		p.sleep(until)
	}
	if p.killed != nil {
		return p.pollKilled(-1)
	}
	p.deliver()
	return nil
}

// sleep yields until there is something, or until the given instant.
func (p *process) sleep(until int64) {
	w := p.world
	p.polling = true
	switch until {
	case driver.Forever:
		p.asleep = true
	case driver.Outside, driver.Posted:
		// What goroutines hand in is taken when nothing else can run: the moment at
		// which they do that is no part of what a seed repeats.
		if until == driver.Posted || p.woken.Load() {
			w.wake(p)
		}
		w.outside++
		p.outside = true
		defer func() {
			w.outside--
			p.outside = false
		}()
	default:
		at := p.host.universal(until)
		if at > w.base.now {
			at = p.order.sleeps(w.base.now, at)
		}
		w.moments.put(&p.timer, at)
	}
	p.since = w.base.now
	p.park()
	p.asleep = false
	if now := w.base.now; now > p.since {
		p.order.slept(now - p.since)
	}
	p.polling = false
	p.woken.Store(false)
	w.moments.drop(&p.timer)
}

// block keeps the process, with all its tasks, from running for d. It is called in the
// step of a task. The process may be killed meanwhile.
func (p *process) block(d time.Duration) {
	for end := p.world.base.now + int64(d); p.killed == nil && p.world.base.now < end; {
		p.world.moments.put(&p.timer, end)
		p.park()
	}
	p.world.moments.drop(&p.timer)
}

// park yields to the world.
func (p *process) park() {
	for p.yield(struct{}{}); p.survey; p.yield(struct{}{}) {
		p.survey, p.surveyed = false, p.describe()
	}
}

// pollKilled is Poll of a process that was killed. The loop fails, so that all waits
// end; after that its clock jumps to whatever it still waits for.
func (p *process) pollKilled(until int64) error {
	if !p.told {
		p.told = true // the scopes are cancelled before their sockets fail
		return p.killed
	}
	p.deliver()
	switch {
	case until == driver.Outside:
		p.sleep(until)
	case until < driver.Outside && until > p.own:
		p.own = until
		p.world.base.step(1)
	default:
		p.world.base.step(pollSteps)
		p.waitForOthers()
	}
	return nil
}

// waitForOthers lets other processes go on at the end of a run, because what p is still
// to wait for may come from them.
func (p *process) waitForOthers() {
	w := p.world
	if w.takeWoken(); w.ending && len(w.ready) > 0 {
		p.queued = true
		w.ready = append(w.ready, p)
		p.park()
	}
}

// happen is called when the time has come for which the loop sleeps.
func (p *process) happen() { p.world.makeReady(p) }

func (p *process) Order() func(n int, who func(i int) uint64) int { return p.choose }

func (p *process) choose(n int, who func(i int) uint64) int {
	w := p.world
	if begins := n != p.order.last-1; begins {
		p.Step()
		w.base.begins(&p.early)
	}
	i := p.order.choose(n, who)
	switch {
	case i < 0:
		w.base.step(1)
		if t := w.run.trace; t != nil {
			t.choose(w.base.now, passed, p.host.number<<32|p.order.taskAt(^i), n)
		}
	case n > 1:
		w.base.step(1)
		if t := w.run.trace; t != nil {
			t.choose(w.base.now, chosen, p.host.number<<32|p.order.taskAt(i), n)
		}
	}
	return i
}

// Until is that of driver.Late.
func (p *process) Until() int64 {
	if at := p.order.Until(); at > 0 && p.killed == nil {
		return p.host.local(at)
	}
	return 0
}

// Punctual is that of driver.Late.
func (p *process) Punctual() bool { return p.order.Punctual() }

// refusedMost is how many waits of a process may fail after it was killed.
const refusedMost = 1000

// Refused is that of driver.Refuser. A program that was killed may ignore that all its
// waits fail; a real one would not be asked.
func (p *process) Refused() {
	if p.killed == nil {
		p.world.base.Refused()
		return
	}
	if p.refused++; p.refused > refusedMost {
		panic("sim: the program on a host that is down goes on, although each wait fails")
	}
}

// Awaits reports whether a task waits for the end of the host.
func (p *process) Awaits() bool {
	return p.killed == nil && p.main != nil && slices.ContainsFunc(rondo.Tasks(p.main), func(t rondo.TaskInfo) bool {
		return t.Waiting == "cancellation"
	})
}

func (p *process) Virtual() bool { return true }

func (p *process) attempt() *attempt { return p.world.run }

// Alone is false while the process lives: other hosts may set its Futures, and Post.
func (p *process) Alone() bool { return p.killed != nil }

func (p *process) Close() error { return nil }

// describe says what the tasks of the process wait for.
func (p *process) describe() string {
	if p.main == nil {
		return ""
	}
	var b strings.Builder
	for i, t := range rondo.Tasks(p.main) {
		if i == namedMax {
			b.WriteString("\n\tand more")
			break
		}
		fmt.Fprintf(&b, "\n\t%s: %s is %s", p.host.name, t.Name, t.State)
		if t.Waiting != "" {
			fmt.Fprintf(&b, " for %s since %v", t.Waiting, t.Since)
		}
	}
	return b.String()
}

// forOutside is the instant of a Poll that waits for goroutines.
const forOutside = driver.Outside

const never = math.MaxInt64
