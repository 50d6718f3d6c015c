package sim

// A World runs many hosts under one clock. A host is a whole rondo.Run on a coroutine of the
// world's goroutine; its driver is in process.go. Where its loop would sleep, it yields to the
// world, which lets another host run, or moves the clock to the next moment. One goroutine at a
// time does any of this.
//
// The cost of a step does not depend on how many hosts there are: the hosts that can run are in a
// list, and the moments in a heap.

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/sim/internal/choice"
	"github.com/rondo-go/rondo/sim/internal/fault"
	"github.com/rondo-go/rondo/sim/internal/moment"
	"github.com/rondo-go/rondo/sim/internal/network"
	"github.com/rondo-go/rondo/sim/internal/record"
	"github.com/rondo-go/rondo/sim/internal/search"
)

// A World is a cluster of hosts, with their network, disks and clocks. It belongs to
// one run of one seed. Tasks of the host "test" use it, and nobody else may.
type World struct {
	run    *attempt
	base   *loopWorld // the clock
	config Config
	net    *network.Net
	hosts  []*Host
	lanes  []*lane
	links  map[*network.Way]*Link // those that the test has asked for
	test   *Host

	moments moment.Heap
	ready   []*process // those that can run now
	turns   *choice.Source
	steps   *choice.Source // at which steps a busy host lets others go first
	aside   int            // how likely that is, in millionths
	running *process
	last    uint64                      // the task that ran last on any host
	inside  atomic.Pointer[kernel.Loop] // that of running; any goroutine reads it
	granted *process                    // the one that runs next; nil: it is chosen
	outside int                         // how many processes wait for goroutines
	calm    bool
	faults  *fault.Nemesis
	limit   int64
	common  uint64       // what loops have done to what they share, in an exploration
	settled func() error // called after each step of a host and each event; nil: nothing
	broken  string       // the invariant that did not hold

	failed search.Outcome // the first thing that went wrong
	ending bool

	mu      sync.Mutex // guards woken, and what errands says
	woken   []*process // those for which Wake was called
	errands errands
	wakes   atomic.Int32
}

// Cluster runs body with the defaults. See [Config.Cluster].
func Cluster(t testing.TB, body func(ctx context.Context, w *World)) {
	t.Helper()
	Config{}.Cluster(t, body)
}

// Cluster runs body as the main task of a host named "test", which never fails, once for each
// seed. body makes the other hosts with [World.Host], uses them over the simulated network, and
// breaks what it likes. The seed decides everything that it decides in Test, and also what the
// network and the disks do, and when faults strike.
//
// A run ends when body returns. Then the programs on the hosts are killed: what they have
// deferred runs, and gets errors from their sockets, as when the power fails. A run fails if it
// would fail in Test, and also if the boot function of a host returns an error or panics, unless
// the host was crashed, or if all hosts wait for each other for ever. Seeds, replays and reports
// are those of Test.
func (c Config) Cluster(t testing.TB, body func(ctx context.Context, w *World)) {
	t.Helper()
	if body == nil {
		panic("sim: Cluster with a nil function: it needs the body of the test")
	}
	c.checkRates()
	c.series(t, "Cluster", func(a *attempt) search.Outcome { return newCluster(a, c).execute(body) })
}

// newCluster makes the World of a run.
func newCluster(a *attempt, c Config) *World {
	w := &World{
		run: a, base: newLoopWorld(a), config: c, limit: never, moments: moment.New(),
		links: make(map[*network.Way]*Link),
		turns: a.Choices.At(choice.ForOrder, choice.HostOrder), steps: a.Choices.At(choice.ForOrder, choice.HostSteps),
	}
	w.base.looked = true // what runs on hosts is looked at there
	if a.Choices.Walk == nil {
		w.aside = [...]int{0, 30_000, 250_000, 250_000}[a.Choices.Config(choice.ConfigHosts)%4]
	}
	if c.Limit > 0 {
		w.limit = min(moment.After(moment.Origin, c.Limit), never-1)
	}
	if w.net = network.New(a.Choices, &w.moments, w.base.Now, a.Trace, network.Conditions(c.Network), w.saw); w.net.Profile.Calm {
		a.Choices.Rough = false
	}
	w.faults = fault.New((*faultWorld)(w), a.Choices, &w.moments, w.net, c.Faults.settings())
	a.Account.NameHosts(func(number uint64) string {
		if number > 0 && number <= uint64(len(w.lanes)) {
			return w.lanes[number-1].name
		}
		return ""
	})
	return w
}

// execute runs body on the host "test".
func (w *World) execute(body func(ctx context.Context, w *World)) search.Outcome {
	ended := make(chan search.Outcome, 1)
	w.base.stuck = func() {
		ended <- search.Outcome{Stuck: fmt.Sprintf("livelock: no end after %d steps%s", w.run.MaxSteps, w.tasks()), Running: true}
		<-forever // the world stays where it is
	}
	w.test = w.newHost("test", func(ctx context.Context) error {
		body(ctx, w)
		return nil
	})
	w.test.start()
	if w.run.bubbles != nil {
		return w.executeAround(ended)
	}
	go func() {
		defer func() { ended <- w.failed }()
		defer w.end()
		w.turn()
	}()
	return w.base.wait(ended, &w.inside)
}

