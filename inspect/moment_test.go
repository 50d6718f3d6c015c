//go:build linux && (amd64 || arm64)

package inspect_test

// Snapshots of a program that changes at each moment of the reading.

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/rondo-go/rondo/inspect"
	"github.com/rondo-go/rondo/internal/layout"
)

// atEachRead takes snapshots of an image in which the word at an address becomes
// another before the first read, before the second, and so on, until it becomes it
// after the last one, and more words with it. It passes check each snapshot, and how
// often the reader had read the word before the change.
func atEachRead(t *testing.T, i *image, at, word uint64, check func(l *inspect.Loop, before int, after bool), more ...[2]uint64) {
	t.Helper()
	atEachReadOf(t, inspect.Options{}, i, at, word, check, more...)
}

// atEachReadOf is atEachRead for snapshots with options.
func atEachReadOf(t *testing.T, o inspect.Options, i *image, at, word uint64, check func(l *inspect.Loop, before int, after bool), more ...[2]uint64) {
	t.Helper()
	d := damage(i, nil)
	target := opened(t, d)
	target.Once()
	for n := 1; ; n++ {
		clear(d.pages)
		done := false
		d.later = []change{{d.reads + n, func() {
			for _, c := range append(more, [2]uint64{at, word}) {
				d.put(c[0], binary.LittleEndian.AppendUint64(nil, c[1]))
			}
			done = true
		}}}
		before, after := 0, false
		d.seen = func(addr uint64, size int) {
			if addr <= at && at < addr+uint64(size) {
				if after = done; !done {
					before++
				}
			}
		}
		p, err := target.Snapshot(o)
		if err != nil || len(p.Loops) != 1 {
			t.Fatalf("%d loops, %v", len(p.Loops), err)
		}
		if !done {
			return
		}
		check(p.Loops[0], before, after)
	}
}

// number returns the number at an address.
func (i *image) number(t *testing.T, addr uint64) uint64 {
	t.Helper()
	var b [8]byte
	if err := i.Read(addr, b[:]); err != nil {
		t.Fatal(err)
	}
	return binary.LittleEndian.Uint64(b[:])
}

// places returns an image of the target, and where a task of it stands.
func places(t *testing.T, name string) (i *image, number, switches uint64) {
	t.Helper()
	i = recorded(t)
	target := opened(t, i)
	if number, switches = target.PlaceOf(name); number == 0 {
		t.Fatalf("the image has no %s", name)
	}
	return i, number, switches
}

// TestCycleLasts: a cycle is reported only if none of its tasks has run since it
// was read the first time, at whatever moment it does.
func TestCycleLasts(t *testing.T) {
	t.Parallel()
	i, _, switches := places(t, "dead-a")
	reported, dropped := 0, 0
	atEachRead(t, i, switches, 1000, func(l *inspect.Loop, before int, after bool) {
		switch {
		case len(l.Cycles) == 0:
			dropped++
		case before > 0 && after && !slices.ContainsFunc(l.Tasks, func(k *inspect.Task) bool { return k.Name == "dead-a" && k.Switches == 1000 }):
			t.Errorf("after %d looks at it dead-a ran, and yet there is a cycle", before)
		default:
			reported++
		}
	})
	if reported == 0 || dropped == 0 {
		t.Errorf("a cycle was reported %d times, and not %d times; want both", reported, dropped)
	}
}

// TestHolderReplaced: what a lock is held by is never said of a task whose place
// another has taken.
func TestHolderReplaced(t *testing.T) {
	t.Parallel()
	i, number, _ := places(t, "dead-b")
	holders := make(map[uint64]int)
	atEachRead(t, i, number, 77, func(l *inspect.Loop, _ int, _ bool) {
		on := task(t, l, "dead-a").On
		holders[on]++
		if on == 3 && !slices.ContainsFunc(l.Tasks, func(k *inspect.Task) bool { return k.ID == 3 }) {
			t.Error("dead-a waits for #3, which is gone")
		}
	})
	if holders[3] == 0 || holders[77] == 0 {
		t.Errorf("how often dead-a waited for which task: %v; want #3 and #77", holders)
	}
}

// TestNumberReplaced: of a task that has run, nothing is said if its place is another's by then:
// the copy in which its number still stood may be of two moments.
func TestNumberReplaced(t *testing.T) {
	t.Parallel()
	i, number, switches := places(t, "dead-b")
	shown, dropped := 0, 0
	atEachRead(t, i, number, 77, func(l *inspect.Loop, before int, _ bool) {
		n := slices.IndexFunc(l.Tasks, func(k *inspect.Task) bool { return k.ID == 3 })
		switch {
		case n < 0:
			dropped++
		case l.Tasks[n].Moved:
			t.Errorf("after %d looks at its number #3 had run and was gone, and yet it is shown", before)
		default:
			shown++
		}
	}, [2]uint64{switches, 1000})
	if shown == 0 || dropped == 0 {
		t.Errorf("#3 was shown %d times, and dropped %d times; want both", shown, dropped)
	}
}

