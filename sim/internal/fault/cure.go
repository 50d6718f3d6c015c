package fault

// A Nemesis has hosts, faults that are planned, and faults that last until their cure.
//
// The law: no more than a lesser half of the hosts are down or cut off at once, or damaged, unless
// the test says otherwise, but for an Outage.

import (
	"time"

	"github.com/rondo-go/rondo/sim/internal/choice"
	"github.com/rondo-go/rondo/sim/internal/disk"
	"github.com/rondo-go/rondo/sim/internal/moment"
	"github.com/rondo-go/rondo/sim/internal/network"
)

// Rates says how often each kind of fault strikes in a second of virtual time.
type Rates [choice.Faults]float64

// Settings say what faults strike.
type Settings struct {
	Rates   Rates
	MaxDown int                          // how many hosts may be down or cut off at once; 0: the lesser half
	Longest [choice.Faults]time.Duration // how long each kind lasts at most
}

// A Host is a machine that faults strike.
type Host interface {
	Up() bool // the program runs
	Crash()
	PowerFail()
	Restart()
	Pause(d time.Duration)
	SetClock(offset time.Duration, ppm int)
	Slow(each time.Duration)
}

// A Target is a Host with what the nemesis must know of it.
type Target struct {
	Host
	Number uint64
	Node   *network.Node
	Disk   *disk.Disk
	Clock  func() (offset time.Duration, ppm int) // of SetClock

	events  uint32 // how many events it has had
	eventAt int64  // the instant of the last one
	strikes uint64 // how many faults are tied to the last one
	spared  bool
	damaged bool // its disk was

	struck [states]int // how many faults keep each state
}

// A state is something that a fault does to a host for some time. It lasts until the last of the
// faults that keep it has ended.
type state uint8

const (
	down state = iota
	noDescriptors
	wrongNames
	slowProcessor
	slowDisk
	diskFails
	diskFull
	readErrors
	lyingSync
	tornNames
	states // how many there are
)

// A World is the cluster in which faults strike.
type World interface {
	// Now returns the instant of the cluster's clock.
	Now() int64

	// Quiet reports whether no fault may strike any more.
	Quiet() bool

	// Deadlock is called when nothing but faults has happened for some time. It ends the run,
	// unless goroutines may go on, and reports whether it has.
	Deadlock() bool

	// Struck is called with each fault of the network.
	Struck(node *network.Node, what string, n int)
}

// A Nemesis makes faults strike.
type Nemesis struct {
	world   World
	choices *choice.Choices
	moments *moment.Heap
	net     *network.Net
	targets []*Target
	maxDown int // 0: the lesser half
	longest [choice.Faults]time.Duration
	damaged int // how many hosts have a disk that was damaged
	moment  moment.Moment
	rates   Rates // of this run
	total   float64
	every   time.Duration
	draws   uint32 // how often it has asked whether a fault strikes
	cures   []*cure
	armed   []trap
	listed  bool // the faults are in a list
	alone   int  // how often in a row nothing else could happen

	disks    int   // how likely a change of a disk is to be the last one, in millionths
	diskNext int64 // before that no host fails there
}

// A trap is a fault that strikes after the next event of a host.
type trap struct {
	host  *Target
	value uint64
}

// in makes m happen after d.
func (n *Nemesis) in(m *moment.Moment, d time.Duration) {
	n.moments.Put(m, moment.After(n.world.Now(), d))
}

// downMost returns how many hosts may be down or cut off at once.
func (n *Nemesis) downMost() int {
	if n.maxDown > 0 {
		return n.maxDown
	}
	return max(1, (len(n.targets)-1)/2)
}

// down returns how many are.
func (n *Nemesis) down() (k int) {
	for _, c := range n.cures {
		if c.host != nil {
			k++
		}
		k += c.cutOff
	}
	return k
}

// A cure ends a fault.
type cure struct {
	moment  moment.Moment
	nemesis *Nemesis
	do      func()
	host    *Target // that is down
	cutOff  int     // how many hosts are cut off

	every time.Duration // 0: it does nothing until it ends
	again func()        // what it does then
	until int64
}

func (n *Nemesis) cure(d time.Duration, do func()) *cure {
	c := &cure{nemesis: n, do: do}
	c.moment.What = c
	n.cures = append(n.cures, c)
	n.in(&c.moment, d)
	return c
}

// keep keeps a state of a host for d. end is called unless another fault keeps it for longer.
func (n *Nemesis) keep(h *Target, s state, d time.Duration, end func()) *cure {
	h.struck[s]++
	return n.cure(d, func() {
		if h.struck[s]--; h.struck[s] == 0 {
			end()
		}
	})
}

func (c *cure) Happen() {
	n := c.nemesis
	if left := c.until - n.world.Now(); left > 0 {
		c.again()
		n.in(&c.moment, min(c.every, time.Duration(left)))
		return
	}
	for i, o := range n.cures {
		if o == c {
			n.cures = append(n.cures[:i], n.cures[i+1:]...)
			break
		}
	}
	c.do()
}
