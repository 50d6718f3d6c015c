//go:build linux && (amd64 || arm64)

package inspect_test

// Snapshots of a program that changes at each moment of the reading.

import (
	"encoding/binary"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/rondo-go/rondo/inspect"
	"github.com/rondo-go/rondo/internal/layout"
)

// atEachRead takes snapshots of an image in which the word at an address becomes
// another before the first read, before the second, and so on, until it becomes it
// after the last one, and more words with it. It passes check each snapshot, and how
// often the reader had read the word before the change, and after it.
func atEachRead(t *testing.T, i *image, at, word uint64, check func(l *inspect.Loop, before, after int), more ...[2]uint64) {
	t.Helper()
	atEachReadOf(t, inspect.Options{}, i, at, word, check, more...)
}

// mostRecord is more than the record of a task or of what it waits for takes.
const mostRecord = 1 << 10

// atEachReadOf is atEachRead for snapshots with options.
func atEachReadOf(t *testing.T, o inspect.Options, i *image, at, word uint64, check func(l *inspect.Loop, before, after int), more ...[2]uint64) {
	t.Helper()
	atEachReadOfAll(t, o, i, at, word, func(p *inspect.Program, before, after int) {
		if len(p.Loops) != 1 {
			t.Fatalf("%d loops; want one", len(p.Loops))
		}
		check(p.Loops[0], before, after)
	}, more...)
}

// atEachReadOfAll is atEachRead for snapshots of several loops.
func atEachReadOfAll(t *testing.T, o inspect.Options, i *image, at, word uint64, check func(p *inspect.Program, before, after int), more ...[2]uint64) {
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
		before, after := 0, 0
		d.seen = func(addr uint64, size int) {
			switch {
			case addr > at || at >= addr+uint64(size) || size > mostRecord: // the walk reads ahead
			case done:
				after++
			default:
				before++
			}
		}
		p, err := target.Snapshot(o)
		if err != nil {
			t.Fatal(err)
		}
		if !done {
			return
		}
		check(p, before, after)
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

// TestCycleLasts: a cycle, in one loop or through several, is reported only if none of its tasks
// has run since it was read the first time, and each still waits for the next, at whatever moment
// that changes; nor has one that could wake them, in a Select.
func TestCycleLasts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode, task, word string
		last             int // so many of the last looks are for something else
	}{
		{"waits", "dead-a", "switches", 0}, {"waits", "dead-a", "job", 0}, {"waits", "dead-a", "owner", 0},
		{"waits", "dead-a", "number", 1}, {"waits", "dead-a", "state", 1}, {"waits", "dead-a", "worker", 1},
		{"shared", "second in line", "switches", 0}, {"shared", "second in line", "writer", 0}, {"shared", "second in line", "writing", 0},
		{"shared", "second", "state", 1}, {"shared", "second", "number", 1}, {"shared", "first", "switches", 0},
		{"choice", "one", "switches", 0}, {"choice", "two", "switches", 0}, {"choice", "two", "owner", 0},
		{"ring", "caller", "switches", 0}, {"ring", "caller", "state", 1}, {"ring", "caller", "number", 1},
		{"ring", "call of shard-0", "switches", 0}, {"ring", "call of shard-1", "switches", 0},
	} {
		i := recordedIn(t, c.mode)
		target := opened(t, i)
		_, words := target.WordsOf(c.task)
		value := i.number(t, words[c.word]) ^ 8 // of another task, or nothing
		switch c.word {
		case "state":
			value = value&^0xff | 1 // ready
		case "writing":
			value &^= 0xff
		}
		whole := shot(t, target, inspect.Options{})
		most, reported, dropped := conclusions(whole), 0, 0
		atEachReadOfAll(t, inspect.Options{}, i, words[c.word], value, func(p *inspect.Program, before, after int) {
			anew := false // it is of the time after the change as a whole
			for _, l := range p.Loops {
				anew = anew || slices.ContainsFunc(l.Tasks, func(k *inspect.Task) bool { return k.Name == c.task && c.word == "switches" && k.Switches == value })
			}
			switch n := conclusions(p); {
			case n > 0 && n < most && c.mode == "choice":
				t.Errorf("%s, the %s of %s: it could wake the other, and yet %d cycles of %d are left", c.mode, c.word, c.task, n, most)
			case n < most:
				dropped++
			case before > 0 && after > c.last && !anew:
				t.Errorf("%s, the %s of %s: after %d looks it changed, and yet there is a cycle", c.mode, c.word, c.task, before)
			default:
				reported++
			}
		})
		if reported == 0 || dropped == 0 {
			t.Errorf("%s, the %s of %s: a cycle was reported %d times, and not %d times; want both", c.mode, c.word, c.task, reported, dropped)
		}
	}
}

