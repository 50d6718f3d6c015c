package inspect

// The time that the loop charges tasks with; see package internal/pace.

import (
	"time"

	"github.com/rondo-go/rondo/internal/goinspect"
	"github.com/rondo-go/rondo/internal/layout"
)

// cost says what s was charged with. head is the loop's own record.
func (r *reader) cost(s *seen, head record) {
	t, at := s.info, r.layout.offsets[layout.WorkerCost]
	word := func(field int) uint32 { return goinspect.Uint32(s.worker.b, at+field) }
	t.Busy = time.Duration(goinspect.Uint64(s.worker.b, at+layout.CostBusy))
	steps := word(layout.CostSteps)
	t.LongestStep, t.SlowSteps = time.Duration(steps>>10)*16*time.Microsecond, int(steps&1023)
	t.WokenBy = whole(word(layout.CostWaker), head.uint64(layout.LoopSpawned))
}

// whole returns the number of a task of which only the low half is known, and that
// the youngest task has the number last.
func whole(low uint32, last uint64) uint64 {
	id := last&^(1<<32-1) | uint64(low)
	if low != 0 && id > last && id >= 1<<32 {
		id -= 1 << 32
	}
	return id
}

// costs reads what the loop keeps for all tasks.
func (r *reader) costs(l *Loop, head record) {
	b := head.b[min(len(head.b), r.layout.offsets[layout.LoopCosts]):]
	if len(b) < layout.CostsSize {
		return
	}
	l.Uncharged = time.Duration(goinspect.Uint64(b, layout.CostsUnknown))
	count := goinspect.Uint64(b, layout.CostsCount)
	for n := range min(count, layout.CostsRing) {
		at := layout.CostsHeld + int((count-1-n)%layout.CostsRing)*layout.HeldSize
		took := time.Duration(goinspect.Uint64(b, at+layout.HeldTook))
		began := time.Duration(goinspect.Uint64(b, at+layout.HeldBegan))
		l.LongSteps = append(l.LongSteps, Step{goinspect.Uint64(b, at+layout.HeldTask), took, time.Duration(r.now) - began - took})
	}
}
