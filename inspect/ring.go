package inspect

// The ring of a loop's tasks says which task stands where.
// Of each task three numbers are kept, so that a ring of a million takes little.

import (
	"github.com/rondo-go/rondo/internal/goinspect"
	"github.com/rondo-go/rondo/internal/layout"
)

// A ring is the tasks of a loop in the order in which they were started, as the walk
// found them: where each stands, what runs it, and its number.
type ring struct {
	addrs, workers, ids []uint64
	byAddr, byID        index
	cut                 bool // the walk was ended before its end
}

// at returns the number of the task that stood at an address; 0 if none did.
func (g *ring) at(addr uint64) uint64 {
	if i, ok := g.byAddr.find(g.addrs, addr); ok {
		return g.ids[i]
	}
	return 0
}

// of returns where the task with a number stood; 0 if there is none.
func (g *ring) of(id uint64) uint64 {
	if i, ok := g.byID.find(g.ids, id); ok {
		return g.addrs[i]
	}
	return 0
}

// walk is step 1. It reports whether time was left for all of it.
func (r *reader) walk(head record) bool {
	start := head.uint64(layout.LoopTasks)
	chunks := goinspect.NewWindow(r.program.Memory())
	read := func(at uint64) (record, bool) {
		if r.inside {
			t := r.one(at, layout.TaskSize)
			return t, r.mine(t)
		}
		b, ok := chunks.Bytes(at, r.size(layout.TaskSize))
		t := record{r.layout, b}
		return t, ok && r.mine(t)
	}
	limit := int(head.uint64(layout.LoopLive))
	g := ring{addrs: make([]uint64, 0, min(limit, firstRoom)), workers: make([]uint64, 0, min(limit, firstRoom)), ids: make([]uint64, 0, min(limit, firstRoom))}
	limit += spareTasks
	if n := r.options.MaxTasks; n > 0 {
		limit = min(limit, n)
	}
	breaks, inTime := 0, true
	for at := start; at != 0 && (at != start || len(g.addrs) == 0) && len(g.addrs) < limit && inTime; {
		t, ok := read(at)
		if ok && (len(g.addrs) == 0 || t.uint64(layout.TaskPrev) == g.addrs[len(g.addrs)-1]) {
			g.addrs, g.workers, g.ids = append(g.addrs, at), append(g.workers, t.uint64(layout.TaskWorker)), append(g.ids, t.uint64(layout.TaskID))
			at = t.uint64(layout.TaskNext)
			inTime = len(g.addrs)%portion != 0 || !r.budget.late()
			continue
		}
		// The ring changed under the walk: go on from the last that is still in it.
		if breaks++; breaks > maxBreaks {
			break
		}
		chunks.Drop()
		at = 0
		for len(g.addrs) > 0 && at == 0 {
			n := len(g.addrs) - 1
			if t, ok := read(g.addrs[n]); ok && t.uint64(layout.TaskNext) != 0 {
				at = t.uint64(layout.TaskNext)
			} else {
				g.addrs, g.workers, g.ids = g.addrs[:n], g.workers[:n], g.ids[:n]
			}
		}
		if at == 0 { // none is left: begin again with the task that is the first now
			start = r.one(r.at, layout.LoopSize).uint64(layout.LoopTasks)
			at = start
		}
	}
	g.cut = len(g.addrs) >= limit || !inTime
	r.ring = g
	r.onlyOnce()
	return inTime
}

const (
	// firstRoom is for how many tasks there is room at first: how many a damaged
	// program says it has is not to be believed.
	firstRoom = 1 << 20
	// spareTasks is how many tasks more than were counted are looked for.
	spareTasks = 1000
)

// onlyOnce makes the indexes, and drops what the walk has come to twice, because the
// task that it began with was taken out.
func (r *reader) onlyOnce() {
	g := &r.ring
	var places, numbers bool
	g.byAddr, places = newIndex(g.addrs)
	g.byID, numbers = newIndex(g.ids)
	if places && numbers {
		return
	}
	addrs, ids := make(map[uint64]bool), make(map[uint64]bool)
	n := 0
	for i, at := range g.addrs {
		if addrs[at] || ids[g.ids[i]] {
			continue
		}
		addrs[at], ids[g.ids[i]] = true, true
		g.addrs[n], g.workers[n], g.ids[n] = at, g.workers[i], g.ids[i]
		n++
	}
	g.addrs, g.workers, g.ids = g.addrs[:n], g.workers[:n], g.ids[:n]
	g.byAddr, _ = newIndex(g.addrs)
	g.byID, _ = newIndex(g.ids)
}

// mine reports whether t is a live task of the loop.
func (r *reader) mine(t record) bool {
	return goinspect.Uint64(t.b, r.layout.offsets[layout.TaskScope]+r.layout.offsets[layout.ScopeLoop]) == r.at &&
		t.uint64(layout.TaskNext) != 0 && t.uint64(layout.TaskID) != 0 && t.byte(layout.TaskState) < stateDone
}