// TestWokenMeanwhile: of a task whose sleep has ended since it was read, no wait is said.
func TestWokenMeanwhile(t *testing.T) {
	t.Parallel()
	i, number, _ := places(t, "puller")
	ring := opened(t, i).RingOf()
	state := number - ring.Number + ring.State
	word := i.number(t, state)
	if byte(word) != 3 {
		t.Fatalf("the state of a task that waits is %d", byte(word))
	}
	waiting, ready, again := 0, 0, 0
	atEachRead(t, i, state, word&^0xff|1, func(l *inspect.Loop, before int, after bool) {
		switch k := task(t, l, "puller"); {
		case after && (k.What != "" || k.Waiting != ""):
			t.Errorf("after %d looks at it the task was ready, and yet it waits for %s", before, k.Waiting)
		case after:
			ready++
			if !l.Exact && !k.Moved && k.State == "ready" {
				again++ // after it had been read as one that waits
			}
		case k.What == "sleep":
			waiting++
		}
	})
	if waiting == 0 || ready == 0 || again == 0 {
		t.Errorf("the task waited %d times, did not %d times, and was read again %d times; want all three", waiting, ready, again)
	}
}

// TestDeadlockOver: what a loop says of its deadlock counts until something runs, or can.
func TestDeadlockOver(t *testing.T) {
	t.Parallel()
	i := recorded(t)
	d := damage(i, nil)
	target := opened(t, d)
	at := func(offset int) uint64 { return target.InLoop(offset) }
	now, steps := i.number(t, at(layout.LoopNow)), i.number(t, at(layout.LoopSteps))
	first := target.RingOf().Start
	for name, c := range map[string]struct {
		ago    time.Duration
		steps  uint64
		offset int
		value  uint64
		want   time.Duration
	}{
		"as the loop said":          {ago: 2 * time.Second, steps: steps, want: 2 * time.Second},
		"for a second":              {ago: time.Second, steps: steps, want: time.Second},
		"for less":                  {ago: time.Second - 1, steps: steps},
		"with a step since":         {ago: time.Minute, steps: steps - 1},
		"with a task that is ready": {ago: time.Minute, steps: steps, offset: layout.LoopReady, value: 1},
		"with one that runs":        {ago: time.Minute, steps: steps, offset: layout.LoopCurrent, value: first},
		"said by no loop":           {ago: time.Duration(now), steps: steps},
	} {
		clear(d.pages)
		put := func(offset int, value uint64) { d.put(at(offset), binary.LittleEndian.AppendUint64(nil, value)) }
		put(layout.LoopStill, now-uint64(c.ago))
		put(layout.LoopStillSteps, c.steps)
		if c.offset != 0 {
			put(c.offset, c.value)
		}
		if l := shot(t, target, inspect.Options{}).Loops[0]; l.Deadlock != c.want {
			t.Errorf("%s: a deadlock for %v, want %v", name, l.Deadlock, c.want)
		}
	}
}

// TestOffloaderRan: a task in Offload that has run since it was read is read again, with the
// goroutine that runs its function now.
func TestOffloaderRan(t *testing.T) {
	t.Parallel()
	i, _, switches := places(t, "offloader")
	asked := inspect.Options{StacksOf: []uint64{11}}
	again := 0
	atEachReadOf(t, asked, i, switches, 1000, func(l *inspect.Loop, before int, after bool) {
		k := task(t, l, "offloader")
		if !k.Moved && (k.Offload == nil || len(k.Stack) == 0) {
			t.Errorf("after %d looks at it the task ran, and then it has a stack of %d calls and an offloaded function %v", before, len(k.Stack), k.Offload)
		}
		if !l.Exact && !k.Moved {
			again++
		}
	})
	if again == 0 {
		t.Error("it was never read again")
	}
}

// TestFirstEnds: when the task with which the walk through all of them began ends, none is listed
// twice, and none is missing because of a limit.
func TestFirstEnds(t *testing.T) {
	t.Parallel()
	i := recorded(t)
	target := opened(t, i)
	ring := target.RingOf()
	at := func(offset int) uint64 { return target.InLoop(offset) }
	first := ring.Start
	second, last := i.number(t, first+ring.Next), i.number(t, first+ring.Prev)
	listed, gone := 0, 0
	atEachRead(t, i, at(layout.LoopTasks), second, func(l *inspect.Loop, before int, _ bool) {
		ids := make(map[uint64]bool)
		for _, k := range l.Tasks {
			if ids[k.ID] {
				t.Fatalf("after %d looks the first task ended, and #%d is listed twice, of %d", before, k.ID, len(l.Tasks))
			}
			ids[k.ID] = true
		}
		if len(ids) < 10 || l.Omitted != 0 || l.Short != "" {
			t.Errorf("after %d looks the first task ended, and of 10 others %v are listed, %d left out (%s)", before, ids, l.Omitted, l.Short)
		}
		if ids[1] {
			listed++
		} else {
			gone++
		}
	}, [2]uint64{first + ring.Next, 0}, [2]uint64{last + ring.Next, second}, [2]uint64{second + ring.Prev, last},
		[2]uint64{at(layout.LoopLive), 10}, [2]uint64{at(layout.LoopSteps), i.number(t, at(layout.LoopSteps)) + 1})
	if listed == 0 || gone == 0 {
		t.Errorf("the first was listed %d times, and not %d times; want both", listed, gone)
	}
}
