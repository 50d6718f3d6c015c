package sim

// A process is a loop of the program on a host, from a boot to its end: the driver of one Run,
// which sits on a coroutine of the world's goroutine. A program has one loop, and further ones
// beside it if it uses package shard. They share the host's clock, disk and network, and end with
// the first.
//
// The law: a process that was killed changes nothing any more. Its deferred calls run, but its
// sockets are closed, its disk refuses, and its clock is its own: it jumps, and no time passes
// for any other host.

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/sim/internal/moment"
	"github.com/rondo-go/rondo/sim/internal/network"
	"github.com/rondo-go/rondo/sim/internal/offload"
	"github.com/rondo-go/rondo/sim/internal/order"
	"github.com/rondo-go/rondo/sim/internal/record"
	"github.com/rondo-go/rondo/sim/internal/search"
)

// A process is a loop in one boot of a host.
type process struct {
	*lane
	world *World
	first *process   // that of the program's first loop; nil: it is this one
	rest  []*process // the loops beside it that have not ended

	program func(ctx context.Context) error
	gone    func() // is called when it has ended; nil: nothing

	scope *rondo.Scope // of the errands of goroutines; nil: there are none

	down     atomic.Bool  // it was killed, or has ended
	refusals atomic.Int64 // how many errands of goroutines came after that
	boots    uint64       // which one it is of its lane
	order    *order.Order
	main     context.Context // of the main task; nil before it runs
	loop     kernel.Loop     // likewise

	next  func() (struct{}, bool) // nil before it runs
	yield func(struct{}) bool
	timer moment.Moment // when its loop wakes by itself

	explored explored
	ran      uint64 // the task that ran last; 0: a callback
	looked   bool   // since then; see fails
	offloads offload.Loop
	queued   bool        // it is in world.ready
	late     bool        // it is ready, but its host is paused
	polling  bool        // its loop sleeps
	asleep   bool        // until something comes, without a timer
	since    int64       // when its loop fell asleep last
	outside  bool        // until a goroutine wakes it
	woken    atomic.Bool // Wake was called
	between  func()      // what aside runs; nil: nothing

	killed       error // why it was killed; nil: it lives
	own          int64 // what its clock shows since then
	killReported bool  // the loop has the error for being killed
	refused      int   // how many of its waits have failed since then
	over         bool  // its coroutine has ended
	ended        bool  // and the world has noticed
	result       search.Outcome

	stack    *network.Stack // the program's part of the network
	sockets  *network.Loop  // the loop's part of that
	handlers []*handler
	signals  []delivery
}

// begin makes a process, which runs when it is made ready.
func (l *lane) begin(program func(ctx context.Context) error, stack *network.Stack) *process {
	w := l.host.world
	l.boots++
	p := &process{
		lane: l, world: w, boots: l.boots, program: program, stack: stack,
		order: order.New(w.run.Choices, l.number<<8|l.boots&0xff, w.base.Now),
	}
	p.offloads = w.base.pool.Loop()
	p.timer.What = p
	p.sockets = stack.Loop(p.reported)
	p.order.Calm = w.calm
	return p
}

// start begins the process; it runs when its turn comes.
func (h *Host) start() {
	w := h.world
	p := h.lane().begin(h.boot, h.node.Boot())
	h.process = p
	w.log(record.Hosted, h, nil, "boot", int(p.boots))
	w.faults.Event(h.target)
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
	p.result.Exited = true
	defer func() {
		if v := recover(); v != nil {
			p.result.Fault, p.result.Exited = v, false
		}
		p.over = true
	}()
	var unobserved []error
	runner := rondo.Runner{
		Name:   p.name,
		Tracer: p.world.run.tracer(p.order, &p.offloads, p.number),
		OnError: func(i rondo.TaskInfo, err error) {
			unobserved = append(unobserved, fmt.Errorf("%s failed and nobody waited for it: %w", i.Name, err))
		},
	}
	ctx := driver.With(context.Background(), func() (driver.Driver, error) { return p, nil })
	err := runner.Run(ctx, func(ctx context.Context) error {
		p.main, p.loop = ctx, kernel.Of(ctx)
		p.world.inside.Store(&p.loop)
		return p.hosted(ctx)
	})
	p.result.Err = errors.Join(append(unobserved, err)...)
	p.result.Exited = false
}

