package network

import (
	"testing"
	"time"

	"github.com/rondo-go/rondo/sim/internal/choice"
)

// TestProfile: what a test asks for is so. What it leaves to the seed is different with each, and
// good with one in four.
func TestProfile(t *testing.T) {
	given := Conditions{
		Latency: 1, Jitter: 2, Tail: 3, Bandwidth: 4, Buffer: 5, ShortReads: 6,
		PacketLoss: 7, Reorder: 8, Duplicate: 9, Corrupt: 10,
	}
	latencies, jitters, buffers := map[time.Duration]int{}, map[time.Duration]int{}, map[int]int{}
	tails, short, calm := 0, 0, 0
	const seeds = 400
	for seed := range uint64(seeds) {
		c := choice.New(seed)
		if p := newProfile(c, given); p.Conditions != given || p.Calm != (seed%4 == 1) {
			t.Fatalf("seed %d: %+v", seed, p)
		}
		if p := newProfile(c, Conditions{Latency: time.Second}); p.Jitter != time.Second/2 {
			t.Fatalf("seed %d: a jitter of %v", seed, p.Jitter)
		}
		p := newProfile(c, Conditions{})
		latencies[p.Latency]++
		buffers[p.Buffer]++
		if p.Calm {
			calm++
			if p.Jitter != p.Latency/2 || p.Tail != 0 || p.ShortReads != 0 {
				t.Fatalf("seed %d: %+v", seed, p)
			}
			continue
		}
		jitters[p.Jitter]++
		if p.Tail != 0 {
			if tails++; p.Tail != 20*p.Jitter {
				t.Fatalf("seed %d: %+v", seed, p)
			}
		}
		if p.ShortReads != 0 {
			short++
		}
		before := p.Conditions
		p.settle(Conditions{})
		if p.Jitter != min(before.Jitter, p.Latency/2) || p.Tail != 0 {
			t.Fatalf("seed %d: settled: %+v", seed, p)
		}
		p.Conditions = before
		if p.settle(Conditions{Jitter: 1, Tail: 1}); p.Conditions != before {
			t.Fatalf("seed %d: settled, though the test asks for it: %+v", seed, p)
		}
	}
	if len(latencies) != 4 || len(jitters) != 4 || len(buffers) != 3 || calm != seeds/4 {
		t.Errorf("%v, %v, %v, %d calm", latencies, jitters, buffers, calm)
	}
	for _, n := range []int{tails, short} {
		if n < seeds/4 || n > seeds/2 {
			t.Errorf("of %d that are not calm %d have a tail, and %d have short reads", seeds-calm, tails, short)
		}
	}
	if p := newProfile(&choice.Choices{Walk: new(choice.Walk)}, Conditions{}); !p.Calm {
		t.Error("Explore has a network that is not calm")
	}
}
