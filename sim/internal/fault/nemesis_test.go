package fault

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo/sim/internal/choice"
	"github.com/rondo-go/rondo/sim/internal/disk"
	"github.com/rondo-go/rondo/sim/internal/moment"
	"github.com/rondo-go/rondo/sim/internal/network"
	"github.com/rondo-go/rondo/sim/internal/record"
)

// A cluster is a World whose hosts do nothing.
type cluster struct {
	now     int64
	moments moment.Heap
	net     *network.Net
	*Nemesis
	quiet, dead bool
	around      bool // goroutines may go on
	struck      []string
}

func newCluster() *cluster { return newClusterOf(choice.New(2), Rates{}) }

// newClusterOf returns a cluster in which faults strike at some rates.
func newClusterOf(made *choice.Choices, rates Rates) *cluster {
	c := &cluster{now: moment.Origin, moments: moment.New()}
	c.net = network.New(made, &c.moments, c.Now, nil, network.Conditions{}, func(record.Kind, *network.Node, *network.Node, string, int) {})
	s := Settings{Rates: rates}
	for i := range s.Longest {
		s.Longest[i] = 10 * time.Second
	}
	s.Longest[choice.Crash], s.Longest[choice.PowerFail] = 5*time.Second, 5*time.Second
	s.Longest[choice.Pause], s.Longest[choice.DiskFault] = 3*time.Second, 2*time.Second
	c.Nemesis = New(c, made, &c.moments, c.net, s)
	return c
}

func (c *cluster) Now() int64  { return c.now }
func (c *cluster) Quiet() bool { return c.quiet }

func (c *cluster) Deadlock() bool {
	c.dead = !c.around
	return c.dead
}

func (c *cluster) Struck(at *network.Node, what string, n int) {
	c.struck = append(c.struck, fmt.Sprint(string(rune('a'+at.Number)), " ", what, " ", n))
}

// host adds a host.
func (c *cluster) host(number uint64) (*machine, *Target) {
	m := &machine{up: true}
	return m, c.Add(Target{
		Host: m, Number: number, Node: c.net.Add(number, string(rune('a'+number))), Disk: disk.New(),
		Clock: func() (time.Duration, int) { return m.offset, m.ppm },
	})
}

// sleep lets d pass.
func (c *cluster) sleep(d time.Duration) {
	end := c.now + int64(d)
	for m, at := c.moments.First(); m != nil && at <= end; m, at = c.moments.First() {
		c.now = at
		c.moments.Drop(m)
		m.What.Happen()
	}
	c.now = end
}

// A machine is a Host that is up or down.
type machine struct {
	up      bool
	slow    time.Duration
	crashes int
	outages int
	paused  time.Duration
	offset  time.Duration
	ppm     int
}

func (m *machine) Up() bool                        { return m.up }
func (m *machine) Crash()                          { m.up, m.crashes = false, m.crashes+1 }
func (m *machine) PowerFail()                      { m.up, m.outages = false, m.outages+1 }
func (m *machine) Restart()                        { m.up = true }
func (m *machine) Pause(d time.Duration)           { m.paused += d }
func (m *machine) SetClock(d time.Duration, p int) { m.offset, m.ppm = d, p }
func (m *machine) Slow(each time.Duration)         { m.slow = each }

// TestFaultKeepsItsHost adds a host between the choice of a fault and its strike: it
// strikes the host that was chosen, which is the one that a report names, and ends.
func TestFaultKeepsItsHost(t *testing.T) {
	c := newCluster()
	a, target := c.host(2)
	const whom = 1 << choice.WhomShift // of two hosts this is the second
	c.plan(target, uint64(choice.Crash)+1|whom|0xffff<<choice.LongShift|choice.PackDelay(time.Second)<<choice.DelayShift)
	b, _ := c.host(3)
	if c.sleep(3 * time.Second); a.up || !b.up {
		t.Errorf("a is up: %v, b is up: %v; the fault was for a", a.up, b.up)
	}
	if c.sleep(time.Minute); !a.up {
		t.Error("it is never restarted")
	}
}