// laneOf returns a lane of a further loop: that of an earlier one with the same name if it has
// ended, or a new one.
func (w *World) laneOf(h *Host, name string) *lane {
	for _, l := range w.lanes {
		if l.idle && l.host == h && l.name == name {
			return l
		}
	}
	l := &lane{number: uint64(len(w.lanes) + 1), name: name, host: h}
	w.lanes = append(w.lanes, l)
	return l
}

// turn runs hosts and events until the host "test" has ended.
func (w *World) turn() {
	for p := w.test.process; !p.ended && !w.failed.Bad() && !w.failed.Exited && !w.run.Stopped; {
		w.step()
	}
	w.run.Seen = w.seen()
}

// step lets one host run, or one event happen.
func (w *World) step() {
	w.base.settle()
	w.takeWoken()
	switch {
	case len(w.ready) > 0:
		w.resume(w.next())
	case w.base.bubble != nil && w.around():
		return
	case w.outside > 0 && w.base.bubble == nil:
		w.waitOutside()
		return
	default:
		m, at := w.moments.First()
		if m == nil {
			w.deadlock(w.asleep())
			return
		}
		if at > w.limit {
			w.fail(search.Outcome{Kind: "limit", Err: fmt.Errorf("sim: no end after %v of virtual time, which is Config.Limit%s", w.config.Limit, w.tasks())})
			return
		}
		w.base.now = max(w.base.now, at)
		if p := w.test.process; p.asleep && w.limit == never && w.base.now-p.since > int64(hangTime) {
			w.fail(search.Outcome{Kind: "hang", Err: fmt.Errorf("sim: hang: the test has waited for %v of virtual time, with no timer of its own; if that is right, set Config.Limit%s", hangTime, w.tasks())})
			return
		}
		w.run.Shown.Store(w.base.now - moment.Origin)
		w.moments.Drop(m)
		w.base.step(1)
		m.What.Happen()
	}
	if w.settled != nil && !w.ending {
		w.checkInvariants()
	}
}

// hangTime is how long the test may wait without a timer of its own, if there is no Limit.
const hangTime = time.Hour

// goroutinesMost is how long nothing but the sleep of goroutines may happen, if there is no Limit.
const goroutinesMost = 2 * hangTime

// asleep returns why nothing will happen if no moment is left.
func (w *World) asleep() string {
	why := "nothing can run on any host, and nothing will happen"
	if w.base.bubble != nil && w.limit == never {
		why += fmt.Sprintf(" within %v; if a goroutine sleeps for longer, set Config.Limit", goroutinesMost)
	}
	return why
}

// checkInvariants runs the checks of the test. They run on no task, so a panic of one
// is caught here: it fails the run like that of a task.
func (w *World) checkInvariants() {
	returned := false
	defer func() {
		if v := recover(); v != nil {
			w.fail(search.Outcome{Fault: fmt.Sprintf("an invariant panicked: %v\n\n%s", v, debug.Stack())})
		} else if !returned {
			w.fail(search.Outcome{Exited: true})
		}
	}()
	err := w.settled()
	if returned = true; err != nil {
		w.fail(search.Outcome{Err: err, Kind: fmt.Sprintf("invariant %q", w.broken)})
	}
	w.run.Fails(w.last, func() string { return "an invariant" })
}

// next takes the process that runs next.
func (w *World) next() *process {
	i := 0
	granted := w.granted
	w.granted = nil
	switch {
	case granted != nil && granted.queued:
		i = slices.Index(w.ready, granted)
	// One that is about to end has nothing to do with the others, and comes first.
	case len(w.ready) > 1 && w.ready[0].killed == nil:
		i = w.turns.Pick(len(w.ready))
	}
	p := w.ready[i]
	w.ready = slices.Delete(w.ready, i, i+1)
	return p
}

// resume runs a process until it yields or ends. If it ends by runtime.Goexit, so does
// the caller.
func (w *World) resume(p *process) {
	w.base.step(1)
	p.queued = false
	w.running = p
	if p.loop != nil {
		w.inside.Store(&p.loop)
	}
	defer func() {
		w.running = nil
		w.inside.Store(nil)
		if p.over {
			p.finish()
		}
	}()
	p.run()
}

// makeReady lets p run, unless it is paused.
func (w *World) makeReady(p *process) {
	if p.queued || p.ended {
		return
	}
	h := p.host
	if p.killed == nil && h.slow > 0 && !p.late {
		h.pausedUntil = max(h.pausedUntil, moment.After(w.base.now, h.slow))
	}
	if p.killed == nil && h.pausedUntil > w.base.now {
		if !h.resumed.IsSet() {
			w.moments.Put(&h.resumed, h.pausedUntil)
		}
		p.late = true
		return
	}
	w.line(p)
}

