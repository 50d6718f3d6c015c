package sim

// A Config says what Test, Explore and Cluster try, and how much.
//
// The law: the fields that say how much do not change what one run does, so a seed or an
// order means the same with each number. Exact, Late, KeepGoing, Once, Goroutines, Network,
// Faults and Limit say what a run is like.

import (
	"cmp"
	"fmt"
	"time"

	"github.com/rondo-go/rondo/sim/internal/choice"
	"github.com/rondo-go/rondo/sim/internal/fault"
	"github.com/rondo-go/rondo/sim/internal/search"
)

// A Config says what [Config.Test], [Config.Explore] and [Config.Cluster] try, and how much.
// The zero value is ready to use and has the defaults. They panic if a field is negative.
type Config struct {
	// Seeds is how many seeds Test tries: those from 1 on. 0 means 20. The
	// variable RONDO_SEED takes precedence over it.
	Seeds int

	// SeedsShort is the same with -short. 0 means 5, or Seeds if that is fewer.
	SeedsShort int

	// For is the real time for which Test goes on with further seeds after the first ones. 0
	// means not at all. The environment variable RONDO_FOR, as "1s", does the same for all tests.
	For time.Duration

	// Goroutines runs each loop together with the goroutines around it, those that the body or a
	// library starts: time.Now, time.Sleep, timers and contexts of the standard library are on
	// the simulated clock, and a task goes on only when all goroutines are blocked. So the server
	// and the client of net/http, and whatever else needs no descriptors, can be a part of a run
	// that a seed repeats. Results of Offload and Receive that come at the same instant are taken
	// in an order that the seed chooses. What goroutines do to each other without the loop, at
	// one instant, remains the runtime's choice, and so does the order of Posts of several
	// goroutines. All goroutines must have ended when the run ends. It needs a *testing.T, and is
	// not for Explore. Package testing/synctest does this.
	//
	// In a Cluster goroutines use the network too: socket.Dial and Listen with the ctx of
	// a host, and all methods of their results. The process then has one processor, and
	// the seed makes the runtime's own choices: which ready case a select takes, the
	// order of a map, the numbers of math/rand/v2. Goroutines of a host that crashes get
	// errors from the network; no goroutine can be killed.
	Goroutines bool

	// MaxOrders is how many orders Explore tries before it fails the test. 0 means
	// 100,000.
	MaxOrders int

	// Deviations bounds how often an order that Explore tries may depart from the order of a real
	// loop. Most bugs need few such departures. 0 means any number: all orders are tried.
	Deviations int

	// Late makes Explore choose also when each sleep of a loop ends: at its first timer, or Late
	// after it. So timers that are at most Late apart can fire in either order. 0 means that each
	// timer is exact. Then Explore cannot find a bug that needs a late timer; Test may.
	Late time.Duration

	// Exact keeps everything on time in all seeds, and not only in the first 20: no ready task is
	// passed over and no timer fires late, so that times can be compared exactly and turns can be
	// counted. And a task whose operations need not wait lets other tasks run only after 128
	// operations in a row, and not where the seed says. The environment variable RONDO_EXACT=1
	// does the same for all tests.
	Exact bool

	// Once runs each seed once and compares nothing. Set it for hosts with goroutines of a
	// library that a seed does not always repeat, such as those of a Cluster on other systems
	// than Linux. A failure is found all the same, but its seed may need several tries to show
	// it again.
	Once bool

	// KeepGoing lets a run go on after the body has failed the test, as with Error, to its
	// end. Without it the first failure ends the run: all that still waits is cancelled.
	// A test that had failed before it called package sim goes on in any case.
	KeepGoing bool

	// MaxSteps is how many steps one run may take. A run that takes more fails the
	// test with "livelock". A step is a choice or a jump of the clock; where there
	// is nothing to choose from, steps are counted roughly. 0 means 10,000,000.
	MaxSteps int

	// Payload puts a message that hosts send, or that they write to a Disk, into words for the
	// picture of a failure; if it returns "", or is nil, the picture has the bytes in quotes. It
	// must not wait, and must not keep data. Values that are put into a Queue are described by
	// their String method.
	Payload func(data []byte) string

	// Network, Faults and Limit are for Cluster alone: with one of them Test and Explore panic.
	// Limit is how much virtual time a run may take; 0 means any, but a body that waits for an
	// hour with no timer of its own has failed.
	Network Network
	Faults  Faults
	Limit   time.Duration
}

// The defaults of a Config.
const (
	defaultSeeds      = 20
	defaultSeedsShort = 5
	defaultMaxOrders  = 100_000
	defaultMaxSteps   = 10_000_000
)

// maxSteps is what a Config without MaxSteps has. Only tests change it.
var maxSteps = defaultMaxSteps

