package order

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/sim/internal/choice"
)

// A model is a loop with tasks that yield, sleep, start others and post callbacks. What a task does
// depends on its number and its step alone, so all else is the order's.
type model struct {
	t       *testing.T
	order   *Order
	choices *choice.Choices
	now     int64
	queue   []entry
	timers  []entry
	steps   map[uint64]uint64 // of the tasks, by number
	log     []string          // what ran, and when
	told    []uint64          // for whom choices were
	before  [][]uint64        // and what had been ready for longer
	last    choice.Choice     // what was told last
	held    map[uint64]uint64 // for how many turns a task was passed over, as was told last
	late    map[string]int    // how many times something was late, by its kind
	turn    int               // how many things are ready in this turn
	most    int               // how many choices there are at most
}

// An entry is ready, or will be.
type entry struct {
	id   uint64 // of a task; 0 or driver.Line for a callback
	at   int64  // when it is ready
	held uint64 // for how many turns it was passed over
	put  bool   // it was put off until at
}

const (
	host       = 3<<8 | 1 // the number of the host, and the first of its lives
	modelTasks = 12
	modelSteps = 10
)

// newModel returns a loop whose order is that of c, which is recorded.
func newModel(t *testing.T, c *choice.Choices) *model {
	c.Records = true
	return newUnrecorded(t, c)
}

// newUnrecorded returns a loop whose order is that of c.
func newUnrecorded(t *testing.T, c *choice.Choices) *model {
	m := &model{t: t, choices: c, now: 1e9, steps: make(map[uint64]uint64), late: make(map[string]int), most: 1e9}
	m.held = make(map[uint64]uint64)
	c.Told = m.tell
	m.order = New(c, host, func() int64 { return m.now })
	for range 3 {
		m.start(0)
	}
	return m
}

// tell is told of each choice.
func (m *model) tell(one choice.Choice, who uint64, before []uint64) {
	m.told, m.before, m.last = append(m.told, who), append(m.before, slices.Clone(before)), one
	switch one.Purpose {
	case choice.ForPoll, choice.ForCallback:
		return
	case choice.ForHold:
		m.held[who&0xffffffff] = one.Value
	}
	if task := m.order.tasks[who&0xffffffff]; who>>32 != host>>8 || task == nil || task.place != one.Place {
		m.t.Errorf("%v is told as that of %x", one, who)
	}
}

// start starts a task.
func (m *model) start(parent uint64) {
	id := uint64(len(m.steps) + 1)
	m.steps[id] = 0
	if m.order.Follows() {
		m.order.Started(id, parent)
	}
	m.queue = append(m.queue, entry{id: id})
}

// run runs the loop until all tasks have ended, or there were too many choices.
func (m *model) run() *model {
	for len(m.queue)+len(m.timers) > 0 {
		if len(m.queue) == 0 {
			m.sleep()
		}
		m.turn = len(m.queue)
		for n := m.turn; n > 0; n-- {
			if m.most--; m.most < 0 {
				m.order.End()
				return m
			}
			m.next(n)
		}
	}
	m.order.End()
	return m
}

// sleep sleeps until the first timer, or longer, and makes what is due ready.
func (m *model) sleep() {
	slices.SortStableFunc(m.timers, func(a, b entry) int { return int(a.at - b.at) })
	until := m.timers[0].at
	if until > m.now {
		m.order.Slept(until - m.now)
		woken := m.order.Sleeps(m.now, until)
		if woken < until || woken > until+int64(spanMost) {
			m.t.Fatalf("at %d it sleeps until %d and wakes up at %d", m.now, until, woken)
		}
		if woken > until {
			m.late["sleep"]++
		}
		if l := m.order.late; l.grid > 0 && l.poll == 0 && woken%l.grid != 0 && !m.order.Calm && !m.choices.Renewed() {
			m.t.Errorf("it wakes up at %d, with a grid of %d", woken, l.grid)
		}
		m.now = woken
	}
	for len(m.timers) > 0 && m.timers[0].at <= m.now {
		m.queue, m.timers = append(m.queue, m.timers[0]), m.timers[1:]
	}
}