// TestFaultIsTiedToAnEvent: a fault of a list strikes some time after the event of its host that
// its key names, whatever happens to others, and however late it is planned.
func TestFaultIsTiedToAnEvent(t *testing.T) {
	c := newCluster()
	a, first := c.host(2)
	b, second := c.host(3)
	packed := choice.PackDelay(time.Second)
	delay := time.Duration(choice.UnpackDelay(packed))
	v := uint64(choice.Crash) + 1 | 0xffff<<choice.LongShift | packed<<choice.DelayShift
	c.choices.Repeat([]choice.Choice{{Key: choice.Key{Purpose: choice.ForFault, Place: 3 << 8, Ordinal: 2}, Value: v}})
	c.listed = true
	for range 3 {
		c.Event(first)
	}
	c.Event(second)
	if c.sleep(time.Minute); !a.up || !b.up {
		t.Errorf("before its event a is up: %v, b is up: %v", a.up, b.up)
	}
	c.Event(second)
	if c.sleep(delay - 1); !b.up {
		t.Error("it strikes too early")
	}
	if c.sleep(2); b.up || !a.up {
		t.Errorf("after its time a is up: %v, b is up: %v", a.up, b.up)
	}
	c.sleep(time.Minute)
	c.Event(first)
	c.sleep(delay / 2)
	c.plan(first, v)
	if c.sleep(delay/2 + 1); a.up {
		t.Error("the time counts from the plan, and not from the event")
	}
}

// TestCutOutlivesAFault has a fault cut a way that the test cuts too: it stays cut when the
// fault is over, until Heal.
func TestCutOutlivesAFault(t *testing.T) {
	c := newCluster()
	_, a := c.host(2)
	_, b := c.host(3)
	l := c.net.Between(a.Node, b.Node)
	if c.partition(a, 0, time.Second); l.Passes() {
		t.Error("the fault cuts nothing")
	}
	l.Cut = true
	c.sleep(2 * time.Second)
	if l.Passes() || !l.Back().Passes() {
		t.Errorf("after the fault it passes: %v, and back: %v", l.Passes(), l.Back().Passes())
	}
	if c.net.Heal(); !l.Passes() {
		t.Error("it is cut after Heal")
	}
}

// TestMostlyUp has a fault for each of three hosts at once: the lesser half of them is down, which
// is one, and when it has been restarted another may be.
func TestMostlyUp(t *testing.T) {
	c := newCluster()
	var machines []*machine
	var targets []*Target
	for number := range uint64(3) {
		m, target := c.host(2 + number)
		machines, targets = append(machines, m), append(targets, target)
	}
	for round := range 2 {
		for i := range targets {
			c.strike(targets[(i+round)%3], uint64(choice.Crash)+1)
		}
		for i, m := range machines {
			if m.up == (i == round) {
				t.Errorf("round %d: machine %d is up: %v", round, i, m.up)
			}
		}
		c.sleep(time.Minute)
	}
}

// TestWordsOfPartitions: what is said of a partition is what it does: in which direction it loses
// messages, from when to when.
func TestWordsOfPartitions(t *testing.T) {
	for how, want := range map[int]string{
		0:      "a partition cut a off from b in both directions for 1s, until 1s",
		1 << 1: "a partition lost what b sent to a for 1s, until 1s",
		2 << 1: "a partition lost what a sent to b for 1s, until 1s",
		3 << 1: "a partition cut a off from b in both directions for 1s, until 1s",
	} {
		c := newCluster()
		_, a := c.host(0)
		_, b := c.host(1)
		said := ""
		c.choices.Says = func(words choice.Words) {
			said = words(func(number uint64) string { return string(rune('a' + number)) })
		}
		c.partition(a, how, time.Second)
		there, back := c.net.Between(a.Node, b.Node).Passes(), c.net.Between(b.Node, a.Node).Passes()
		if said != want || there != (how>>1&3 == 1) || back != (how>>1&3 == 2) {
			t.Errorf("%q, and a reaches b: %v, b reaches a: %v; want %q", said, there, back, want)
		}
	}
}

// TestWordsOfFaults: the words of a fault have its length, and say if it changed nothing.
func TestWordsOfFaults(t *testing.T) {
	c := newCluster()
	_, a := c.host(0)
	_, b := c.host(1)
	var said []string
	c.choices.Says = func(words choice.Words) {
		said = append(said, words(func(number uint64) string { return string(rune('a' + number)) }))
	}
	long := uint64(0x8001) << choice.LongShift
	c.strike(a, uint64(choice.Crash)+1|long)
	c.strike(b, uint64(choice.PowerFail)+1|long)
	c.strike(a, uint64(choice.Pause)+1|long)
	c.strike(a, uint64(choice.DiskFault)+1|long|1<<choice.HowShift)
	c.strike(a, uint64(choice.ClockSkew)+1|long|1<<choice.HowShift)
	for i, want := range []string{
		"a crashed, and was down for 2.50107", "a fault of b changed nothing", "a stood still for 1.50104",
		"the disk of a was full for 1.00103", "the clock of a jumped by 305.175",
	} {
		if len(said) <= i || !strings.HasPrefix(said[i], want) {
			t.Errorf("%d: %q, want %q", i, said, want)
		}
	}
}