// withDefaults returns c with every zero replaced. call is for the panic.
func (c Config) withDefaults(call string) Config {
	for _, f := range []struct {
		name  string
		value *int
		zero  int
	}{
		{"Seeds", &c.Seeds, defaultSeeds},
		{"SeedsShort", &c.SeedsShort, 0},
		{"MaxOrders", &c.MaxOrders, defaultMaxOrders},
		{"Deviations", &c.Deviations, 0},
		{"MaxSteps", &c.MaxSteps, maxSteps},
	} {
		if *f.value < 0 {
			panic(fmt.Sprintf("sim: %s with Config.%s = %d: use a positive number, or 0 for the default", call, f.name, *f.value))
		}
		if *f.value == 0 {
			*f.value = f.zero
		}
	}
	if c.Late < 0 {
		panic(fmt.Sprintf("sim: %s with Config.Late = %v: use a positive duration, or 0 for exact timers", call, c.Late))
	}
	if c.SeedsShort == 0 {
		c.SeedsShort = min(defaultSeedsShort, c.Seeds)
	}
	return c
}

// settings returns how much is tried.
func (c Config) settings(call string) search.Settings {
	c = c.withDefaults(call)
	return search.Settings{
		Seeds: c.Seeds, SeedsShort: c.SeedsShort, For: c.For, MaxOrders: c.MaxOrders, Deviations: c.Deviations,
		MaxSteps: c.MaxSteps, Exact: c.Exact, Late: c.Late, KeepGoing: c.KeepGoing, Once: c.Once,
		Payload: c.Payload,
	}
}

// A Network describes the links between hosts. A zero field is chosen by the seed: in some runs
// all is quiet and fast, in others it is not.
type Network struct {
	Latency time.Duration // the time that each message takes at least
	Jitter  time.Duration // the most that is usually added to Latency
	Tail    time.Duration // the most that is added for one message in 1,000

	// Bandwidth: bytes a second in each direction of a pair of hosts; 0 means no limit.
	Bandwidth int

	// Buffer: bytes of a connection in each direction that are on the way or not read; 0 means
	// 64 KiB to 256 KiB.
	Buffer int

	ShortReads float64 // the fraction of reads and writes that move less than they could
	PacketLoss float64 // the fraction of messages that are lost; TCP sends them again
	Reorder    float64 // the fraction of datagrams that are late, so that others overtake them
	Duplicate  float64 // the fraction of datagrams that arrive twice

	// Corrupt: the fraction of messages that arrive with a wrong bit, as on a link without
	// checksums; 0 means none.
	Corrupt float64
}

// Faults says how often faults strike: how many in a second of virtual time, in the whole
// cluster. Each seed has only some of the kinds, and one seed in four has none, because some bugs
// show only when little else happens. The host "test" has no faults, nor have those of
// [Host.Spare]. [DefaultFaults] returns rates that a right program of several hosts survives.
type Faults struct {
	// Partition: some hosts are cut off from the others, in one or both directions, for up to
	// 10 s.
	Partition float64

	// Link: two hosts do not reach each other, in one or both directions, or now and then, or
	// late, for up to 10 s.
	Link float64

	// Crash: a host crashes, also between two writes to its disk, and restarts within 5 s.
	Crash float64

	PowerFail float64 // a host loses power, also in the middle of a Sync, and restarts within 5 s

	// Outage: all hosts lose power at once, or several do, and restart within 5 s; MaxDown does
	// not limit it.
	Outage float64

	Pause float64 // a host stands still for up to 3 s

	// Slow: a host's processor or its disk is slow, by up to 64 ms each time, for up to 10 s.
	Slow float64

	// A host's clock jumps by up to 10 s, or runs faster or slower by up to 500 ppm. Each has a
	// rate of its own from the beginning.
	ClockSkew float64

	// A host's disk fails, is full, also in the middle of a write, or fails one read in four, for
	// up to 2 s.
	Disk float64

	// Faults that few programs are built to survive. DefaultFaults has none of them.
	BitRot           float64 // a bit of synced data flips
	LostWrite        float64 // a write is confirmed, also by Sync, but its bytes are not stored
	MisdirectedWrite float64 // a write goes to a wrong sector, of any file

	// LyingSync: Sync and SyncDir of a host's disk succeed but make nothing durable. It lasts up
	// to 10 s.
	LyingSync float64

	// TornRename: for up to 10 s a power failure may keep any subset of the changes of names, and
	// only half of a rename.
	TornRename float64

	Descriptors float64 // a host can open no socket and no file, for up to 10 s

	// WrongNames: a host gets an error, or another host's address, for each name, for up
	// to 10 s.
	WrongNames float64

	// MaxDown is how many hosts may be down or cut off at once, and how many have disks that were
	// damaged in a run. 0 means fewer than half of the hosts, but at least one.
	MaxDown int
	Longest Longest
}

