package sim

// A Config says what Test, Explore and Cluster try, and how much.
//
// The law: the fields that say how much do not change what one run does, so a seed or an
// order means the same with each number. Exact, Late, KeepGoing, Once, Goroutines, Network,
// Faults and Limit say what a run is like.

import (
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

	// For is for how much real time Test goes on with further seeds after the first
	// ones. 0 means not at all. The environment variable RONDO_FOR, as "1s", does the
	// same for all tests.
	For time.Duration

	// Goroutines runs each loop together with the goroutines around it, those that the
	// body or a library starts: time.Now, time.Sleep, timers and contexts of the
	// standard library are on the simulated clock, and a task goes on only when all
	// goroutines are blocked. So the server and the client of net/http, and whatever
	// else needs no descriptors, can be a part of a run that a seed repeats. Results of
	// Offload and Receive that come at the same instant are taken in an order that the
	// seed chooses. What goroutines do to each other without the loop, at one instant,
	// remains the runtime's choice, and so does the order of Posts of several
	// goroutines. All goroutines must have ended when the run ends. It needs a
	// *testing.T, and is not for Explore. It is package testing/synctest that does this.
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

	// Deviations is how many choices that are not the first an order of Explore has at
	// most. Most mistakes need few. 0 means any number: all orders are tried.
	Deviations int

	// Late is a choice that Explore makes besides the order of what is ready: each sleep of a
	// loop ends with its first timer, or so much later, so that timers that are at most Late
	// apart can fire in either order. 0 means that each timer is exact: what only a late timer
	// can break is then not found by Explore, and may be by Test.
	Late time.Duration

	// Exact keeps everything on time in all seeds, and not only in the first 20: no
	// ready task is passed over and no timer fires late, so that times can be
	// compared exactly and turns can be counted. The environment variable
	// RONDO_EXACT=1 does the same for all tests.
	Exact bool

	// Once runs each seed once and compares nothing. It is for hosts with goroutines of a
	// library that a seed does not always repeat, as gRPC in a Cluster: a failure is found
	// all the same, and its seed may need several tries to show it again.
	Once bool

	// KeepGoing lets a run go on after the body has failed the test, as with Error, to its
	// end. Without it the first failure ends the run: all that still waits is cancelled.
	// A test that had failed before it called package sim goes on in any case.
	KeepGoing bool

	// MaxSteps is how many steps one run may take. A run that takes more fails the
	// test with "livelock". A step is a choice or a jump of the clock; where there
	// is nothing to choose from, steps are counted roughly. 0 means 10,000,000.
	MaxSteps int

	// Network, Faults and Limit are for Cluster alone. Limit is how much virtual time a
	// run may take; 0 means any, but a body that waits for an hour with no timer of its
	// own has failed.
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
	}
}

// A Network says how the links between hosts are. A zero field is chosen by the seed:
// in some runs all is quiet and fast, in others it is not.
type Network struct {
	Latency    time.Duration // the least that a message takes
	Jitter     time.Duration // the most that it takes beyond that, usually
	Tail       time.Duration // the most that one message in 1,000 takes beyond that
	Bandwidth  int           // bytes a second in each direction of a pair of hosts; 0 means no limit
	Buffer     int           // bytes of a connection in each direction that are on the way or not read; 0 means 64 KiB to 256 KiB
	ShortReads float64       // the part of reads and writes that move less than they could
	PacketLoss float64       // the part of messages that are lost; TCP sends them again
	Reorder    float64       // the part of datagrams that are late, so that others overtake them
	Duplicate  float64       // the part of datagrams that arrive twice
}

// Faults says how often faults strike: how many in a second of virtual time, over the
// whole cluster. A seed has a part of the kinds only, and one in four has none, because
// some mistakes show only when little else happens. The host "test" has no faults.
type Faults struct {
	Partition float64 // some hosts are cut off from the others, in one or both directions, for up to 10 s
	Crash     float64 // a host crashes, also between two writes to its disk, and restarts within 5 s
	PowerFail float64 // a host loses power, also in the middle of a Sync, and restarts within 5 s
	Pause     float64 // a host stands still for up to 3 s
	ClockSkew float64 // a host's clock jumps by up to 10 s, or runs faster or slower by up to 500 ppm
	Disk      float64 // a host's disk fails or is full for up to 2 s
	MaxDown   int     // how many hosts may be down or cut off at once; 0 means the lesser half, and at least one
}

// rates returns how often each kind strikes.
func (f *Faults) rates() fault.Rates {
	return fault.Rates{f.Partition, f.Crash, f.PowerFail, f.Pause, f.ClockSkew, f.Disk}
}

// checkRates panics if a rate makes no sense.
func (c *Config) checkRates() {
	names := [choice.Faults]string{"Partition", "Crash", "PowerFail", "Pause", "ClockSkew", "Disk"}
	for i, r := range c.Faults.rates() {
		if !(r >= 0 && r <= 1000) {
			panic(fmt.Sprintf("sim: Cluster with Config.Faults.%s = %v: it is a number of faults a second, from 0 to 1000", names[i], r))
		}
	}
	n := &c.Network
	for _, r := range []struct {
		name string
		part float64
	}{{"ShortReads", n.ShortReads}, {"PacketLoss", n.PacketLoss}, {"Reorder", n.Reorder}, {"Duplicate", n.Duplicate}} {
		if !(r.part >= 0 && r.part <= 1) {
			panic(fmt.Sprintf("sim: Cluster with Config.Network.%s = %v: it is a part of all messages, from 0 to 1", r.name, r.part))
		}
	}
	if n.Latency < 0 || n.Jitter < 0 || n.Tail < 0 || n.Bandwidth < 0 || n.Buffer < 0 || c.Limit < 0 || c.Faults.MaxDown < 0 {
		panic("sim: Cluster with a negative field in Config: use a positive number, or 0 for the default")
	}
}