// conclusions counts the cycles of a program.
func conclusions(p *inspect.Program) int {
	n := len(p.Rings)
	for _, l := range p.Loops {
		n += len(l.Cycles)
	}
	return n
}

// TestWaitOfTwoMoments: the words that say what a task waits for are not written at once. If one of
// them changes while the task is read, the snapshot is of two moments, although the task has not
// run.
func TestWaitOfTwoMoments(t *testing.T) {
	t.Parallel()
	for mode, c := range map[string]struct {
		task  string
		words []string
	}{
		"waits":  {"getter", []string{"list", "what", "length of what", "on", "since", "inner"}},
		"shared": {"second reader", []string{"readers"}},
	} {
		i := recordedIn(t, mode)
		_, words := opened(t, i).WordsOf(c.task)
		for _, word := range c.words {
			noticed := 0
			atEachRead(t, i, words[word], i.number(t, words[word])^8, func(l *inspect.Loop, before, after int) {
				switch two := before > 0 && after > 0; {
				case two && l.Exact:
					t.Errorf("%s: after %d looks at it the word changed, and yet the snapshot is of one moment", word, before)
				case two:
					noticed++
				}
			})
			if noticed == 0 {
				t.Errorf("%s: the change was never between two looks", word)
			}
		}
	}
}

// TestNeverStill: of a task that runs at each look nothing is said that is true only while it
// waits.
func TestNeverStill(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"waits", "shared"} {
		i := recordedIn(t, mode)
		for _, k := range shot(t, opened(t, i), inspect.Options{}).Loops[0].Tasks {
			if k.State != "waiting" {
				continue
			}
			d := damage(i, nil)
			target := opened(t, d)
			_, words := target.WordsOf(k.Name)
			d.seen = func(addr uint64, size int) {
				if at := words["switches"]; addr <= at && at < addr+uint64(size) {
					d.put(at, binary.LittleEndian.AppendUint64(nil, d.u64(at)+1))
				}
			}
			l := shot(t, target, inspect.Options{StacksOf: []uint64{k.ID}}).Loops[0]
			got := *task(t, l, k.Name)
			want := inspect.Task{ID: k.ID, Name: k.Name, Func: k.Func, State: k.State, Moved: true, Parent: k.Parent, Owner: k.Owner, Site: k.Site,
				Age: got.Age, Switches: got.Switches, Busy: got.Busy, LongestStep: got.LongestStep, SlowSteps: got.SlowSteps, WokenBy: got.WokenBy}
			if !reflect.DeepEqual(got, want) || l.Exact {
				t.Errorf("of %s, which has run, it is said that it is %+v; want %+v", k.Name, got, want)
			}
		}
	}
}

// TestHolderReplaced: what a lock is held by is never said of a task whose place
// another has taken.
func TestHolderReplaced(t *testing.T) {
	t.Parallel()
	i, number, _ := places(t, "dead-b")
	for _, most := range []int{0, 5} { // with a limit, not all tasks are looked at first
		holders := make(map[uint64]int)
		atEachReadOf(t, inspect.Options{MaxTasks: most}, i, number, 77, func(l *inspect.Loop, _, _ int) {
			k := task(t, l, "dead-a")
			on := k.On
			holders[on]++
			if k.Abandoned {
				t.Errorf("at most %d tasks: what dead-a waits for is called abandoned, by one that lives", most)
			}
			if on != 0 && !slices.ContainsFunc(l.Tasks, func(k *inspect.Task) bool { return k.ID == on }) {
				t.Errorf("at most %d tasks: dead-a waits for #%d, which is gone, or has come", most, on)
			}
		})
		if holders[3] == 0 || holders[77] == 0 {
			t.Errorf("at most %d tasks: how often dead-a waited for which one: %v; want #3 and #77", most, holders)
		}
	}
}

