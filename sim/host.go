package sim

// A Host is a machine of a cluster. Its address, disk and clock stay; its process does not.
//
// The law: only what a host sees passes through its clock, which may be wrong. The world itself
// has one clock, and moments are in the order of that one.

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/internal/nocopy"
	"github.com/rondo-go/rondo/sim/internal/choice"
	"github.com/rondo-go/rondo/sim/internal/disk"
	"github.com/rondo-go/rondo/sim/internal/fault"
	"github.com/rondo-go/rondo/sim/internal/moment"
	"github.com/rondo-go/rondo/sim/internal/network"
	"github.com/rondo-go/rondo/sim/internal/record"
)

// A Host is a machine of a cluster. Its loop runs the boot function that [World.Host]
// got, and is a rondo.Run like any other: package socket works in it, [Disk] is its
// disk, and rondo.Now its clock. The methods of a Host never suspend. They may be called
// by tasks of any host of the World, and by nobody else.
type Host struct {
	_       nocopy.Field
	world   *World
	number  uint64
	name    string
	boot    func(ctx context.Context) error
	process *process      // the last one, which may have ended; nil: none was ever begun
	node    *network.Node // the host on the network
	failed  bool          // it was crashed or lost power, and has not been restarted
	disk    *disk.Disk

	target *fault.Target // of faults; nil: it never fails

	slow        time.Duration // how late it begins whatever it has to do
	pausedUntil int64
	resumed     moment.Moment

	clock
}

// A lane is what has a number in a run, from 1 on, and a column in its picture: a host, or a
// further loop of the program on one.
type lane struct {
	number  uint64
	name    string
	host    *Host
	boots   uint64 // how many processes it has had
	idle    bool   // of a further loop: its process has ended
	history uint64 // of what its processes have seen, in an exploration
}

// lane returns that of the host itself.
func (h *Host) lane() *lane { return h.world.lanes[h.number-1] }

// loops returns the loops of the program that runs on the host.
func (h *Host) loops() []*process {
	if h.process == nil {
		return nil
	}
	return append([]*process{h.process}, h.process.rest...)
}

// Host adds a host, which boots at once: boot runs as the main task of a new loop, and runs again
// after each [Host.Restart], with nothing of its earlier life but the disk. So boot must make
// everything that it needs. Variables that it shares with the test survive a crash; a real
// program's do not.
//
// If boot returns nil, the program on the host has ended and its connections are
// closed. An error of boot, or a panic, fails the test, unless the host was crashed
// before. Names are resolved by the hosts' Dialers. Host panics if the name is taken.
func (w *World) Host(name string, boot func(ctx context.Context) error) *Host {
	if boot == nil {
		panic(fmt.Sprintf("sim: World.Host(%q) with a nil boot function: it needs the program that the host runs", name))
	}
	if name == "" || w.net.Named(name) != nil {
		panic(fmt.Sprintf("sim: World.Host(%q): use a name that no other host has", name))
	}
	h := w.newHost(name, boot)
	if !w.inert() {
		h.start()
	}
	return h
}

func (w *World) newHost(name string, boot func(ctx context.Context) error) *Host {
	n := uint64(len(w.lanes) + 1)
	h := &Host{
		world: w, number: n, name: name, boot: boot, node: w.net.Add(n, name),
	}
	w.lanes = append(w.lanes, &lane{number: n, name: name, host: h})
	h.disk = disk.Of(w.run.Choices, n, w.net.Profile.Calm)
	if n > 1 { // the first host is that of the test, which never fails
		h.target = w.faults.Add(fault.Target{
			Host: h, Number: n, Node: h.node, Disk: h.disk, Clock: func() (time.Duration, int) { return h.offset, h.ppm },
		})
	}
	h.resumed.What = (*resumption)(h)
	w.hosts = append(w.hosts, h)
	return h
}

// HostOf returns the host on whose loop ctx is, or nil if it is not of a cluster. It
// never suspends.
func HostOf(ctx context.Context) *Host {
	if p := processOf(ctx); p != nil {
		return p.host
	}
	return nil
}

// processOf returns the process on whose loop ctx is, or nil.
func processOf(ctx context.Context) *process {
	if l := kernel.Of(ctx); l != nil {
		if p, ok := l.Driver().(*process); ok {
			return p
		}
	}
	return nil
}

// Name returns the name of the host.
func (h *Host) Name() string {
	h.mustBe("Name")
	return h.name
}