// next runs one of the first n things that are ready, or passes it over, as the loop does.
func (m *model) next(n int) {
	said := len(m.told)
	i := m.order.Choose(n, func(i int) uint64 { return m.queue[i].id })
	runs := i >= 0
	i = max(i, ^i)
	if runs && i > 0 && m.choices.Records {
		m.check(said, i)
	}
	m.queue[0], m.queue[i] = m.queue[i], m.queue[0]
	e := m.queue[0]
	m.queue = m.queue[1:]
	switch {
	case runs:
		m.step(e)
	case m.order.Until() > m.now && e.put:
		m.t.Fatalf("task %d is put off a second time", e.id)
	case m.order.Until() > m.now:
		m.late["stall"]++
		m.timers = append(m.timers, entry{id: e.id, at: m.order.Until(), put: true})
	default:
		m.late["hold"]++
		if e.held++; e.held > passedMax {
			m.t.Fatalf("task %d is passed over for %d turns", e.id, e.held)
		}
		m.queue = append(m.queue, e)
	}
}

// check looks whether the choice of what is at place i names that, and what is before it.
func (m *model) check(said, i int) {
	number := func(e entry) uint64 {
		if e.id == driver.Line {
			return 3 << 32
		}
		return 3<<32 | e.id
	}
	var before []uint64
	for _, e := range m.queue[:i] {
		before = append(before, number(e))
	}
	if m.last.Purpose == choice.ForOrder && m.last.Value > uint64(m.turn) {
		m.t.Errorf("of %d things one is chosen as number %d", m.turn, m.last.Value)
	}
	last := len(m.told) - 1
	if last < said || m.told[last] != number(m.queue[i]) || !slices.Equal(m.before[last], before) {
		m.t.Fatalf("the choice of %v at place %d is told as that of %x before %x", m.queue[i], i, m.told[said:], m.before[said:])
	}
}

// step runs a step of a task, or a callback.
func (m *model) step(e entry) {
	m.log = append(m.log, fmt.Sprintf("%d at %v", e.id, time.Duration(m.now)))
	if e.id == 0 || e.id == driver.Line {
		return
	}
	if m.order.Follows() {
		m.order.Stepped(e.id)
		if e.held != m.held[e.id] {
			m.t.Errorf("task %d was passed over for %d turns, and %d are told", e.id, e.held, m.held[e.id])
		}
		m.held[e.id] = 0
	}
	step := m.steps[e.id]
	if m.steps[e.id]++; step == modelSteps {
		return
	}
	next := entry{id: e.id}
	does := choice.Mix(e.id<<8 | step)
	switch does % 5 {
	case 0:
		next.at = m.now + int64(does>>8%20e6)
		m.timers = append(m.timers, next)
		return
	case 1:
		if len(m.steps) < modelTasks {
			m.start(e.id)
		}
	case 2:
		m.queue = append(m.queue, entry{}, entry{id: driver.Line}, entry{id: driver.Line})
	}
	if m.order.DrawsShares() && m.order.EndsShare(e.id) {
		m.late["share"]++
		m.log = append(m.log, fmt.Sprintf("%d gives others a turn", e.id))
	}
	m.queue = append(m.queue, next)
}

// seedChoices returns the choices of a seed by which things may be late, and tasks give others
// turns.
func seedChoices(seed uint64) *choice.Choices {
	c := choice.New(seed)
	c.Rough, c.Shares = true, true
	return c
}

// TestRepeat: a list of the choices of a run repeats it, whatever was late in it, also one that is
// cut short. That they are recorded changes nothing. Each kind of delay happens in some seeds, and
// in those alone that have it.
func TestRepeat(t *testing.T) {
	late, orders := make(map[string]int), make(map[string]bool)
	for seed := range uint64(100) {
		first := newModel(t, seedChoices(seed)).run()
		plain := newUnrecorded(t, seedChoices(seed)).run()
		if !slices.Equal(first.log, plain.log) || len(plain.told) > 0 {
			t.Errorf("seed %d: another run is recorded, or one that is not is told", seed)
		}
		l := first.order.late
		has := map[string]bool{
			"sleep": l.poll > 0 || l.grid > 0, "stall": l.stall > 0, "hold": l.hold > 0 || l.strict, "share": first.order.share.ends > 0,
		}
		for kind, n := range first.late {
			if !has[kind] {
				t.Errorf("seed %d: %d times a %s", seed, n, kind)
			} else if !l.strict && (kind != "sleep" || l.grid == 0) {
				late[kind]++
			}
		}
		orders[fmt.Sprint(first.log)] = true
		repeats(t, seed, 1e9, first)
		cut := newModel(t, seedChoices(seed))
		cut.most = 40
		repeats(t, seed, 40, cut.run())
	}
	for kind, least := range map[string]int{"sleep": 1, "stall": 10, "hold": 15, "share": 20} {
		if n := late[kind]; n < least {
			t.Errorf("%s: in %d seeds", kind, n)
		}
	}
	if len(orders) < 98 {
		t.Errorf("100 seeds have %d orders", len(orders))
	}
}