// TestWordsOfEachKind: each kind of fault has words of its own, with the name of the host, the time
// at which it ends, and the other host of a link.
func TestWordsOfEachKind(t *testing.T) {
	long := uint64(0x8001) << choice.LongShift
	for _, c := range []struct {
		kind choice.Fault
		how  uint64
		want string
	}{
		{choice.PowerFail, 0, "a lost power, and was down for 2.501"},
		{choice.ClockSkew, 0, "the clock of a runs at a rate of +237 ppm from then on"},
		{choice.DiskFault, 0, "the disk of a failed for 1.001"},
		{choice.DiskFault, 2, "one read in four of the disk of a failed for 1.001"},
		{choice.DiskFault, 3 | 2<<2, "the disk of a was full after 128 bytes more for 1.001"},
		{choice.Outage, 0, "a, b lost power at once, and were down for 5.001"},
		{choice.Outage, 1, "a lost power at once, and were down for 5.001"},
		{choice.LinkFault, 0, "the link between a and b was cut for 5.001"},
		{choice.LinkFault, 1 | 2<<2, "the link from b to a was cut every other 100ms for 5.001"},
		{choice.LinkFault, 2 | 1<<2, "the link from a to b took 10ms longer for 5.001"},
		{choice.Slow, 2, "each time a had something to do it began 2ms late for 5.001"},
		{choice.Slow, 3, "each read, write and Sync of the disk of a took 2ms for 5.001"},
		{choice.BitRot, 0, "a bit that rots on the disk of a changed nothing"},
		{choice.LostWrite, 0, "the disk of a lost its next write"},
		{choice.MisdirectedWrite, 0, "the next write to the disk of a went to a wrong place"},
		{choice.LyingSync, 0, "Sync of the disk of a made nothing certain for 5.001"},
		{choice.TornRename, 0, "a power failure of a would tear renames for 5.001"},
		{choice.NoDescriptors, 0, "a had no descriptors left for 5.001"},
		{choice.WrongNames, 0, "a could resolve no name for 5.001"},
		{choice.WrongNames, 1, "a got the address of the next host for each name for 5.001"},
	} {
		cl := newCluster()
		_, a := cl.host(0)
		cl.host(1)
		said := ""
		cl.choices.Says = func(words choice.Words) {
			said = words(func(number uint64) string { return string(rune('a' + number)) })
		}
		cl.strike(a, uint64(c.kind)+1|long|c.how<<choice.HowShift)
		if !strings.HasPrefix(said, c.want) {
			t.Errorf("kind %d, how %d: %q, want %q", c.kind, c.how, said, c.want)
		}
	}
}

// TestFlap: a link that flaps is cut and passes in turn, and passes when the fault is over.
func TestFlap(t *testing.T) {
	c := newCluster()
	_, a := c.host(0)
	_, b := c.host(1)
	c.strike(a, uint64(choice.LinkFault)+1|uint64(0x8001)<<choice.LongShift|1<<choice.HowShift)
	there := c.net.Between(a.Node, b.Node)
	got := ""
	for range 60 {
		if c.sleep(100 * time.Millisecond); there.Passes() {
			got += "1"
		} else {
			got += "0"
		}
	}
	if want := strings.Repeat("10", 25) + "1111111111"; got != want {
		t.Errorf("each 100 ms it passes as %s, want %s", got, want)
	}
}

// TestFlapKeepsPartition: a partition that begins while a link that flaps passes, or while it is
// cut, is not ended by the link.
func TestFlapKeepsPartition(t *testing.T) {
	for _, begins := range []time.Duration{50 * time.Millisecond, 150 * time.Millisecond} {
		c := newCluster()
		_, a := c.host(0)
		_, b := c.host(1)
		c.strike(a, uint64(choice.LinkFault)+1|uint64(0x8001)<<choice.LongShift|1<<choice.HowShift)
		there := c.net.Between(a.Node, b.Node)
		if c.sleep(begins); there.Passes() != (begins > 100*time.Millisecond) {
			t.Fatalf("after %v it passes: %v", begins, there.Passes())
		}
		c.partition(a, 0, 10*time.Second)
		for i := range 99 {
			if c.sleep(100 * time.Millisecond); there.Passes() {
				t.Fatalf("begun after %v, it passes in the partition, after %d times 100 ms", begins, i+1)
			}
		}
		if c.sleep(time.Second); !there.Passes() {
			t.Error("it does not pass after the partition")
		}
	}
}

