package network

import (
	"math/bits"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/rondo-go/rondo/sim/internal/choice"
)

// TestDelay: a message takes the latency of its way and what a fault adds, up to the jitter more,
// and one in a thousand up to the tail more.
func TestDelay(t *testing.T) {
	const us = time.Microsecond
	for _, one := range []struct {
		jitter, tail, latency, extra time.Duration
		least, most                  time.Duration // of almost all
		over                         [2]int        // how many of 100,000 take longer: at least, and at most
	}{
		{0, 0, 0, 0, 1000 * us, 1000 * us, [2]int{0, 0}},
		{10 * us, 0, 0, 0, 1000 * us, 1010 * us, [2]int{0, 0}},
		{10 * us, 0, 0, 7 * us, 1007 * us, 1017 * us, [2]int{0, 0}},
		{10 * us, 0, 50 * us, 7 * us, 57 * us, 67 * us, [2]int{0, 0}},
		{10 * us, 5000 * us, 0, 0, 1000 * us, 1010 * us, [2]int{50, 200}},
	} {
		c := newCluster(t)
		c.Profile.Jitter, c.Profile.Tail = one.jitter, one.tail
		l := c.there()
		l.Latency, l.Extra = one.latency, one.extra
		all := make([]time.Duration, 100_000)
		for i := range all {
			all[i] = l.delay(10)
		}
		slices.Sort(all)
		over := 0
		for over < len(all) && all[len(all)-1-over] > one.most {
			over++
		}
		near := one.jitter / 100
		last := all[len(all)-1]
		if all[0] < one.least || all[0] > one.least+near || all[len(all)-1-over] < one.most-near ||
			over < one.over[0] || over > one.over[1] || last > one.most+one.tail || one.tail > 0 && last < one.tail*9/10 {
			t.Errorf("%+v: from %v to %v, and %d more, to %v", one, all[0], all[len(all)-1-over], over, last)
		}
	}
}

// TestBandwidth: a message waits until those before it have left, and takes its time with its
// header.
func TestBandwidth(t *testing.T) {
	c := newCluster(t)
	s, peer := c.pair()
	c.Profile.Bandwidth = 1000
	begin := c.time()
	send(t, s, "forty bytes, which are sent with 60 more")
	send(t, s, "forty bytes, which are sent with 60 more")
	for i, want := range []time.Duration{101 * time.Millisecond, 201 * time.Millisecond} {
		if took := c.until(func() bool { return peer.in.arrived > 40*i }) - begin; took != want {
			t.Errorf("%d has arrived after %v, want %v", i, took, want)
		}
	}
	from, to := c.packets(c.a, ""), c.packets(c.b, "0.0.0.0:7")
	begin = c.time()
	sendTo(t, from, "a packet has 28 bytes too", "10.0.0.2:7")
	if took := c.until(func() bool { return len(to.queue) > 0 }) - begin; took != 54*time.Millisecond {
		t.Errorf("a packet has arrived after %v", took)
	}
	begin = c.time()
	c.dial()
	if took := c.time() - begin; took != 122*time.Millisecond {
		t.Errorf("a dial took %v", took)
	}
}

// TestCorrupt: a message between hosts that is corrupted has one wrong bit, any one, which the
// words for it name.
func TestCorrupt(t *testing.T) {
	c := newCluster(t)
	c.Profile.Corrupt = 1
	said := ""
	c.choices.Says = func(words choice.Words) { said = words(func(uint64) string { return "x" }) }
	seen := map[int]bool{}
	for range 1000 {
		p := make([]byte, 2)
		c.there().corrupt(p)
		if bits.OnesCount8(p[0])+bits.OnesCount8(p[1]) != 1 {
			t.Fatalf("%b", p)
		}
		seen[bits.TrailingZeros16(uint16(p[0])|uint16(p[1])<<8)] = true
		want := regexp.MustCompile(`^a message from x to x came with a wrong bit: (\d) of byte (\d)$`).FindStringSubmatch(said)
		if want == nil || p[want[2][0]-'0'] != 1<<(want[1][0]-'0') {
			t.Fatalf("%b: %s", p, said)
		}
	}
	if len(seen) != 16 {
		t.Errorf("of 16 bits %d were wrong at times", len(seen))
	}
	own := make([]byte, 1000)
	c.Between(c.a.stack.node, c.a.stack.node).corrupt(own)
	c.Profile.Corrupt = 0
	c.there().corrupt(own)
	c.Profile.Corrupt = 1
	c.Settle(Conditions{})
	c.there().corrupt(own)
	if slices.Max(own) != 0 {
		t.Error("a message within a host, on a good network, or on a calm one is corrupted")
	}
}

// TestOwnWay: the way of a host to itself ends its cut and its hold with those of all others.
func TestOwnWay(t *testing.T) {
	c := newCluster(t)
	own := c.Between(c.a.stack.node, c.a.stack.node)
	own.Cut = true
	if c.Heal(); !own.Passes() {
		t.Error("Heal left it cut")
	}
	own.Hold()
	if c.Settle(Conditions{}); own.held {
		t.Error("Settle left it held")
	}
}

// TestSettle: no way is slow, held or lossy any more.
func TestSettle(t *testing.T) {
	c := newCluster(t)
	c.Profile.Jitter, c.Profile.Tail = time.Hour, time.Hour
	s, peer := c.pair()
	l := c.there()
	l.Loss, l.Extra = 1, time.Hour
	l.Hold()
	send(t, s, "held")
	c.Settle(Conditions{})
	c.sleep(2 * time.Hour)
	if text, _ := receive(peer); text != "held" {
		t.Errorf("%q", text)
	}
	send(t, s, "quick")
	c.sleep(2 * time.Millisecond)
	if text, _ := receive(peer); text != "quick" {
		t.Errorf("%q", text)
	}
}