// Longest says how long faults last at most. A zero field has the default.
type Longest struct {
	Partition time.Duration // of a Partition, and of a Link; 0 means 10 s
	Down      time.Duration // time until the restart after a Crash, a PowerFail or an Outage; 0 means 5 s
	Pause     time.Duration // 0 means 3 s
	Slow      time.Duration // 0 means 10 s
	ClockJump time.Duration // how far a clock jumps; 0 means 10 s
	Disk      time.Duration // 0 means 2 s
	Other     time.Duration // of LyingSync, TornRename, Descriptors and WrongNames; 0 means 10 s
}

// DefaultFaults returns the faults that a program of several hosts should survive if it keeps its
// data on disks: all that a careful reading of the manuals warns of. It has no fault that breaks
// a promise of the disk, such as a Sync that lies, and neither Descriptors nor WrongNames.
func DefaultFaults() Faults {
	return Faults{
		Partition: 0.1, Link: 0.1, Crash: 0.1, PowerFail: 0.2, Outage: 0.05,
		Pause: 0.1, Slow: 0.1, ClockSkew: 0.2, Disk: 0.05,
	}
}

// kinds are the names of the rates and the most that a fault of each kind lasts.
func (f *Faults) kinds() [choice.Faults]faultKind {
	l := &f.Longest
	partition, down, other := cmp.Or(l.Partition, 10*time.Second), cmp.Or(l.Down, 5*time.Second), cmp.Or(l.Other, 10*time.Second)
	return [choice.Faults]faultKind{
		choice.Partition:        {"Partition", f.Partition, partition},
		choice.Crash:            {"Crash", f.Crash, down},
		choice.PowerFail:        {"PowerFail", f.PowerFail, down},
		choice.Pause:            {"Pause", f.Pause, cmp.Or(l.Pause, 3*time.Second)},
		choice.ClockSkew:        {"ClockSkew", f.ClockSkew, cmp.Or(l.ClockJump, 10*time.Second)},
		choice.DiskFault:        {"Disk", f.Disk, cmp.Or(l.Disk, 2*time.Second)},
		choice.Outage:           {"Outage", f.Outage, down},
		choice.LinkFault:        {"Link", f.Link, partition},
		choice.Slow:             {"Slow", f.Slow, cmp.Or(l.Slow, 10*time.Second)},
		choice.BitRot:           {"BitRot", f.BitRot, other},
		choice.LostWrite:        {"LostWrite", f.LostWrite, other},
		choice.MisdirectedWrite: {"MisdirectedWrite", f.MisdirectedWrite, other},
		choice.LyingSync:        {"LyingSync", f.LyingSync, other},
		choice.TornRename:       {"TornRename", f.TornRename, other},
		choice.NoDescriptors:    {"Descriptors", f.Descriptors, other},
		choice.WrongNames:       {"WrongNames", f.WrongNames, other},
	}
}

// A faultKind is what a Faults says of one kind.
type faultKind struct {
	name    string
	rate    float64
	longest time.Duration
}

// settings returns what the nemesis must know.
func (f *Faults) settings() fault.Settings {
	s := fault.Settings{MaxDown: f.MaxDown}
	for i, k := range f.kinds() {
		s.Rates[i], s.Longest[i] = k.rate, k.longest
	}
	return s
}

// checkAlone panics if a field is set that a call without a cluster cannot obey.
func (c *Config) checkAlone(call string) {
	for _, f := range []struct {
		name string
		set  bool
	}{{"Network", c.Network != Network{}}, {"Faults", c.Faults != Faults{}}, {"Limit", c.Limit != 0}} {
		if f.set {
			panic(fmt.Sprintf("sim: %s with Config.%s: that is for Cluster alone; call Cluster, or use a Config without it", call, f.name))
		}
	}
}

// checkRates panics if a rate makes no sense.
func (c *Config) checkRates() {
	for _, k := range c.Faults.kinds() {
		if !(k.rate >= 0 && k.rate <= 1000) {
			panic(fmt.Sprintf("sim: Cluster with Config.Faults.%s = %v: it is a number of faults a second, from 0 to 1000", k.name, k.rate))
		}
		if k.longest < 0 {
			panic(fmt.Sprintf("sim: Cluster with a Config.Faults.Longest of %v for %s: use a positive duration, or 0 for the default", k.longest, k.name))
		}
	}
	n := &c.Network
	for _, r := range []struct {
		name string
		part float64
	}{{"ShortReads", n.ShortReads}, {"PacketLoss", n.PacketLoss}, {"Reorder", n.Reorder}, {"Duplicate", n.Duplicate}, {"Corrupt", n.Corrupt}} {
		if !(r.part >= 0 && r.part <= 1) {
			panic(fmt.Sprintf("sim: Cluster with Config.Network.%s = %v: it is a part of all messages, from 0 to 1", r.name, r.part))
		}
	}
	if n.Latency < 0 || n.Jitter < 0 || n.Tail < 0 || n.Bandwidth < 0 || n.Buffer < 0 || c.Limit < 0 || c.Faults.MaxDown < 0 {
		panic("sim: Cluster with a negative field in Config: use a positive number, or 0 for the default")
	}
}
