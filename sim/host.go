package sim

// This file has Host: a machine of a cluster. It has an address, a disk and a clock,
// which stay, and a process, which does not.

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/rondo-go/rondo/internal/kernel"
)

// A Host is a machine of a cluster. Its loop runs the boot function that [World.Host]
// got, and is a rondo.Run like any other: package socket works in it, [Disk] is its
// disk, and rondo.Now its clock. The methods of a Host never suspend. They may be called
// by tasks of any host of the World, and by nobody else.
type Host struct {
	world   *World
	number  uint64
	name    string
	addr    netip.Addr
	boot    func(ctx context.Context) error
	boots   uint64
	process *process // nil: it is down, or boot has returned
	machine bool     // the machine is up: it answers on the network
	outages int      // how often it has lost power
	failed  bool     // it was crashed or lost power, and has not been restarted
	disk    *disk
	loop    *Link // from the host to itself

	events  uint32 // what has happened to it so far; see nemesis.go
	eventAt int64  // when the last of it did
	strikes uint64 // how many faults are tied to that

	pausedUntil int64
	resumed     moment

	offset time.Duration // of the wall clock
	ppm    int           // the rate of the clock
	ahead  int64         // of the clock, since ppm was set
	setAt  int64         // the world's clock then
}

// Host adds a host, which boots at once: boot runs as the main task of a new loop, and
// runs again after each [Host.Restart], with nothing of its earlier life but the disk.
// So boot must make anew what it needs. Variables that it shares with the test survive
// a crash; a real program's do not.
//
// If boot returns nil, the program on the host has ended and its connections are
// closed. An error of boot, or a panic, fails the test, unless the host was crashed
// before. Names are resolved by the hosts' Dialers. Host panics if the name is taken.
func (w *World) Host(name string, boot func(ctx context.Context) error) *Host {
	if boot == nil {
		panic(fmt.Sprintf("sim: World.Host(%q) with a nil boot function: it needs the program that the host runs", name))
	}
	if name == "" || w.byName[name] != nil {
		panic(fmt.Sprintf("sim: World.Host(%q): use a name that no other host has", name))
	}
	h := w.newHost(name, boot)
	if !w.inert() {
		h.start()
	}
	return h
}

func (w *World) newHost(name string, boot func(ctx context.Context) error) *Host {
	n := uint64(len(w.hosts) + 1)
	h := &Host{
		world: w, number: n, name: name, boot: boot, machine: true,
		addr: netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}),
	}
	h.eventAt = w.base.now
	h.disk = newDisk(h)
	h.resumed.what = (*resumption)(h)
	h.loop = &Link{from: h, to: h}
	w.hosts = append(w.hosts, h)
	w.byName[name], w.byAddr[h.addr] = h, h
	return h
}

// HostOf returns the host on whose loop ctx is, or nil if it is not of a cluster. It
// never suspends.
func HostOf(ctx context.Context) *Host {
	if l := kernel.Of(ctx); l != nil {
		if p, ok := l.Driver().(*process); ok {
			return p.host
		}
	}
	return nil
}

// Name returns the name of the host.
func (h *Host) Name() string { return h.name }

// Addr returns the address of the host, which it has after a restart too.
func (h *Host) Addr() netip.Addr { return h.addr }

// Up reports whether the program runs on the host.
func (h *Host) Up() bool { return h.process != nil && h.process.killed == nil && !h.process.ended }

// String returns the name of the host.
func (h *Host) String() string { return h.name }

// errCrash and errPower are why the tasks of a host that failed were cancelled.
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
	h.world.log(hosted, h, nil, "crash", 0)
	h.failed = true
	p := h.process
	p.hangUp()
	p.closeAll()
	p.kill(errCrash)
}

// PowerFail turns the machine off. Its connections are lost, and its peers are sent
// nothing; what has left the machine before still arrives. What was not synced to its
// disk may be lost: the seed decides what is, in pieces of 512 bytes, and whether renamed
// and new files are there without SyncDir. The program ends as in Crash.
func (h *Host) PowerFail() {
	if h.spared("PowerFail") || !h.machine {
		return
	}
	h.world.log(hosted, h, nil, "power failure", 0)
	h.machine, h.failed = false, true
	h.outages++
	if p := h.process; p != nil && !p.ended {
		p.hangUp()
		p.dropAll()
		p.kill(errPower)
	}
	h.disk.powerFail()
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
	h.world.log(hosted, h, nil, "restart", 0)
	h.machine, h.failed = true, false
	h.pausedUntil = 0
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
	w.log(hosted, h, nil, "pause", int(d/time.Millisecond))
	h.pausedUntil = max(h.pausedUntil, w.base.now+int64(d))
	if p := h.process; p != nil && p.queued && p.killed == nil && p != w.running {
		w.ready = slices.DeleteFunc(w.ready, func(o *process) bool { return o == p })
		p.queued = false
		w.makeReady(p)
	}
}

// A resumption is a Host when its pause ends.
type resumption Host

func (r *resumption) happen() {
	h := (*Host)(r)
	if h.pausedUntil > h.world.base.now {
		h.world.moments.put(&h.resumed, h.pausedUntil)
		return
	}
	if p := h.process; p != nil && p.late {
		p.late = false
		h.world.makeReady(p)
	}
}

// SetClock makes the host's wall clock show offset more than the world's from now on,
// and its clock run faster by ppm millionths, or slower. Timers and time-outs follow the
// rate, and not the offset.
func (h *Host) SetClock(offset time.Duration, ppm int) {
	if ppm <= -1e6 || ppm > 1e9 {
		panic(fmt.Sprintf("sim: Host.SetClock with a rate of %d ppm: it is above -1,000,000, at which the clock would stand still", ppm))
	}
	w := h.world
	if w.inert() {
		return
	}
	w.log(hosted, h, nil, "clock", ppm)
	now := h.local(w.base.now)
	h.offset, h.ppm, h.setAt, h.ahead = offset, ppm, w.base.now, now-w.base.now
	if p := h.process; p != nil && p.polling && p.killed == nil {
		w.makeReady(p) // it sets its timer anew
	}
}

// Signal sends a signal to the program on the host, where package signals catches it.
// One that is not caught ends the program, as Crash does, unless it is one that does
// nothing by default: SIGCHLD, SIGCONT, SIGURG and SIGWINCH. os.Kill cannot be caught.
func (h *Host) Signal(s os.Signal) {
	if h.world.inert() || !h.Up() {
		return
	}
	h.world.log(hosted, h, nil, "signal "+s.String(), 0)
	p := h.process
	if (s == os.Kill || !p.notify(s) && !slices.Contains(ignored, s)) && !h.spared("Signal") {
		h.Crash()
	}
}

// spared reports whether nothing can happen to the host any more. It panics if the host
// is the one of the test.
func (h *Host) spared(call string) bool {
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

// Notify is that of driver.Signals.
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
		i := 0
		if n > 1 {
			i = p.world.run.choices.at(forOrder, signalOrder+p.host.number).pick(n)
		}
		d := p.signals[i]
		p.signals = slices.Delete(p.signals, i, i+1)
		if !d.to.over {
			d.to.came(d.sig)
		}
	}
}