// TestRepeatFresh: so does a list of fresh choices. Those that are to be plain are.
func TestRepeatFresh(t *testing.T) {
	s := &choice.Shrinker{Until: time.Now().Add(time.Hour)}
	for seed := range uint64(8) {
		s.Best = append(s.Best, newModel(t, seedChoices(seed)).run().choices.Made...)
	}
	kinds := make(map[choice.Purpose]int)
	fresh := uint64(0)
	for one := range s.Candidates() {
		if s.Failed = false; one.Fresh == nil {
			continue
		}
		if fresh++; fresh > 60 {
			break
		}
		seed := 1 + fresh%40
		c := seedChoices(seed)
		c.Take(one)
		m := newModel(t, c).run()
		repeats(t, seed, 1e9, m)
		for _, made := range m.choices.Made {
			if kinds[made.Purpose]++; !c.Keeps(made.Key) {
				t.Errorf("seed %d: %v is not to be made", seed, made)
			}
		}
	}
	for _, p := range []choice.Purpose{choice.ForOrder, choice.ForCallback, choice.ForHold, choice.ForStall, choice.ForPoll, choice.ForShare} {
		if kinds[p] == 0 {
			t.Errorf("no fresh choice is for %v", choice.Kinds[p.Rank()].Words)
		}
	}
}

// repeats compares a run with that of its list.
func repeats(t *testing.T, seed uint64, most int, first *model) {
	t.Helper()
	made := first.choices.Made
	c := seedChoices(seed)
	c.Repeat(made)
	again := newModel(t, c)
	again.most = most
	again.run()
	keys := make(map[choice.Key]bool)
	for _, one := range made {
		if keys[one.Key] {
			t.Errorf("seed %d: %v was made twice", seed, one)
		}
		keys[one.Key] = true
	}
	for i := range min(len(first.log), len(again.log)) {
		if first.log[i] != again.log[i] {
			t.Fatalf("seed %d: step %d of %d is %s, and was %s", seed, i, len(first.log), again.log[i], first.log[i])
		}
	}
	if len(again.log) != len(first.log) || choice.Format(again.choices.Made) != choice.Format(made) {
		t.Fatalf("seed %d: %d steps and then %d; a list of %s made %s", seed, len(first.log), len(again.log),
			choice.Format(made), choice.Format(again.choices.Made))
	}
	if !slices.Equal(first.told, again.told) {
		t.Fatalf("seed %d: the choices are told as those of others", seed)
	}
}

// TestOnTime: seeds in which nothing may be late have no delay, nor has a loop that is calm, and
// seed 0 runs what was ready first.
func TestOnTime(t *testing.T) {
	orders := make(map[string]bool)
	for seed := range uint64(50) {
		exact := newModel(t, choice.New(seed))
		calm := newModel(t, seedChoices(seed))
		calm.order.Calm = true
		for _, m := range []*model{exact, calm} {
			m.run()
			if delete(m.late, "share"); len(m.late) > 0 || !m.order.Punctual() == m.order.Calm {
				t.Errorf("seed %d: %v", seed, m.late)
			}
		}
		if n := len(exact.choices.Made); (seed == 0) != (n == 0) {
			t.Errorf("seed %d makes %d choices", seed, n)
		}
		orders[fmt.Sprint(exact.log)] = true
	}
	if len(orders) < 48 {
		t.Errorf("50 seeds have %d orders", len(orders))
	}
}