// TestOverlap: what two faults keep lasts until both have ended, whichever of them is longer.
func TestOverlap(t *testing.T) {
	fault := func(kind choice.Fault, how uint64) uint64 { return uint64(kind) + 1 | how<<choice.HowShift }
	cut := func(c *cluster, _ *machine, a *Target) bool {
		return !c.net.Between(a.Node, c.targets[1].Node).Passes()
	}
	isDown := func(_ *cluster, m *machine, _ *Target) bool { return !m.up }
	for _, one := range []struct {
		name          string
		first, second uint64
		struck        func(c *cluster, m *machine, a *Target) bool
	}{
		{"a link is cut twice", fault(choice.LinkFault, 0), fault(choice.LinkFault, 0), cut},
		{"a partition and a link", fault(choice.Partition, 0), fault(choice.LinkFault, 0), cut},
		{"a link and a partition", fault(choice.LinkFault, 0), fault(choice.Partition, 0), cut},
		{"two outages", fault(choice.Outage, 0), fault(choice.Outage, 0), isDown},
		{"a crash and an outage", fault(choice.Crash, 0), fault(choice.Outage, 0), isDown},
		{"a slow processor", fault(choice.Slow, 0), fault(choice.Slow, 2), func(_ *cluster, m *machine, _ *Target) bool { return m.slow > 0 }},
		{"a slow disk", fault(choice.Slow, 1), fault(choice.Slow, 3), func(_ *cluster, _ *machine, a *Target) bool { return a.Disk.Faults.Slow > 0 }},
		{"a disk that fails", fault(choice.DiskFault, 0), fault(choice.DiskFault, 0), func(_ *cluster, _ *machine, a *Target) bool { return a.Disk.Faults.Fails }},
		{"a full disk", fault(choice.DiskFault, 1), fault(choice.DiskFault, 3), func(_ *cluster, _ *machine, a *Target) bool { return a.Disk.Faults.Full }},
		{"read errors", fault(choice.DiskFault, 2), fault(choice.DiskFault, 2), func(_ *cluster, _ *machine, a *Target) bool { return a.Disk.Faults.ReadErrors != 0 }},
		{"a Sync that lies", fault(choice.LyingSync, 0), fault(choice.LyingSync, 0), func(_ *cluster, _ *machine, a *Target) bool { return a.Disk.Faults.LyingSync }},
		{"torn renames", fault(choice.TornRename, 0), fault(choice.TornRename, 0), func(_ *cluster, _ *machine, a *Target) bool { return a.Disk.Faults.TornNames }},
		{"no descriptors", fault(choice.NoDescriptors, 0), fault(choice.NoDescriptors, 0), func(_ *cluster, _ *machine, a *Target) bool { return a.Node.NoDescriptors && a.Disk.Faults.NoFiles }},
		{"wrong names", fault(choice.WrongNames, 0), fault(choice.WrongNames, 1), func(_ *cluster, _ *machine, a *Target) bool { return a.Node.Names != network.TrueNames }},
	} {
		for round, lengths := range [2][2]uint64{{0x8001, 0x8001}, {0xffff, 1}} {
			c := newCluster()
			m, a := c.host(0)
			c.host(1)
			v := one.first | lengths[0]<<choice.LongShift
			d := howLong(v, c.longest[choice.Fault(v&choice.KindBits-1)])
			c.strike(a, v)
			c.sleep(d / 2)
			c.strike(a, one.second|lengths[1]<<choice.LongShift)
			pause := d/2 + time.Millisecond // the first has ended, and the second has not
			if round == 1 {
				pause = d / 4 // the other way round
			}
			if c.sleep(pause); !one.struck(c, m, a) {
				t.Errorf("%s, round %d: after %v it is over", one.name, round, d/2+pause)
			}
			if c.sleep(time.Minute); one.struck(c, m, a) {
				t.Errorf("%s, round %d: it is never over", one.name, round)
			}
		}
	}
}

// TestHealBetween: a cut that Heal has ended leaves later ones alone when its time is over.
func TestHealBetween(t *testing.T) {
	c := newCluster()
	_, a := c.host(0)
	_, b := c.host(1)
	there := c.net.Between(a.Node, b.Node)
	c.partition(a, 0, time.Second)
	if c.net.Heal(); !there.Passes() {
		t.Error("it is cut after Heal")
	}
	c.sleep(time.Second / 2)
	c.link(a, 0, 0, time.Second)
	if c.sleep(time.Second * 3 / 4); there.Passes() {
		t.Error("the end of the first cut ends the second")
	}
	if c.sleep(time.Second); !there.Passes() {
		t.Error("it is never over")
	}
}

