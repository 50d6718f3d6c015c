package sim

// Goroutines use the network of a cluster by errands, in a bubble of testing/synctest whose
// clock is the world's (bubble.go).
//
// The law: before the world takes a step, every goroutine of the bubble has come to rest. When
// no host can run, one of the errands that they have left by then is let in, as a task of its
// host. The seed chooses which among those of different sockets; those of one socket keep their
// order. So a step makes one chain of goroutines run, and time passes when nothing is left.
//
// An errand for which nobody waits does not wait either. It may run earlier than that: before a
// task uses its socket or makes another one, and before the program ends or crashes.

import (
	"cmp"
	"context"
	"net"
	"runtime"
	"slices"
	"testing/synctest"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/gid"
	"github.com/rondo-go/rondo/sim/internal/chance"
	"github.com/rondo-go/rondo/sim/internal/choice"
	"github.com/rondo-go/rondo/sim/internal/moment"
	"github.com/rondo-go/rondo/sim/internal/network"
	"github.com/rondo-go/rondo/sim/internal/search"
)

// errands are those of the goroutines of a world.
type errands struct {
	waiting []*errand // in their order; guarded by World.mu, as over is
	inside  []*errand // those let in
	over    bool
}

// An errand is what a goroutine does with the network of a host.
type errand struct {
	driver.Errand
	process   *process
	serial    uint64        // of the socket
	goroutine uint64        // who it is, or nobody
	done      chan struct{} // nil: nobody waits
	err       error
}

// errGone is what a goroutine is told whose program has ended.
var errGone error = gone{}

type gone struct{}

func (gone) Error() string        { return "sim: the program of this goroutine has ended" }
func (gone) Is(target error) bool { return target == net.ErrClosed }

// refusalsMost is how often a program that has ended may ask: then its goroutine ends.
const refusalsMost = 100

// Run is that of driver.Host.
func (p *process) Run(to driver.Errand) (done bool, err error) {
	w := p.world
	if w.base.bubble == nil {
		return false, nil
	}
	e := &errand{Errand: to, process: p}
	if to.On != nil {
		e.serial = network.Serial(to.On)
	}
	if !to.Later {
		e.done = make(chan struct{})
		e.goroutine = gid.ID()
	}
	w.mu.Lock()
	if w.errands.over || p.down.Load() {
		w.mu.Unlock()
		p.refusal()
		return true, errGone
	}
	w.errands.add(e)
	w.mu.Unlock()
	w.base.Wake()
	if to.Later {
		return true, nil
	}
	<-e.done
	if e.err != nil {
		p.refusal()
	}
	return true, e.err
}

// refusal ends the calling goroutine if programs that have ended ask again and again.
func (p *process) refusal() {
	if p.refusals.Add(1) > refusalsMost {
		runtime.Goexit()
	}
}

// leave ends an errand.
func (e *errand) leave(err error) {
	es := &e.process.world.errands
	es.inside = slices.DeleteFunc(es.inside, func(o *errand) bool { return o == e })
	if e.done != nil {
		e.err = err
		close(e.done)
		e.done = nil
	}
}

// add adds an errand behind those that come before it.
func (es *errands) add(e *errand) {
	at, _ := slices.BinarySearchFunc(es.waiting, e, func(o, e *errand) int { return cmp.Or(o.place(e), -1) })
	for at > 0 && e.done != nil && e.place(es.waiting[at-1]) == 0 && e.goroutine < es.waiting[at-1].goroutine {
		at--
	}
	es.waiting = slices.Insert(es.waiting, at, e)
}

// place puts errands of different sockets in an order that does not depend on when they came.
func (e *errand) place(o *errand) int {
	return cmp.Or(byHost(e.process, o.process), cmp.Compare(e.serial, o.serial), cmp.Compare(e.Kind, o.Kind), cmp.Compare(e.At, o.At))
}

func byHost(p, o *process) int {
	return cmp.Or(cmp.Compare(p.number, o.number), cmp.Compare(p.boots, o.boots))
}

// sharesSocket reports whether both are of one socket.
func (e *errand) sharesSocket(o *errand) bool {
	return e.On != nil && e.process == o.process && e.serial == o.serial
}

// admit lets an errand in. It reports whether there was one.
func (w *World) admit() bool {
	w.mu.Lock()
	var first []*errand // of each socket
	for _, e := range w.errands.waiting {
		if h := e.process.host; h.pausedUntil > w.base.now && e.process.killed == nil {
			if !h.resumed.IsSet() {
				w.moments.Put(&h.resumed, h.pausedUntil)
			}
			continue
		}
		if len(first) == 0 || !e.sharesSocket(first[len(first)-1]) {
			first = append(first, e)
		}
	}
	if len(first) == 0 {
		w.mu.Unlock()
		return false
	}
	i := 0
	if len(first) > 1 {
		i = w.run.Choices.At(choice.ForOrder, choice.ErrandOrder).Pick(len(first))
	}
	e := first[i]
	w.errands.waiting = slices.DeleteFunc(w.errands.waiting, func(o *errand) bool { return o == e })
	w.mu.Unlock()
	w.base.step(1)
	e.begin()
	return true
}