// TestLateness: how many of the seeds have which kinds of delays. Fresh choices have no priorities.
func TestLateness(t *testing.T) {
	count := make(map[string]int)
	for seed := range uint64(4000) {
		c := seedChoices(seed)
		l := latenessOf(c)
		for what, is := range map[string]bool{
			"hold": l.hold > 0, "stall": l.stall > 0, "hold and stall": l.hold > 0 && l.stall > 0, "poll": l.poll > 0,
			"none": l.none(), "strict": l.strict, "poll and strict": l.poll > 0 && l.strict, "grid": l.grid > 0, "grid and stall": l.grid > 0 && l.stall > 0,
		} {
			if is {
				count[what]++
			}
		}
		c.Take(choice.Candidate{Fresh: new(choice.Fresh)})
		c.Rough = true
		if fresh := latenessOf(c); fresh.strict || fresh.hold != l.hold {
			t.Errorf("seed %d: %+v, with fresh choices %+v", seed, l, fresh)
		}
	}
	for what, want := range map[string]int{
		"hold": 2000, "stall": 2000, "hold and stall": 1000, "poll": 1000,
		"none": 187, "strict": 2000, "poll and strict": 500, "grid": 2000, "grid and stall": 1000,
	} {
		if n := count[what]; n < want*9/10 || n > want*11/10 {
			t.Errorf("%s: %d seeds of 4000, want about %d", what, n, want)
		}
	}
}

// TestSpan: how late something is depends on how long the loop has slept lately.
func TestSpan(t *testing.T) {
	for _, one := range []struct {
		slept, least, most time.Duration // in every second case it is late by something from least to most
	}{
		{0, 0, 0},
		{10 * time.Second, 5 * time.Second, 40 * time.Second},
		{time.Hour, spanMost, spanMost},
	} {
		o := New(choice.New(1), host, nil)
		o.late.rand = choice.Stream(1, choice.ForStall)
		for range len(o.late.recent) {
			o.Slept(int64(one.slept))
		}
		short, long, quick := 0, 0, 0
		for range 1000 {
			switch d := time.Duration(o.late.span()); {
			case d >= 100*time.Microsecond && d < 820*time.Millisecond:
				if short++; d < 10*time.Millisecond {
					quick++
				}
			case d < one.least || d > one.most:
				t.Errorf("after sleeps of %v: late by %v", one.slept, d)
			default:
				long++
			}
		}
		if want := min(int(one.slept), 500); long < want-60 || long > want+60 || quick < short/3 || quick > short*2/3 {
			t.Errorf("after sleeps of %v: %d are short, %d of them less than 10 ms, and %d long", one.slept, short, quick, long)
		}
	}
}

// TestOversleeps: a loop wakes up late on a path of Explore and by a list, never beyond the last
// instant, and not when it is calm.
func TestOversleeps(t *testing.T) {
	const last = math.MaxInt64 - 1
	walk := func() *choice.Choices {
		c := choice.New(0)
		c.Walk = &choice.Walk{Late: 5, Chosen: []int{1}}
		return c
	}
	list := func() *choice.Choices {
		c := choice.New(0)
		c.Repeat([]choice.Choice{{Key: choice.Key{Purpose: choice.ForPoll, Place: host}, Value: 5}})
		return c
	}
	for name, choices := range map[string]func() *choice.Choices{"path": walk, "list": list} {
		for until, want := range map[int64]int64{100: 105, last - 2: last} {
			if got := New(choices(), host, nil).Sleeps(0, until); got != want {
				t.Errorf("by a %s it sleeps until %d, want %d", name, got, want)
			}
			o := New(choices(), host, nil)
			o.Calm = true
			if got := o.Sleeps(0, until); got != until {
				t.Errorf("by a %s it sleeps until %d, and is calm", name, got)
			}
		}
	}
}

// TestSomeSleeps: some sleeps are too long, and on a grid all that do not end on it.
func TestSomeSleeps(t *testing.T) {
	for _, one := range []struct {
		late        lateness
		least, most int // how many of 1000 are late
	}{
		{lateness{poll: 60_000}, 30, 90},
		{lateness{stall: 60_000}, 0, 0},
		{lateness{grid: 10}, 900, 900},
	} {
		o := New(choice.New(0), host, nil)
		o.late.lateness, o.late.rand = one.late, choice.Stream(1, choice.ForStall)
		late := 0
		for until := range int64(1000) {
			if o.Sleeps(0, 1000+until) > 1000+until {
				late++
			}
		}
		if late < one.least || late > one.most {
			t.Errorf("%+v: %d sleeps are late", one.late, late)
		}
	}
}