// TestRotOfNothing: a bit that rots where nothing was synced leaves the next host to be damaged.
func TestRotOfNothing(t *testing.T) {
	c := newCluster()
	_, a := c.host(0)
	_, b := c.host(1)
	c.strike(a, uint64(choice.BitRot)+1)
	c.strike(b, uint64(choice.LostWrite)+1)
	c.strike(a, uint64(choice.LostWrite)+1)
	if a.Disk.Faults.LostWrites != 0 || b.Disk.Faults.LostWrites != 1 {
		t.Errorf("a loses %d writes, b %d", a.Disk.Faults.LostWrites, b.Disk.Faults.LostWrites)
	}
}

// TestLinkOfOneWay: a fault of a link strikes the direction that its words name.
func TestLinkOfOneWay(t *testing.T) {
	for direction, want := range [][2]bool{{false, false}, {false, true}, {true, false}} {
		c := newCluster()
		_, a := c.host(0)
		_, b := c.host(1)
		c.strike(a, uint64(choice.LinkFault)+1|uint64(direction)<<2<<choice.HowShift)
		there := c.net.Between(a.Node, b.Node)
		if got := [2]bool{there.Passes(), there.Back().Passes()}; got != want {
			t.Errorf("direction %d: there and back it passes: %v, want %v", direction, got, want)
		}
	}
}

// TestOutage: all hosts are down at once, and come back.
func TestOutage(t *testing.T) {
	c := newCluster()
	a, target := c.host(0)
	b, _ := c.host(1)
	c.strike(target, uint64(choice.Outage)+1)
	if a.up || b.up {
		t.Errorf("a is up: %v, b is up: %v", a.up, b.up)
	}
	if c.sleep(time.Minute); !a.up || !b.up {
		t.Errorf("in the end a is up: %v, b is up: %v", a.up, b.up)
	}
}

// TestWhatFaultsDo: what each kind of fault does to its host, and that it is over in the end.
func TestWhatFaultsDo(t *testing.T) {
	const length = 0x9001 // it is longer than half of the longest
	for _, one := range []struct {
		kind choice.Fault
		how  uint64
		does func(c *cluster, m *machine, a *Target) any
		want any // while it lasts
		then any // in the end
	}{
		{choice.Crash, 0, func(_ *cluster, m *machine, _ *Target) any { return []any{m.up, m.crashes} }, []any{false, 1}, []any{true, 1}},
		{choice.PowerFail, 0, func(_ *cluster, m *machine, _ *Target) any { return []any{m.up, m.outages} }, []any{false, 1}, []any{true, 1}},
		{choice.Pause, 0, func(_ *cluster, m *machine, _ *Target) any { return m.paused }, "1.688545776s", "1.688545776s"},
		{choice.ClockSkew, 0, func(_ *cluster, m *machine, _ *Target) any { return []any{m.offset, m.ppm} }, "[7ns 329]", "[7ns 329]"},
		{choice.ClockSkew, 1, func(_ *cluster, m *machine, _ *Target) any { return []any{m.offset, m.ppm} }, "[1.250305182s 9]", "[1.250305182s 9]"},
		{choice.WrongNames, 0, func(_ *cluster, _ *machine, a *Target) any { return a.Node.Names }, network.NoNames, network.TrueNames},
		{choice.WrongNames, 1, func(_ *cluster, _ *machine, a *Target) any { return a.Node.Names }, network.WrongNames, network.TrueNames},
		{choice.LinkFault, 2 | 3<<4, func(c *cluster, _ *machine, a *Target) any {
			l := c.net.Between(a.Node, c.targets[1].Node)
			return []any{l.Extra, l.Back().Extra}
		}, "[80ms 80ms]", "[0s 0s]"},
		{choice.MisdirectedWrite, 0, func(_ *cluster, _ *machine, a *Target) any { return a.Disk.Faults.MisdirectedWrites }, 1, 1},
	} {
		c := newCluster()
		m, a := c.host(0)
		c.host(1)
		m.offset, m.ppm = 7, 9
		v := uint64(one.kind) + 1 | length<<choice.LongShift | one.how<<choice.HowShift
		c.strike(a, v)
		if got := fmt.Sprint(one.does(c, m, a)); got != fmt.Sprint(one.want) {
			t.Errorf("kind %d, how %d: %v, want %v", one.kind, one.how, got, one.want)
		}
		c.sleep(time.Minute)
		if got := fmt.Sprint(one.does(c, m, a)); got != fmt.Sprint(one.then) {
			t.Errorf("kind %d, how %d, in the end: %v, want %v", one.kind, one.how, got, one.then)
		}
	}
}