// finish is called when the coroutine of the process has ended.
func (p *process) finish() {
	if p.ended {
		return
	}
	w, h := p.world, p.host
	p.ended = true
	p.down.Store(true)
	p.order.End()
	w.errands.refuse(p)
	defer p.leave()
	if p.killed == nil {
		if p.first == nil {
			p.exit()
		}
		if o := p.result; o.Bad() || o.Exited {
			if o.Err != nil && h != w.test {
				o.Err = fmt.Errorf("host %s: %w", p.name, o.Err)
			}
			if o.Exited {
				o.Err = abandoned(p.main)
			}
			w.fail(o)
		}
	} else if o := p.result; o.Exited && !w.ending {
		// What a killed process does and returns has no effect, except that it must not
		// be lost that the program itself is broken.
		w.fail(o)
	}
	w.run.Fails(p.number<<32|p.ran, func() string { return w.run.nameOf(nil, p.number, p.ran) + " of " + p.name })
	if p.killed == nil && p.first == nil {
		w.log(record.Hosted, h, nil, "exit", 0)
	}
}

// exit is called when the first loop of a program has ended, and so the program.
func (p *process) exit() {
	p.stack.HangUp()
	p.stack.CloseAll()
	p.stack.Over = true
	p.killRest(errExit)
}

// errExit is the cause with which the further loops of a program end that the first one has left.
var errExit = errors.New("sim: the program has ended")

// leave is called when the process has ended.
func (p *process) leave() {
	if p.first != nil {
		p.first.rest = slices.DeleteFunc(p.first.rest, func(o *process) bool { return o == p })
	}
	if p.gone != nil {
		p.gone()
	}
}

func (p *process) killRest(why error) {
	for _, o := range slices.Clone(p.rest) {
		o.kill(why)
	}
}

// kill ends the process: every wait of it fails, and nothing that it does has an
// effect. So it is with the loops beside it. The sockets are closed or dropped before.
func (p *process) kill(why error) {
	if p.killed != nil || p.ended {
		return
	}
	defer p.killRest(why)
	p.down.Store(true)
	p.killed, p.own, p.stack.Over = why, p.Now(), true
	w := p.world
	if p.queued {
		w.ready = slices.DeleteFunc(w.ready, func(o *process) bool { return o == p })
		p.queued = false
	}
	if p.next == nil {
		p.ended = true // it has not begun
		p.leave()
		return
	}
	if p != w.running {
		w.makeReady(p)
	}
}

// crash ends the process. The system closes its sockets, and sends what goroutines have written.
func (p *process) crash(why error) {
	p.settleAll()
	p.stack.HangUp()
	p.stack.CloseAll()
	p.kill(why)
}

// vanish ends the process, and sends nothing to the peers of its sockets.
func (p *process) vanish(why error) {
	p.stack.HangUp()
	p.stack.DropAll()
	p.kill(why)
}