// Addr returns the address of the host, which it has after a restart too.
func (h *Host) Addr() netip.Addr {
	h.mustBe("Addr")
	return h.node.Addr
}

// Up reports whether the program runs on the host.
func (h *Host) Up() bool {
	h.mustBe("Up")
	return h.process != nil && h.process.killed == nil && !h.process.ended
}

// String returns the name of the host.
func (h *Host) String() string {
	h.mustBe("String")
	return h.name
}

// mustBe panics if HostOf has found no host, or if the host is of no cluster.
func (h *Host) mustBe(call string) {
	if h == nil || h.world == nil {
		panic("sim: Host." + call + " of nil, which HostOf returns for a ctx of no cluster, or of a zero Host: use what World.Host has returned")
	}
}

// errCrash and errPower are the causes with which the tasks of a failed host are cancelled.
var (
	errCrash = errors.New("sim: the host has crashed")
	errPower = errors.New("sim: the host has lost power")
)

// Crash kills the program on the host, as kill -9 does. The system goes on: it closes
// the connections, and what was written to the disk is kept. Deferred calls of the
// program run, because Go has no other way to end a goroutine, but nothing that they
// do reaches the network or the disk; they may still change variables and set Futures
// that the test can see. A host that is down stays so.
func (h *Host) Crash() {
	if h.spared("Crash") || !h.Up() {
		return
	}
	h.world.log(record.Hosted, h, nil, "crash", 0)
	h.failed = true
	h.process.crash(errCrash)
}

// PowerFail turns the machine off. Its connections are lost, and its peers are sent nothing; what
// has left the machine before still arrives. Data that was not synced to its disk may be lost:
// the seed decides which, in pieces of 512 bytes, and whether renamed and new files are there
// without SyncDir. The program ends as in Crash.
func (h *Host) PowerFail() {
	if h.spared("PowerFail") || !h.node.Up {
		return
	}
	h.world.log(record.Hosted, h, nil, "power failure", 0)
	h.node.Up, h.failed = false, true
	h.node.Outages++
	if p := h.process; p != nil && !p.ended {
		p.vanish(errPower)
	}
	h.disk.PowerFail()
}

// Restart turns the host on again, if its power has failed, and runs boot in a new
// loop. A program that runs is crashed first.
func (h *Host) Restart() {
	if h.spared("Restart") {
		return
	}
	if h.Up() {
		h.Crash()
	}
	h.world.log(record.Hosted, h, nil, "restart", 0)
	h.node.Up, h.failed = true, false
	h.pausedUntil = 0
	h.world.moments.Drop(&h.resumed) // else the end of a later pause would wait for that of this one
	h.start()
}

// Pause stops the program for d, as a long garbage collection or a virtual machine
// that is moved does. Its clock goes on, and the system takes what comes from the
// network meanwhile.
func (h *Host) Pause(d time.Duration) {
	if h.spared("Pause") {
		return
	}
	w := h.world
	w.log(record.Hosted, h, nil, "pause", int(d/time.Millisecond))
	h.pausedUntil = max(h.pausedUntil, moment.After(w.base.now, d))
	for _, p := range h.loops() {
		if p.queued && p.killed == nil && p != w.running {
			w.ready = slices.DeleteFunc(w.ready, func(o *process) bool { return o == p })
			p.queued = false
			w.makeReady(p)
		}
	}
}

// A resumption is a Host when its pause ends.
type resumption Host

func (r *resumption) Happen() {
	h := (*Host)(r)
	if h.pausedUntil > h.world.base.now {
		h.world.moments.Put(&h.resumed, h.pausedUntil)
		return
	}
	for _, p := range h.loops() {
		if p.late {
			p.late = false
			h.world.line(p)
		}
	}
}

// Slow makes the processor of the host slow, or quick again with 0: each time the program has
// something to do, it begins that much later. World.Calm makes it quick.
func (h *Host) Slow(each time.Duration) {
	if h.spared("Slow") {
		return
	}
	h.world.log(record.Hosted, h, nil, "slow", int(each/time.Millisecond))
	h.slow = max(0, each)
}

// SetDescriptors limits how many sockets the program on the host may have open. One more fails
// with syscall.EMFILE, and so does Accept. 0 means any number. The limit lasts until the next
// call.
func (h *Host) SetDescriptors(most int) {
	if !h.spared("SetDescriptors") {
		h.node.MaxDescriptors = max(0, most)
	}
}