// TestWhomFaultsStrike: which hosts an outage, a partition and a fault of a link strike, and what
// they say if there are none.
func TestWhomFaultsStrike(t *testing.T) {
	whom := func(n uint64) uint64 { return n << choice.WhomShift }
	fault := func(kind choice.Fault, how uint64) uint64 { return uint64(kind) + 1 | how<<choice.HowShift }
	for _, one := range []struct {
		hosts, down int // the first ones are down, as their programs have ended
		struck      int // which one is
		fault       uint64
		want        string
	}{
		{4, 0, 2, fault(choice.Outage, 1|1<<1), "c, d lost power at once"},
		{4, 0, 3, fault(choice.Outage, 1|2<<1), "d, a, b lost power at once"},
		{4, 1, 3, fault(choice.Outage, 0), "d, b, c lost power at once"},
		{2, 2, 0, fault(choice.Outage, 0), "a loss of power around a changed nothing, because all were down"},
		{7, 0, 6, fault(choice.Partition, 1|1<<3), "a partition cut g, a off from b, c, d, e, f in both"},
		{7, 0, 5, fault(choice.Partition, 1|5<<3), "a partition cut f, g, a off from b, c, d, e in both"},
		{7, 0, 5, fault(choice.Partition, 5<<3), "a partition cut f off from a, b, c, d, e, g in both"},
		{1, 0, 0, fault(choice.Partition, 0), "a partition around a changed nothing, because as many were down as may be"},
		{4, 0, 0, fault(choice.LinkFault, 0) | whom(4), "the link between a and c was cut"},
		{4, 0, 3, fault(choice.LinkFault, 0) | whom(8), "the link between d and c was cut"},
		{4, 0, 3, fault(choice.LinkFault, 0) | whom(12), "the link between d and a was cut"},
		{1, 0, 0, fault(choice.LinkFault, 0), "a fault of a link of a changed nothing, because there is no other host"},
	} {
		c := newCluster()
		var targets []*Target
		for i := range one.hosts {
			m, target := c.host(uint64(i))
			m.up = i >= one.down
			targets = append(targets, target)
		}
		said := ""
		c.choices.Says = func(words choice.Words) {
			said = words(func(number uint64) string { return string(rune('a' + number)) })
		}
		if c.strike(targets[one.struck], one.fault|1<<choice.LongShift); !strings.HasPrefix(said, one.want) {
			t.Errorf("%q, want %q", said, one.want)
		}
	}
}

// TestCutOffCountAsDown: hosts that are cut off are as good as down: no more than a lesser half of
// the hosts are either.
func TestCutOffCountAsDown(t *testing.T) {
	c := newCluster()
	a, target := c.host(0)
	for number := range uint64(4) {
		c.host(1 + number)
	}
	c.partition(c.targets[1], 1|1<<3, time.Minute)
	if c.strike(target, uint64(choice.Crash)+1); !a.up || c.down() != 2 {
		t.Errorf("%d of 5 are down or cut off, and one more: %v", c.down(), !a.up)
	}
	c.Calm()
	if c.strike(target, uint64(choice.Crash)+1); a.up {
		t.Error("nothing strikes when the cut was forgotten")
	}
	c.partition(c.targets[1], 1|5<<3, time.Second)
	if c.down() != 2 {
		t.Errorf("beside one that is down a partition cuts off %d", c.down()-1)
	}
	c.sleep(time.Second)
	if want := []string{"b partition 0", "c partition 0", "b partition 0", "b heal 8"}; !slices.Equal(c.struck, want) {
		t.Errorf("%q, want %q", c.struck, want)
	}
	if c.sleep(time.Hour); !a.up {
		t.Error("it is never restarted")
	}
}

// TestCalm: what was under way when the faults are forgotten does nothing later, and a fault that
// strikes after that ends by itself.
func TestCalm(t *testing.T) {
	c := newCluster()
	_, a := c.host(0)
	_, b := c.host(1)
	fault := func(kind choice.Fault, how uint64) uint64 {
		return uint64(kind) + 1 | how<<choice.HowShift | 0x8001<<choice.LongShift
	}
	c.strike(a, fault(choice.LinkFault, 1)) // it is cut each other 100 ms
	c.strike(a, fault(choice.WrongNames, 0))
	c.Calm()
	c.net.Heal()
	a.Node.Names = network.TrueNames
	for range 60 {
		if c.sleep(100 * time.Millisecond); !c.net.Between(a.Node, b.Node).Passes() {
			t.Fatal("the link is cut again")
		}
	}
	c.strike(a, fault(choice.WrongNames, 0))
	if c.sleep(time.Minute); a.Node.Names != network.TrueNames {
		t.Error("a fault never ends")
	}
	if !slices.Equal(c.struck, []string{"a link 2"}) {
		t.Errorf("%q", c.struck)
	}
}