// Poll delivers what has come for the host. If there is nothing, it yields to the
// world until there is something.
func (p *process) Poll(until int64) error {
	if p.killed != nil {
		return p.pollKilled(until)
	}
	w := p.world
	w.base.settle()
	if p.fails() {
		p.park() // until it is killed, as the run ends
		return p.pollKilled(-1)
	}
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
		if len(w.ready) == 0 && w.wakes.Load() == 0 && p.host.pausedUntil <= w.base.now && p.host.slow == 0 {
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

// deliver takes what has come for the process, and reports whether sockets had anything.
func (p *process) deliver() bool {
	p.deliverSignals()
	return p.sockets.Deliver()
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
		if at > w.base.now && at < never {
			at = p.order.Sleeps(w.base.now, at)
		}
		if at < never {
			w.moments.Put(&p.timer, at)
		}
	}
	p.since = w.base.now
	p.park()
	p.asleep = false
	if now := w.base.now; now > p.since {
		p.order.Slept(now - p.since)
	}
	p.polling = false
	p.woken.Store(false)
	w.moments.Drop(&p.timer)
}

// block keeps the process, with all its tasks, from running for d. It is called in the
// step of a task. The process may be killed meanwhile.
func (p *process) block(d time.Duration) {
	p.failsEarly()
	for end := moment.After(p.world.base.now, d); p.killed == nil && p.world.base.now < end; {
		p.world.moments.Put(&p.timer, end)
		p.park()
	}
	p.world.moments.Drop(&p.timer)
}

// park yields to the world.
func (p *process) park() {
	for p.yield(struct{}{}); p.between != nil; p.yield(struct{}{}) {
		fn := p.between
		p.between = nil
		fn()
	}
}

// aside runs fn, which does not wait, on the loop of the process, which has begun and not ended.
func (p *process) aside(fn func()) {
	w := p.world
	if p == w.running {
		fn()
		return
	}
	running, inside := w.running, w.inside.Load()
	defer func() { w.running = running; w.inside.Store(inside) }()
	w.running = p
	if p.loop != nil {
		w.inside.Store(&p.loop)
	}
	p.between = fn
	p.run()
}

// pollKilled is Poll of a process that was killed. The loop fails, so that all waits
// end; after that its clock jumps to whatever it still waits for.
func (p *process) pollKilled(until int64) error {
	if !p.killReported {
		p.killReported = true // the scopes are cancelled before their sockets fail
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

// waitForOthers lets other processes go on, because what p is still to wait for may come from
// them: from all at the end of a run, before that from the loops of the same program.
func (p *process) waitForOthers() {
	w := p.world
	if w.takeWoken(); len(w.ready) > 0 && (w.ending || p.first != nil || len(p.rest) > 0) {
		p.queued = true
		w.ready = append(w.ready, p)
		p.park()
	}
}

// Happen is called when the time has come for which the loop sleeps.
func (p *process) Happen() { p.world.makeReady(p) }

// Epoch returns 0: the clock is not the system's.
func (p *process) Epoch() int64 { return 0 }

// Poller returns nil: the sockets of a host are no descriptors.
func (p *process) Poller() driver.Poller { return nil }

func (p *process) Simulation() driver.Simulation { return p }

func (p *process) Host() driver.Host { return p }

func (p *process) Choose(n int, who func(i int) uint64) (i int, runs bool) {
	w := p.world
	w.base.settle()
	p.fails()
	if p.order.Begins(n) {
		p.letOthers()
		p.offloads.Begins()
	}
	i = p.order.Choose(n, who)
	if p.explores() {
		p.sees(uint64(p.wall(p.Now()).UnixNano()) ^ uint64(n)<<32 ^ uint64(i))
	}
	kind, runs := record.Chosen, i >= 0
	if !runs {
		i, kind = ^i, record.Passed
	}
	task := p.order.TaskAt(i)
	if n > 1 || !runs {
		w.base.step(1)
		if t := w.run.Trace; t != nil {
			t.Choose(w.base.now, kind, p.number<<32|task, n)
		}
	}
	if runs {
		p.ran, p.looked = task, false
		w.last = p.number<<32 | task
	}
	return i, runs
}

// fails looks whether what ran last has failed the test, and reports whether the run ends.
func (p *process) fails() bool {
	w := p.world
	if p.looked {
		return w.run.Stopped
	}
	p.looked = true
	w.run.Fails(p.number<<32|p.ran, func() string {
		return w.run.nameOf(rondo.Tasks(p.main), p.number, p.ran) + " of " + p.name
	})
	return w.run.Stopped
}

// failsEarly is fails within a step, before other hosts run.
func (p *process) failsEarly() {
	p.fails()
	p.looked = false // the step goes on
}

func (p *process) Offload(user uintptr, fn, back func()) bool {
	if p.world.base.bubble != nil {
		return false
	}
	p.offloads.Add(user, fn, back)
	return true
}

// Until is that of driver.Simulation. 0 has passed on each clock.
func (p *process) Until() int64 { return p.host.local(p.order.Until()) }

func (p *process) Punctual() bool { return p.order.Punctual() }

func (p *process) DrawsShares() bool { return p.order.DrawsShares() }

// EndsShare lets other hosts go first, too: a loop whose task has used its share has run for long
// enough that they have done something.
func (p *process) EndsShare(task uint64) bool {
	w := p.world
	if p.killed != nil || !w.run.endsShare(p.order, task) {
		return false
	}
	w.takeWoken()
	p.failsEarly()
	for n := 0; n < asideMost && len(w.ready) > 0 && p.killed == nil && !w.ending; n++ {
		w.makeReady(p)
		p.park()
	}
	return true
}

// asideMost is for how many steps of other hosts one lets them go first at most.
const asideMost = 3

// refusedMost is how many waits of a process may fail after it was killed.
const refusedMost = 1000

// Refused fails the run if a program that was killed goes on, although all its waits
// fail: a real one would not be asked.
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

// Settles is false if goroutines around the cluster run in real time. It is false also if the
// process was killed: then its clock jumps, and not beyond what goroutines do for it.
func (p *process) Settles() bool { return p.world.base.bubble != nil && p.killed == nil }

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
		fmt.Fprintf(&b, "\n\t%s: %s is %s", p.name, t.Name, t.State)
		if t.Waiting != "" {
			fmt.Fprintf(&b, " for %s since %v", t.Waiting, t.Since)
		}
	}
	return b.String()
}

// forOutside is the instant of a Poll that waits for goroutines.
const forOutside = driver.Outside

const never = math.MaxInt64

// RunBeside is that of driver.Host.
func (p *process) RunBeside(name string, main func(ctx context.Context) error, ended func()) {
	first := p
	if p.first != nil {
		first = p.first
	}
	l := first.world.laneOf(first.host, first.name+"/"+name)
	l.idle = false
	o := l.begin(main, first.stack)
	o.first = first
	o.gone = func() {
		l.idle = true
		ended()
	}
	first.rest = append(first.rest, o)
	if first.killed != nil {
		o.kill(first.killed)
		return
	}
	o.world.makeReady(o)
}

// HandsOver is that of driver.Simulation.
func (p *process) HandsOver(v any) { p.world.run.Trace.Put(p.world.base.now, p.number, v) }

// Wake ends the sleep of the loop. What comes from another host is seen at once, what
// comes from a goroutine when nothing else can run; see takeWoken.
func (p *process) Wake() {
	again := p.woken.Swap(true)
	if p.Within() {
		if p.polling {
			p.world.makeReady(p)
		}
	} else if !again {
		p.world.wake(p)
	}
}

func (p *process) Within() bool {
	loop := p.world.inside.Load()
	if loop == nil || !(*loop).Inside() {
		return false
	}
	p.hears()
	return true
}

// Socket is that of driver.Host.
func (p *process) Socket(network string) (driver.Socket, error) {
	p.settle()
	return p.sockets.Socket(network)
}

// Adopt is that of driver.Host.
func (p *process) Adopt(s driver.Socket) { p.sockets.Adopt(s) }

// Resolve is that of driver.Host.
func (p *process) Resolve(host string) ([]netip.Addr, error) { return p.stack.Resolve(host) }

// reported is called when a socket has something to report.
func (p *process) reported() {
	if p.polling && p != p.world.running {
		p.world.makeReady(p)
	}
}