// TestBusy: on a loop that is busy for very long nothing is late, until it has slept.
func TestBusy(t *testing.T) {
	o := New(choice.New(1), host, nil)
	for range 2 {
		for turn := range busyMost + 1 {
			if o.Punctual() {
				t.Fatalf("nothing is late after %d turns", turn)
			}
			for n := 2; n > 0; n-- {
				o.Choose(n, func(i int) uint64 { return uint64(i) })
			}
		}
		if !o.Punctual() {
			t.Error("something may be late")
		}
		o.Slept(1)
	}
}

// TestStrict: if few tasks are ready, only the one with the highest priority runs, until it is
// lowered. If a callback is ready too, or there are many, all run.
func TestStrict(t *testing.T) {
	for n := 1; n <= strictMax+1; n++ {
		for callback := range 2 {
			o := New(choice.New(0), host, nil)
			o.late.lateness, o.late.tasks = lateness{strict: true}, make(map[uint64]*delay)
			o.priorities = newPriorities(choice.Stream(uint64(n), choice.ForStall), 0)
			var queue, ran ready
			for id := range n {
				queue = append(queue, uint64(id+1-callback))
			}
			for left := n; left > 0; left-- {
				i := o.Choose(left, func(i int) uint64 { return queue[i] })
				place := max(i, ^i)
				queue[0], queue[place] = queue[place], queue[0]
				if i >= 0 {
					ran = append(ran, queue[0])
				}
				queue = queue[1:]
			}
			all := callback == 1 || n > strictMax
			if all && len(ran) != n || !all && len(ran) != 1 {
				t.Errorf("of %d things, with a callback: %v, these run: %v", n, callback == 1, ran)
			}
			for id := range uint64(n) {
				if !all && o.priority(id+1) > o.priority(ran[0]) {
					t.Errorf("task %d runs, and %d has a higher priority", ran[0], id+1)
				}
			}
		}
	}
}

// TestFirstOfList: a list of another run may name what is not there.
func TestFirstOfList(t *testing.T) {
	for _, one := range []struct {
		value uint64
		queue ready
		want  int
	}{{1, ready{1, 0, 0}, 1}, {7, ready{1, 0, 0}, 2}, {2, ready{1, 2, 3}, 0}} {
		c := choice.New(1)
		c.Repeat([]choice.Choice{{Key: choice.Key{Purpose: choice.ForCallback, Place: host}, Value: one.value}})
		o := New(c, host, nil)
		if i := o.Choose(3, func(i int) uint64 { return one.queue[i] }); i != one.want || o.DrawsShares() {
			t.Errorf("%+v: %d; shares are drawn: %v", one, i, o.DrawsShares())
		}
	}
}

// TestPlaces: the place of a task follows from its parents, and not from its number.
func TestPlaces(t *testing.T) {
	c := choice.New(1)
	c.Records = true
	places := func(child, second, grandchild uint64) (all []uint64) {
		o := New(c, host, nil)
		o.Started(child, 0)
		o.Started(second, 0)
		o.Started(grandchild, child)
		for _, id := range []uint64{child, second, grandchild} {
			all = append(all, o.task(id).place)
		}
		return all
	}
	a := places(1, 2, 3)
	if b := places(7, 5, 4); !slices.Equal(a, b) || a[0] == a[1] || a[0] == a[2] || a[1] == a[2] {
		t.Errorf("%x and %x", a, b)
	}
}

// TestTurnOfPath: on a path of Explore, too, the first choice begins a turn.
func TestTurnOfPath(t *testing.T) {
	c := choice.New(0)
	c.Walk = new(choice.Walk)
	o := New(c, host, nil)
	for _, one := range []struct {
		n      int
		begins bool
	}{{3, true}, {2, false}, {1, false}, {2, true}} {
		if o.Begins(one.n) != one.begins {
			t.Errorf("%+v: %v", one, !one.begins)
		}
		o.Choose(one.n, func(i int) uint64 { return uint64(i) })
	}
}