// TestDamageIsLimited: as many hosts have a disk that was damaged as may be down at once, each as
// often as it comes. A bit that rots is named.
func TestDamageIsLimited(t *testing.T) {
	c := newCluster()
	_, a := c.host(0)
	_, b := c.host(1)
	a.Disk.Plant("/x", []byte{0}, time.Time{})
	var said []string
	c.choices.Says = func(words choice.Words) {
		said = append(said, words(func(number uint64) string { return string(rune('a' + number)) }))
	}
	rot := uint64(choice.BitRot) + 1 | 3<<choice.HowShift
	c.strike(a, rot)
	c.strike(b, rot)
	c.strike(a, rot)
	want := []string{
		`bit 3 of byte 0 of "/x" on the disk of a flipped`,
		"a fault of the disk of b changed nothing, because as many were damaged as may be",
		`bit 3 of byte 0 of "/x" on the disk of a flipped`,
	}
	if !slices.Equal(said, want) || !slices.Equal(c.struck, []string{"a bit rot of /x 0", "a bit rot of /x 0"}) {
		t.Errorf("%q, %q", said, c.struck)
	}
}

// TestRates: faults strike as often as their rates say, each host as often, and none that is
// spared; nothing strikes when the world is quiet. Some wait for the next event of their host.
func TestRates(t *testing.T) {
	var pauses, names [3]int
	none := 0
	const seeds = 60
	for seed := range uint64(4 * seeds) {
		rates := Rates{}
		rates[choice.Pause], rates[choice.WrongNames] = 1, 0.25
		made := choice.New(seed)
		c := newClusterOf(made, rates)
		if made.Seed%4 == 1 {
			if c.Strikes() {
				t.Errorf("seed %d: faults strike on a calm network", seed)
			}
			continue
		}
		var targets []*Target
		made.Records = true
		for i := range uint64(3) {
			_, target := c.host(i)
			targets = append(targets, target)
		}
		made.Says = func(words choice.Words) {
			text := words(func(number uint64) string { return string(rune('a' + number)) })
			if strings.Contains(text, "stood still") {
				pauses[text[0]-'a']++
			} else {
				names[text[0]-'a']++
			}
		}
		c.Spare(targets[2])
		for range 100 {
			c.sleep(100 * time.Millisecond)
			for _, target := range targets {
				c.Event(target)
			}
		}
		if !c.Strikes() {
			none++
		}
		made.Says, c.quiet = func(choice.Words) { t.Error("it strikes a quiet world") }, true
		c.sleep(time.Minute)
	}
	// Half of the seeds, or more, have each kind, for 10 s, over two hosts.
	for i := range 2 {
		if pauses[i] < 450 || pauses[i] > 1000 || names[i] < 110 || names[i] > 260 {
			t.Errorf("host %d: %d pauses, %d wrong names", i, pauses[i], names[i])
		}
	}
	if pauses[2]+names[2] > 0 || none == 0 {
		t.Errorf("a spared host was struck %d times; %d seeds have no faults", pauses[2]+names[2], none)
	}
}

// TestDiskChanges: a change of a disk may be the last one before a crash or a loss of power, if the
// run has these, but not soon after another one, not on a host that is spared, and not when the
// world is quiet.
func TestDiskChanges(t *testing.T) {
	both := Rates{}
	both[choice.Crash], both[choice.PowerFail] = 1, 3
	crash, power, none := Rates{}, Rates{}, Rates{}
	crash[choice.Crash], power[choice.PowerFail], none[choice.Pause] = 1, 1, 1
	for _, one := range []struct {
		rates                    Rates
		crashes, outages, spared bool
		quiet                    bool
	}{
		{rates: both, crashes: true, outages: true}, {rates: crash, crashes: true}, {rates: power, outages: true},
		{rates: none}, {rates: both, spared: true}, {rates: both, quiet: true},
	} {
		crashes, outages := 0, 0
		for seed := range uint64(200) {
			c := newClusterOf(choice.New(seed), one.rates)
			c.moments.Drop(&c.Nemesis.moment) // nothing else strikes
			m, target := c.host(0)
			c.quiet = one.quiet
			if one.spared {
				c.Spare(target)
			}
			every, last := time.Duration(float64(time.Second)/max(c.rates[choice.Crash]+c.rates[choice.PowerFail], 0.1)), int64(0)
			for range 1000 {
				c.sleep(10 * time.Millisecond)
				c.DiskChanges(nil)
				if !m.up {
					continue
				}
				if c.DiskChanges(target); !m.up {
					if c.now-last < int64(every) {
						t.Fatalf("seed %d: again after %v", seed, time.Duration(c.now-last))
					}
					last = c.now
				}
			}
			if alike := c.rates == one.rates; alike || !one.crashes || !one.outages { // not one of two kinds
				crashes, outages = crashes+m.crashes, outages+m.outages
			}
		}
		if crashes > 0 != one.crashes || outages > 0 != one.outages || one.crashes && one.outages && outages < 2*crashes {
			t.Errorf("%+v: %d crashes, %d losses of power", one, crashes, outages)
		}
	}
}

