//go:build linux && (amd64 || arm64)

package inspect_test

// Snapshots of a program that changes at each moment of the reading.

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/rondo-go/rondo/inspect"
)

// atEachRead takes snapshots of an image in which the word at an address becomes
// another before the first read, before the second, and so on, until it becomes it
// after the last one, and more words with it. It passes check each snapshot, and how
// often the reader had read the word before the change.
func atEachRead(t *testing.T, i *image, at, word uint64, check func(l *inspect.Loop, before int, after bool), more ...[2]uint64) {
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
		p, err := target.Snapshot(inspect.Options{})
		if err != nil || len(p.Loops) != 1 {
			t.Fatalf("%d loops, %v", len(p.Loops), err)
		}
		if !done {
			return
		}
		check(p.Loops[0], before, after)
	}
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
