package shard

// Calls that can never return, because tasks of several loops wait for
// each other in a ring. A loop cannot see that: to each of them it looks as if another
// could wake it. A wait for a Chan is part of no ring: any goroutine may end it by TrySend or
// Close, so it is never certain that none will.
//
// The law: a ring is reported only if it is certain, and a call that takes long costs its
// loops nothing. Once a second, while calls wait, each loop is asked whether one has
// waited for that long. Only then the tasks of calls are looked at, and only if these may
// wait in a ring all tasks are listed, twice: if those of a ring have not run between the
// two, there was a moment in which all of them waited.

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/list"
	"github.com/rondo-go/rondo/internal/report"
)

// patience is how long a call waits before look considers it, unless EndDeadlock is
// shorter.
const patience = time.Second

// A pending is a call that waits, in the list of its shard.
type pending struct {
	links list.Links[pending]
	since int64
	by    *rondo.Task // that waits; belongs to the caller's loop
	to    *Shard
	task  *rondo.Task // that runs the function; belongs to the loop of to
}

const pendingLinks = unsafe.Offsetof(pending{}.links)

// watch is called when a call begins to wait.
func (s *Shard) watch(p *pending) {
	p.since = s.loop.Now()
	s.waiting.Add(p, pendingLinks)
	if g := s.group; !g.simulated {
		g.lookLater()
	}
}

func (s *Shard) unwatch(p *pending) { s.waiting.Remove(p, pendingLinks) }

func (g *group) patience() time.Duration {
	if d := g.runner.EndDeadlock; d > 0 {
		return min(d, patience)
	}
	return patience
}

// look looks for a ring, on a goroutine of its own.
func (g *group) look() {
	g.watching.Store(false) // a call that begins from now on asks for the next look
	some, long := false, false
	g.ask(func(s *Shard) {
		if first := s.waiting.First(); first != nil {
			some = true
			long = long || s.loop.Now()-first.since >= int64(g.patience())
		}
	})
	if long && !g.reported.Load() {
		if calls := g.calls(); calls.ring() != nil || calls.open() {
			first := g.survey()
			if ring := first.certain(g.survey); ring != nil && !g.reported.Swap(true) {
				g.report(first.words(ring))
			}
		}
	}
	if some && !g.reported.Load() {
		g.lookLater()
	}
}

// lookLater calls look after a while, unless that is to be already.
func (g *group) lookLater() {
	if !g.watching.Load() && !g.reported.Load() && g.watching.CompareAndSwap(false, true) {
		time.AfterFunc(g.patience(), g.look)
	}
}

// report logs which tasks are in a ring, or ends Run if that is to end then.
func (g *group) report(ring string) {
	if g.runner.EndDeadlock > 0 {
		g.fail(fmt.Errorf("%w: tasks of several loops wait for each other in a ring: %s", rondo.ErrDeadlock, ring))
		return
	}
	report.Log(slog.LevelWarn, "rondo: tasks of several loops wait for each other in a ring, which only a cancellation can end", "ring", ring)
}

// ask calls fn on each loop, one after the other. A loop that has ended is left out.
func (g *group) ask(fn func(s *Shard)) {
	for _, s := range g.shards {
		done := make(chan struct{})
		if s.public.Post(func() { fn(s); close(done) }) == nil {
			<-done
		}
	}
}

// A place is a task of some shard.
type place struct {
	shard string
	id    uint64
}

// A survey has tasks that wait.
type survey map[place]rondo.TaskInfo

// add adds a task of s, if it waits.
func (v survey) add(s *Shard, t rondo.TaskInfo) {
	if t.State == "waiting" {
		v[place{s.name, t.ID}] = t
	}
}

// survey returns the tasks of all shards. It stops each loop while that lists its tasks.
func (g *group) survey() survey {
	out := make(survey)
	g.ask(func(s *Shard) {
		for _, t := range rondo.Tasks(s.ctx) {
			out.add(s, t)
		}
	})
	return out
}

// calls returns the tasks that wait for calls, and those that run the functions.
func (g *group) calls() survey {
	out := make(survey)
	at := make(map[*Shard][]*pending)
	g.ask(func(s *Shard) {
		for p := range s.waiting.All(pendingLinks) {
			out.add(s, p.by.Info())
			at[p.to] = append(at[p.to], p)
		}
	})
	g.ask(func(s *Shard) {
		for _, p := range at[s] {
			if p.task != nil {
				out.add(s, p.task.Info())
			}
		}
	})
	return out
}

// needs returns the task that can end the wait of the one at p, if it is known.
func (v survey) needs(p place) (place, bool) {
	t := v[p]
	if t.Waiting == "call" {
		i := strings.LastIndex(t.Of, " #")
		if i < 0 {
			return place{}, false
		}
		id, err := strconv.ParseUint(t.Of[i+2:], 10, 64)
		return place{t.Of[:i], id}, err == nil
	}
	return place{p.shard, t.Owner}, t.Owner != 0
}

// open reports whether a task waits for one of its own loop that v does not have.
func (v survey) open() bool {
	for p, t := range v {
		if t.Waiting == "call" {
			continue
		}
		if at, known := v.needs(p); known {
			if _, waits := v[at]; !waits {
				return true
			}
		}
	}
	return false
}

// ring returns tasks that wait for each other, the last for the first, of more than one
// shard; nil if there are none.
func (v survey) ring() []place {
	seen := make(map[place]bool)
	starts := slices.SortedFunc(maps.Keys(v), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.shard, b.shard), cmp.Compare(a.id, b.id))
	})
	for _, start := range starts {
		if v[start].Waiting != "call" {
			continue
		}
		var way []place
		for at, known := start, true; known; at, known = v.needs(at) {
			if seen[at] {
				if i := slices.Index(way, at); i >= 0 && slices.ContainsFunc(way[i:], func(p place) bool { return v[p].Waiting == "call" }) {
					return way[i:]
				}
				break
			}
			if _, waits := v[at]; !waits {
				break
			}
			seen[at] = true
			way = append(way, at)
		}
	}
	return nil
}

// same reports whether the tasks of a ring have not run since an earlier survey.
func (v survey) same(earlier survey, ring []place) bool {
	return !slices.ContainsFunc(ring, func(p place) bool {
		now, waits := v[p]
		return !waits || now.Switches != earlier[p].Switches
	})
}

// certain returns a ring of v if none of its tasks has run when survey looks again, or nil.
func (v survey) certain(survey func() survey) []place {
	if ring := v.ring(); ring != nil && survey().same(v, ring) {
		return ring
	}
	return nil
}

// words names the tasks of a ring.
func (v survey) words(ring []place) string {
	var b strings.Builder
	which := ""
	for _, p := range ring {
		fmt.Fprintf(&b, "%s #%d %s%s waits for ", p.shard, p.id, v[p].Name, which)
		which = ", which"
	}
	fmt.Fprintf(&b, "%s #%d", ring[0].shard, ring[0].id)
	return b.String()
}