// TestAlone: when nothing but faults has happened for long, that is a deadlock, unless goroutines
// may go on: then faults strike on.
func TestAlone(t *testing.T) {
	rates := Rates{}
	rates[choice.Pause] = 1
	seed := uint64(2)
	for !newClusterOf(choice.New(seed), rates).Strikes() {
		seed++
	}
	c := newClusterOf(choice.New(seed), rates)
	c.sleep(250 * time.Second)
	c.cure(time.Second, func() {}) // something else happens
	if c.sleep(250 * time.Second); c.dead {
		t.Error("it is dead, although something has happened")
	}
	if c.sleep(2 * time.Second); !c.dead {
		t.Error("it is not dead")
	}
	c = newClusterOf(choice.New(seed), rates)
	c.around = true
	c.sleep(time.Hour)
	draws := c.draws
	if c.sleep(time.Minute); c.dead || c.draws == draws {
		t.Error("no fault strikes any more, although goroutines may go on")
	}
}

// TestExtremes: a fault lasts a part of the longest time also if that is all that a Duration can
// have, and one that is very rare is not looked for more often than others.
func TestExtremes(t *testing.T) {
	for _, most := range []time.Duration{0, 1, 10 * time.Second, 40 * time.Hour, math.MaxInt64} {
		for _, length := range []uint64{0, 1, 2, 3, 0x7fff, 0x8000, 0xfffe, 0xffff} {
			want := big.NewInt(int64(most))
			if length&1 == 0 {
				want.Rsh(want, uint(length>>1%13))
			}
			want.Rsh(want.Mul(want, new(big.Int).SetUint64(length)), 16)
			want.Add(want, big.NewInt(int64(time.Millisecond)))
			if got := howLong(length<<choice.LongShift, most); want.IsInt64() && int64(got) != want.Int64() || got < 0 {
				t.Errorf("length %d of %v: %v, want %v ns", length, most, got, want)
			}
		}
	}
	rates := Rates{}
	rates[choice.Pause] = 1e-12
	for seed := range uint64(20) {
		if c := newClusterOf(choice.New(seed), rates); c.Strikes() && c.every < 24*time.Hour {
			t.Errorf("seed %d looks for a fault each %v", seed, c.every)
		}
	}
}

// TestEventsOfAHost: faults that wait for the next event of a host strike then, so many of them at
// most, and each is noted with a key of its own.
func TestEventsOfAHost(t *testing.T) {
	c := newCluster()
	c.choices.Records = true
	_, a := c.host(0)
	_, b := c.host(1)
	v := uint64(choice.LostWrite) + 1
	for range strikesMost + 2 {
		c.armed = append(c.armed, trap{a, v}, trap{a, v}, trap{b, uint64(choice.MisdirectedWrite) + 1})
	}
	c.Event(a)
	c.sleep(time.Second)
	f := a.Disk.Faults
	if f.LostWrites != strikesMost || f.MisdirectedWrites > 0 || len(c.armed) != strikesMost+2 {
		t.Errorf("%d strike a, %d of b do, and %d wait", f.LostWrites, f.MisdirectedWrites, len(c.armed))
	}
	if c.DiskChanges(b); len(c.armed) > 0 {
		t.Error("a change of the disk is no event")
	}
	keys := map[choice.Key]bool{}
	for _, one := range c.choices.Made {
		keys[one.Key] = one.Value == v
	}
	if len(keys) != strikesMost {
		t.Errorf("noted: %v", c.choices.Made)
	}
}

// TestDrift: the clock of each host gets a rate of its own when it boots, if clocks are skewed.
func TestDrift(t *testing.T) {
	rates := Rates{}
	rates[choice.ClockSkew] = 0.001
	seed := uint64(2)
	for !newClusterOf(choice.New(seed), rates).Strikes() {
		seed++
	}
	c := newClusterOf(choice.New(seed), rates)
	seen := map[int]bool{}
	for i := range uint64(10) {
		m, target := c.host(i)
		c.Event(target)
		c.sleep(time.Millisecond)
		first := m.ppm
		c.Event(target)
		if c.sleep(time.Millisecond); m.ppm != first || first < -500 || first > 500 {
			t.Errorf("host %d: %d ppm, then %d", i, first, m.ppm)
		}
		seen[first] = true
	}
	if len(seen) < 9 {
		t.Errorf("the clocks have these rates: %v", seen)
	}
}