// TestHolderBeyondLimit: what a lock is held by is known also if that is not among the tasks that
// are read.
func TestHolderBeyondLimit(t *testing.T) {
	l := shot(t, opened(t, recorded(t)), inspect.Options{MaxTasks: 2}).Loops[0]
	if k := task(t, l, "dead-a"); len(l.Tasks) != 2 || l.Omitted != 9 || !l.Exact || k.On != 3 || k.Waiting != `lock "audit" held by #3 dead-b` {
		t.Errorf("of %d tasks, with %d left out, exact %v, dead-a waits for #%d: %s; want 2, 9, and #3", len(l.Tasks), l.Omitted, l.Exact, k.On, k.Waiting)
	}
}

// TestNumberReplaced: of a task that has run, nothing is said if its place is another's by then:
// the copy in which its number still stood may be of two moments.
func TestNumberReplaced(t *testing.T) {
	t.Parallel()
	i, number, switches := places(t, "dead-b")
	shown, dropped := 0, 0
	atEachRead(t, i, number, 77, func(l *inspect.Loop, before, _ int) {
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

// TestGoneMeanwhile: a task that has ended while it was read is not listed, nor if its place is
// another's by then. The number of one that has not begun is read once more after all else.
func TestGoneMeanwhile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode, task, word string
		looks            int // it is gone after so many at least
	}{{"waits", "getter", "state", 1}, {"waits", "getter", "number", 1}, {"shared", "third", "number", 2}} {
		i := recordedIn(t, c.mode)
		target := opened(t, i)
		_, words := target.WordsOf(c.task)
		id, value, more := i.number(t, words["number"]), uint64(77), [][2]uint64(nil)
		if c.word == "state" {
			value = i.number(t, words["state"])&^0xff | 4
			next, previous, ring := i.number(t, words["next"]), i.number(t, words["previous"]), target.RingOf()
			more = [][2]uint64{{words["next"], 0}, {previous + ring.Next, next}, {next + ring.Prev, previous}}
		}
		listed, most := 0, -1
		atEachRead(t, i, words[c.word], value, func(l *inspect.Loop, before, after int) {
			switch is := slices.ContainsFunc(l.Tasks, func(k *inspect.Task) bool { return k.ID == id }); {
			case is && before > 0 && after > 0:
				t.Errorf("the %s of %s: after %d looks it was gone, and yet it is listed", c.word, c.task, before)
			case is:
				listed++
			default:
				most = max(most, before)
			}
		}, more...)
		if listed == 0 || most < c.looks {
			t.Errorf("%s: it was listed %d times, and gone after %d looks at most; want both, and %d", c.task, listed, most, c.looks)
		}
	}
}

// TestReplacedWithinLimit: tasks that are gone by the time they are read are counted, and are none
// of those that a limit leaves out.
func TestReplacedWithinLimit(t *testing.T) {
	t.Parallel()
	i, number, _ := places(t, "getter")
	missed := make(map[bool]int) // by whether the task was read before
	atEachReadOf(t, inspect.Options{MaxTasks: 8}, i, number, 77, func(l *inspect.Loop, before, _ int) {
		missed[before > 0] += l.Missed
		if len(l.Tasks)+l.Missed != 8 || l.Omitted != 3 || l.Exact != (l.Missed == 0) {
			t.Errorf("after %d looks: %d tasks, %d missed, %d left out, exact %v; want 8 together, and 3", before, len(l.Tasks), l.Missed, l.Omitted, l.Exact)
		}
	})
	if missed[false] == 0 || missed[true] == 0 {
		t.Errorf("it was missed %d times before it was read, and %d times after that; want both", missed[false], missed[true])
	}
}

// TestLoopEndsMeanwhile: a loop that has ended while it was read is not in the snapshot.
func TestLoopEndsMeanwhile(t *testing.T) {
	t.Parallel()
	i := recorded(t)
	listed, gone := 0, 0
	atEachReadOfAll(t, inspect.Options{}, i, opened(t, i).InLoop(layout.LoopSerial), 0, func(p *inspect.Program, before, after int) {
		switch {
		case len(p.Loops) == 0:
			gone++
		case after > 0:
			t.Errorf("after %d looks the loop ended, and yet it is listed", before)
		default:
			listed++
		}
	})
	if listed == 0 || gone == 0 {
		t.Errorf("it was listed %d times, and not %d times; want both", listed, gone)
	}
}

// TestLoopOfMemory: what is said of a loop itself follows from its own record. Tasks behind one
// whose link leads nowhere are missing, and have not ended.
func TestLoopOfMemory(t *testing.T) {
	i := recorded(t)
	d := damage(i, nil)
	target := opened(t, d)
	_, words := target.WordsOf("getter")
	put := func(at, value uint64) { d.put(at, binary.LittleEndian.AppendUint64(nil, value)) }
	now := i.number(t, target.InLoop(layout.LoopNow))
	put(target.InLoop(layout.LoopStarted), now-uint64(10*time.Second))
	for idle, busy := range map[time.Duration]time.Duration{4 * time.Second: 6 * time.Second, time.Minute: 0} {
		put(target.InLoop(layout.LoopIdle), uint64(idle))
		if l := shot(t, target, inspect.Options{}).Loops[0]; l.Name != "target" || l.Uptime != 10*time.Second || l.Idle != idle || l.Busy != busy {
			t.Errorf("%s is up for %v, idle for %v, busy for %v; want 10s, %v, %v", l.Name, l.Uptime, l.Idle, l.Busy, idle, busy)
		}
	}
	put(target.InLoop(layout.LoopName)+8, 0)
	put(words["next"], 8)
	for most, want := range map[int]string{0: "5 tasks were not read: the memory where they are listed could not be", 6: ""} {
		l := shot(t, target, inspect.Options{MaxTasks: most}).Loops[0]
		if l.Name != "loop" || len(l.Tasks) != 6 || l.Omitted != 5 || l.Short != want {
			t.Errorf("at most %d tasks: %s has %d, and %d are left out (%s); want loop, 6, 5, %q", most, l.Name, len(l.Tasks), l.Omitted, l.Short, want)
		}
	}
	put(target.InLoop(layout.LoopSerial), 0)
	if p := shot(t, target, inspect.Options{}); len(p.Loops) != 0 {
		t.Errorf("a loop that has ended is listed")
	}
}

// TestLongSteps: of the steps that held the loop the last ones are known, the very last first.
func TestLongSteps(t *testing.T) {
	i := recorded(t)
	d := damage(i, nil)
	target := opened(t, d)
	at, now := target.InLoop(layout.LoopCosts), i.number(t, target.InLoop(layout.LoopNow))
	put := func(offset int, value uint64) { d.put(at+uint64(offset), binary.LittleEndian.AppendUint64(nil, value)) }
	const room = layout.CostsRing
	for n := range uint64(room + 3) {
		step := layout.CostsHeld + int(n%room)*layout.HeldSize
		put(step+layout.HeldTask, n)
		put(step+layout.HeldTook, uint64(time.Second))
		put(step+layout.HeldBegan, now-uint64(time.Minute)+n*uint64(time.Second))
		put(layout.CostsCount, n+1)
		var want []inspect.Step
		for k := int(n); k >= 0 && len(want) < room; k-- {
			want = append(want, inspect.Step{Task: uint64(k), Took: time.Second, Ago: time.Minute - time.Duration(k+1)*time.Second})
		}
		if got := shot(t, target, inspect.Options{}).Loops[0].LongSteps; !slices.Equal(got, want) {
			t.Errorf("after %d long steps there are %+v, want %+v", n+1, got, want)
		}
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
	atEachRead(t, i, state, word&^0xff|1, func(l *inspect.Loop, before, after int) {
		switch k := task(t, l, "puller"); {
		case after > 0 && (k.What != "" || k.Waiting != ""):
			t.Errorf("after %d looks at it the task was ready, and yet it waits for %s", before, k.Waiting)
		case after > 0:
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
	atEachReadOf(t, asked, i, switches, 1000, func(l *inspect.Loop, before, after int) {
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
	atEachRead(t, i, at(layout.LoopTasks), second, func(l *inspect.Loop, before, _ int) {
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