// line puts p among those that can run.
func (w *World) line(p *process) {
	if p.queued || p.ended {
		return
	}
	p.queued = true
	if p.killed != nil {
		w.ready = slices.Insert(w.ready, 0, p)
		return
	}
	w.ready = append(w.ready, p)
}

// takeWoken makes the processes ready for which Wake was called. Those that wait for
// goroutines come when nothing else can run, because the moment at which a goroutine
// ends is no part of what a seed repeats.
func (w *World) takeWoken() {
	if w.wakes.Load() == 0 {
		return
	}
	w.mu.Lock()
	woken := w.woken
	w.woken = nil
	w.wakes.Store(0)
	w.mu.Unlock()
	if w.base.bubble != nil {
		slices.SortStableFunc(woken, byHost)
	}
	for _, p := range woken {
		switch {
		case !p.polling:
		case p.outside && len(w.ready) > 0:
			w.mu.Lock()
			w.woken = append(w.woken, p)
			w.wakes.Add(1)
			w.mu.Unlock()
		default:
			w.makeReady(p)
		}
	}
}

// wake is Wake of a process. Any goroutine may call it.
func (w *World) wake(p *process) {
	w.mu.Lock()
	w.woken = append(w.woken, p)
	w.wakes.Add(1)
	w.mu.Unlock()
	w.base.Wake()
}

// waitOutside waits, in real time, for goroutines that work for a host. It reports false, and
// fails the run, if nothing comes from them for long.
func (w *World) waitOutside() bool {
	err := w.base.Poll(forOutside)
	if err != nil {
		w.fail(search.Outcome{Err: err})
	}
	return err == nil
}

// fail notes what went wrong, if it is the first thing.
func (w *World) fail(o search.Outcome) {
	if !w.failed.Bad() && !w.failed.Exited && !w.run.Stopped {
		w.failed = o
		w.run.Account.Fails(w.last)
	}
}

// deadlock ends the run with an error that says why, and what all tasks wait for.
func (w *World) deadlock(why string) {
	w.fail(search.Outcome{Err: fmt.Errorf("%w: %s:%s", rondo.ErrDeadlock, why, w.tasks())})
}

// end ends all hosts. A host may end by runtime.Goexit, and the caller with it; what
// is left is then done by the next call.
func (w *World) end() {
	w.ending = true
	done := false
	defer func() {
		if !done {
			w.end()
		}
	}()
	for _, h := range w.hosts {
		if p := h.process; p != nil && !p.ended {
			p.vanish(errEnd)
		}
	}
	for {
		w.base.settle()
		w.takeWoken()
		switch {
		case len(w.ready) > 0:
			w.resume(w.next())
			continue
		case w.outside == 0:
		case w.base.bubble != nil:
			if w.outlast() {
				continue
			}
		case w.waitOutside():
			continue
		}
		break
	}
	done = true
}

// inert reports whether what the caller does to the World has no effect: the run ends,
// or the caller's process was killed.
func (w *World) inert() bool { return w.ending || w.running != nil && w.running.killed != nil }

// errEnd is the cause with which the hosts end after the test.
var errEnd = errors.New("sim: the test has ended")

// tasks says what the tasks of all hosts wait for.
func (w *World) tasks() string {
	var b strings.Builder
	for _, h := range w.hosts {
		for _, p := range h.loops() {
			if !p.ended && p.next != nil {
				p.aside(func() { b.WriteString(p.describe()) })
			}
		}
	}
	return b.String()
}

// log adds what happened to a host to the trace: n says with how much.
func (w *World) log(k record.Kind, from, to *Host, what string, n int) {
	switch k {
	case record.Sent:
		w.faults.Event(from.target)
	case record.Arrived:
		to.lane().sees(from.number<<32 | uint64(n))
		w.faults.Event(to.target)
	}
	if w.run.Trace == nil {
		return
	}
	var who uint64
	if from != nil {
		who = from.number << 32
	}
	if to != nil {
		who |= to.number
	}
	w.run.Trace.Add(record.Event{Now: w.base.now, Who: who, What: what, N: int32(n), Kind: k})
}

// saw is called with each message and fault of the network.
func (w *World) saw(k record.Kind, from, to *network.Node, what string, n int) {
	host := func(of *network.Node) *Host {
		if of == nil {
			return nil
		}
		return w.lanes[of.Number-1].host
	}
	w.log(k, host(from), host(to), what, n)
}

// A faultWorld is a World in which faults strike.
type faultWorld World

func (w *faultWorld) Now() int64  { return w.base.now }
func (w *faultWorld) Quiet() bool { return w.calm || w.ending }

func (w *faultWorld) Deadlock() bool {
	if w.base.bubble != nil {
		return false // a goroutine may sleep; hangTime and the Limit say for how long
	}
	(*World)(w).deadlock("nothing can run on any host, and nothing but faults will happen")
	return true
}

func (w *faultWorld) Struck(node *network.Node, what string, n int) {
	(*World)(w).saw(record.Struck, node, nil, what, n)
}