// Spare keeps the faults of Config.Faults from the host from now on, as they are kept from the
// host "test". Its links are cut only by the test. Faults that the test itself causes, such as
// Crash, strike it all the same.
func (h *Host) Spare() {
	h.mustBe("Spare")
	if !h.world.inert() && h.target != nil {
		h.world.faults.Spare(h.target)
	}
}

// SetClock makes the host's wall clock show offset more than the world's from now on, and its
// clock run faster by ppm millionths, or slower. Timers, time-outs and differences of times
// follow the rate and not the offset, because they use the monotonic clock, as in package time.
// The wall clock shows in Unix, Format and Round(0), and in differences to times from elsewhere.
func (h *Host) SetClock(offset time.Duration, ppm int) {
	h.mustBe("SetClock")
	if ppm <= -1e6 || ppm > 1e9 {
		panic(fmt.Sprintf("sim: Host.SetClock with a rate of %d ppm: it is above -1,000,000, at which the clock would stand still", ppm))
	}
	w := h.world
	if w.inert() {
		return
	}
	w.log(record.Hosted, h, nil, "clock", ppm)
	h.set(w.base.now, offset, ppm)
	for _, p := range h.loops() {
		if p.polling {
			w.makeReady(p) // it sets its timer anew
		}
	}
}

// Signal sends a signal to the program on the host, where package signals catches it.
// One that is not caught ends the program, as Crash does, unless it is one that does
// nothing by default: SIGCHLD, SIGCONT, SIGURG and SIGWINCH. os.Kill cannot be caught.
func (h *Host) Signal(s os.Signal) {
	h.mustBe("Signal")
	if h.world.inert() || !h.Up() {
		return
	}
	h.world.log(record.Hosted, h, nil, "signal "+s.String(), 0)
	caught := slices.Contains(ignored, s)
	for _, p := range h.loops() {
		if s != os.Kill && p.notify(s) {
			caught = true
		}
	}
	if !caught && !h.spared("Signal") {
		h.Crash()
	}
}

// spared reports whether nothing can happen to the host any more. It panics if the host
// is the one of the test, or none.
func (h *Host) spared(call string) bool {
	h.mustBe(call)
	if h == h.world.test {
		panic("sim: Host." + call + ` of the host "test", which never fails: call it on another host`)
	}
	return h.world.inert()
}

// A handler is a Notify of a process.
type handler struct {
	sigs []os.Signal // none: all
	came func(s os.Signal)
	over bool
}

// Notify is that of driver.Host.
func (p *process) Notify(came func(s os.Signal), sigs ...os.Signal) (stop func()) {
	n := &handler{sigs: sigs, came: came}
	p.handlers = append(p.handlers, n)
	return func() {
		n.over = true
		p.handlers = slices.DeleteFunc(p.handlers, func(o *handler) bool { return o == n })
	}
}

// notify hands a signal to those who catch it. They run on the loop of the host.
func (p *process) notify(s os.Signal) (caught bool) {
	for _, n := range p.handlers {
		if len(n.sigs) == 0 || slices.Contains(n.sigs, s) {
			caught = true
			p.signals = append(p.signals, delivery{n, s})
		}
	}
	if caught {
		p.world.makeReady(p)
	}
	return caught
}

// A delivery is a signal on its way to a handler.
type delivery struct {
	to  *handler
	sig os.Signal
}

// deliverSignals runs the handlers. It is called by Poll. Of signals that have come by then any
// may be first: a system keeps which ones are pending, and no order.
func (p *process) deliverSignals() {
	for n := len(p.signals); n > 0; n = len(p.signals) {
		i := p.world.run.Choices.At(choice.ForOrder, choice.SignalOrder+p.number).Pick(n)
		d := p.signals[i]
		p.signals = slices.Delete(p.signals, i, i+1)
		if !d.to.over {
			d.to.came(d.sig)
		}
	}
}

// Now reads the clock of the host.
func (p *process) Now() int64 {
	if p.killed != nil {
		return p.own
	}
	return p.host.local(p.world.base.now)
}

// Time returns what the host's clocks show at an instant.
func (p *process) Time(instant int64) time.Time {
	return withMonotonic(p.wall(instant), instant)
}

// wall returns what the host's clock on the wall shows at an instant.
func (p *process) wall(instant int64) time.Time {
	return p.world.base.Time(instant).Add(p.host.offset)
}

// Instant returns the instant of a time: by its monotonic reading if it has one of a host, else
// by the wall.
func (p *process) Instant(t time.Time) int64 {
	if at, ok := instantOf(t); ok {
		return at
	}
	return p.world.base.Instant(t.Round(0).Add(-p.host.offset))
}
