package shard

import (
	"errors"
	"slices"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/kernel"
)

// An endedLoop takes nothing. meanwhile is called when it is asked.
type endedLoop struct {
	kernel.Loop
	meanwhile func()
}

func (l endedLoop) Post(func()) error {
	l.meanwhile()
	return rondo.ErrLoopClosed
}

// TestBoxKeepsOrder: what was put before the loop has begun, and while it is on its way, is
// delivered in the order in which it was put, by one hand-over. A box that is empty then has none.
func TestBoxKeepsOrder(t *testing.T) {
	to, posts := new(Shard), 0
	new(box).open(endedLoop{meanwhile: func() { posts++ }})
	to.box.begin(to)
	var got []int
	put := func(i int) {
		if err := to.box.put(action{fn: func() { got = append(got, i) }}, false); err != nil {
			t.Error(err)
		}
	}
	put(0)
	put(1)
	to.box.open(endedLoop{meanwhile: func() { posts++ }})
	put(2)
	to.box.take()
	if !slices.Equal(got, []int{0, 1, 2}) || posts != 1 {
		t.Errorf("delivered were %v, by %d hand-overs", got, posts)
	}
}

// TestBoxOfEndedLoop: the loop ends after a call was put into its box, before the hand-over.
// A second call that relies on that hand-over is answered too.
func TestBoxOfEndedLoop(t *testing.T) {
	from, to := new(Shard), new(Shard)
	from.box.begin(from)
	to.box.begin(to)
	first, second := &call[int]{from: from, to: to}, &call[int]{from: from, to: to}
	to.box.loop = endedLoop{meanwhile: func() {
		if err := to.box.put(second, true); err != nil {
			t.Errorf("the second call: %v", err)
		}
		to.box.close()
	}}
	if err := to.box.put(first, true); !errors.Is(err, rondo.ErrLoopClosed) {
		t.Errorf("the first call: %v", err)
	}
	from.box.take()
	if !second.answered || !errors.Is(second.err, rondo.ErrLoopClosed) {
		t.Errorf("the second call: answered %v, %v", second.answered, second.err)
	}
}

// TestBoxRefusesAfterTheEnd: what is put when the loop has ended is refused, each message
// once, and nothing piles up. So a connection on its way to a shard that has ended is closed.
func TestBoxRefusesAfterTheEnd(t *testing.T) {
	to := new(Shard)
	to.box.begin(to)
	to.box.loop = endedLoop{meanwhile: func() {}}
	lost := 0
	for range 3 {
		m := action{func() { t.Error("it was delivered") }, func() { lost++ }}
		if err := to.box.put(m, false); !errors.Is(err, rondo.ErrLoopClosed) {
			t.Errorf("put: %v", err)
		}
		_ = to.box.put(action{fn: func() {}}, false)
	}
	if lost != 3 || len(to.box.in) != 0 {
		t.Errorf("%d of 3 were refused, and %d messages are kept", lost, len(to.box.in))
	}
}

// TestBoxRefusesNoSecondTime: a call whose function runs gets its answer from that, so nothing
// answers it when its cancellation comes too late.
func TestBoxRefusesNoSecondTime(t *testing.T) {
	from, to := new(Shard), new(Shard)
	from.box.begin(from)
	to.box.begin(to)
	to.box.loop = endedLoop{meanwhile: func() {}}
	c := &call[int]{from: from, to: to}
	c.pending.task = new(rondo.Task)
	if err := to.box.put(c, false); !errors.Is(err, rondo.ErrLoopClosed) {
		t.Errorf("put: %v", err)
	}
	if c.err != nil || len(from.box.in) != 0 {
		t.Errorf("it was answered: %v", c.err)
	}
}

// TestBoxKeepsLittle: a box keeps the room for its messages, but not that for very many.
func TestBoxKeepsLittle(t *testing.T) {
	b := new(box)
	b.begin(new(Shard))
	b.loop = endedLoop{}
	for _, c := range []struct {
		n    int
		kept bool
	}{{1, true}, {keep, true}, {keep + 1, false}} {
		b.in, b.spare, b.ready = make([]message, 0, c.n), nil, true
		for range c.n {
			_ = b.put(action{fn: func() {}}, false)
		}
		if b.take(); (b.spare != nil) != c.kept {
			t.Errorf("after %d messages the room is kept: %v", c.n, b.spare != nil)
		}
	}
}