// settle runs the errands for which nobody waits.
func (p *process) settle() {
	w := p.world
	if w.base.bubble == nil || p.killed != nil || p.ended {
		return
	}
	var later []*errand
	pick := func(e *errand) bool {
		is := e.Later && e.process == p
		if is {
			later = append(later, e)
		}
		return is
	}
	for _, e := range w.errands.inside {
		pick(e) // its task may not have run yet; doing it twice does no harm
	}
	w.mu.Lock()
	w.errands.waiting = slices.DeleteFunc(w.errands.waiting, pick)
	w.mu.Unlock()
	if len(later) == 0 {
		return
	}
	p.aside(func() {
		for _, e := range later {
			e.Do(p.main)
		}
	})
}

// settleAll is settle of all loops of the program.
func (p *process) settleAll() {
	p.settle()
	for _, o := range p.rest {
		o.settle()
	}
}

// begin hands the errand to the loop of its host.
func (e *errand) begin() {
	p := e.process
	if p.killed != nil || p.ended || p.scope == nil {
		e.leave(errGone)
		return
	}
	es := &p.world.errands
	es.inside = append(es.inside, e)
	err := p.loop.Post(func() {
		if p.scope == nil {
			e.leave(errGone)
			return
		}
		t := rondo.Go(p.scope, func(ctx context.Context) error {
			e.Do(ctx)
			e.leave(nil)
			return nil
		})
		t.SetName("errand")
	})
	if err != nil {
		e.leave(errGone)
	}
}

// refuse ends the errands of a process that has ended.
func (es *errands) refuse(p *process) {
	for _, e := range slices.Clone(es.inside) {
		if e.process == p {
			e.leave(errGone)
		}
	}
}

// hosted runs the program of the loop, beside the errands of its goroutines.
func (p *process) hosted(ctx context.Context) error {
	if p.world.base.bubble == nil {
		return p.program(ctx)
	}
	var err error
	_ = rondo.Group(ctx, func(s *rondo.Scope) error {
		p.scope = s
		defer func() { p.scope = nil }()
		err = p.program(ctx)
		p.settleAll()
		s.Cancel(errGone)
		return nil
	})
	return err
}

// around lets goroutines go on: with an errand, or with time. It reports whether there was
// anything; if not, it is time for the next event.
func (w *World) around() bool {
	if w.admit() {
		return true
	}
	select {
	case <-w.base.wakeup:
		return true
	default:
	}
	d := int64(goroutinesMost)
	if w.limit < never {
		d = w.limit - w.base.now + 1
	}
	if m, at := w.moments.First(); m != nil {
		d = min(d, at-w.base.now)
	}
	return d > 0 && w.elapse(d)
}

// elapse lets the clock of the bubble go on for d, or until a goroutine wakes a host, and reports
// whether one has.
func (w *World) elapse(d int64) bool {
	timer := time.NewTimer(time.Duration(d))
	defer timer.Stop()
	expired := false
	select {
	case <-w.base.wakeup:
	case <-timer.C:
		expired = true
	}
	w.base.settle()
	if w.base.bubble.rests%collectEvery == 0 && chance.Collect(collectTimes) {
		w.run.Trace.ByChance()
	}
	w.base.now = moment.Origin + int64(time.Since(w.base.bubble.began))
	w.run.Shown.Store(w.base.now - moment.Origin)
	return !expired
}

// outlast lets goroutines go on for which programs wait that were killed, when the test has ended
// and no host can run. It reports false, and fails the run, if nothing comes from them for long.
func (w *World) outlast() bool {
	if w.admit() || w.elapse(int64(hangTime)) {
		return true
	}
	w.fail(search.Outcome{Err: errNothingComes})
	return false
}

// collectEvery is how often the goroutines rest until garbage is looked for.
const collectEvery = 64

// collectTimes is how much more garbage there may be within a run than before it.
const collectTimes = 8

// dismiss tells all goroutines that the run has ended, and reports whether the bubble has no more
// of them than before.
func (w *World) dismiss(before int) bool {
	w.mu.Lock()
	w.errands.over = true // no errand comes any more
	w.mu.Unlock()
	for _, e := range w.errands.waiting {
		e.leave(errGone)
		synctest.Wait()
	}
	for _, d := range []time.Duration{0, time.Second, 10 * time.Second, time.Minute, 5 * time.Minute} {
		time.Sleep(d)
		synctest.Wait()
		if bubbled() <= before {
			return true
		}
	}
	return false
}
