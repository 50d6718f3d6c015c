package picture

// The rows that matter are the choices that shrinking has left, the failure, and the way from each
// choice to the failure; and what the program says of itself: its state, and the operations of
// its clients.
//
// The law: a row depends on the row before it of the same task, and on the one that woke or
// started its task or sent its message. Of the ways from a choice to the failure the page has the
// one with the fewest messages and wake-ups. What tasks do to each other through variables is in
// no trace, so a failure depends on the end of each operation of a History.

import (
	"math"
	"slices"

	"github.com/rondo-go/rondo/sim/internal/record"
)

// toldMost is how many rows of states and operations are not folded: the last ones between the
// first choice and the failure.
const toldMost = 60

// A graph has the rows on which each row depends.
type graph struct {
	parents [][]edge
	flights map[flight][]int  // the rows of messages that have not arrived
	last    map[uint64]int    // the last row of each task
	running map[uint64]uint64 // the task that runs on each host
	latest  map[uint64]int    // the last row of each host
	pending map[uint64][]int  // choices about a host or a task that wait for its next row
	delayed map[int][]int     // choices about a message, by the row in which it was sent
	sent    map[uint64]int    // the last message of each way
	came    map[uint64]int    // the last message that each host has got
	waits   map[uint64]string // what each task waits for
	answers []int             // rows of operations that have ended
	told    []int             // rows of what the program says of itself
	choices []int
	marked  []int
	failure int // -1: not yet
}

// An edge leads to a row that another one depends on.
type edge struct {
	row     int
	crosses bool // from one task or host to another
}

// A flight is a way of messages: between whom, and of which sort.
type flight struct {
	way  uint64
	what string
}

func newGraph() graph {
	return graph{
		flights: make(map[flight][]int), last: make(map[uint64]int), running: make(map[uint64]uint64),
		pending: make(map[uint64][]int), delayed: make(map[int][]int), sent: make(map[uint64]int),
		came: make(map[uint64]int), waits: make(map[uint64]string), latest: make(map[uint64]int), failure: -1,
	}
}

// runs notes which task of a host runs.
func (g *graph) runs(who uint64) { g.running[who>>32] = who }

// lastOf returns the last row of a task, or -1.
func (g *graph) lastOf(who uint64) int {
	if at, ok := g.last[who]; ok && who&0xffffffff != 0 {
		return at
	}
	return -1
}

// link makes the row at depend on another one, unless that is -1.
func (g *graph) link(at, on int, crosses bool) {
	for len(g.parents) <= at {
		g.parents = append(g.parents, nil)
	}
	if on >= 0 {
		g.parents[at] = append(g.parents[at], edge{on, crosses})
	}
}

// wokenFrom returns the row of what ended a wait: the task that did, or the message that its host
// has got, or -1 if that was a timer.
func (g *graph) wokenFrom(e *record.Event) int {
	if e.By != 0 {
		return g.lastOf(e.By)
	}
	switch at, ok := g.came[e.Who>>32]; {
	case ok && g.waits[e.Who] != "sleep" && g.waits[e.Who] != "yield":
		return at
	}
	return -1
}

// sentAs takes the message that arrives from those on the way. It returns the row in which it was
// sent, or -1.
func (g *graph) sentAs(e *record.Event) int {
	f := flight{e.Who, e.What}
	rows := g.flights[f]
	if len(rows) == 0 {
		return -1
	}
	g.flights[f] = rows[1:]
	return rows[0]
}

// arrived notes the row of a message that has arrived, and the one in which it was sent, or -1.
func (g *graph) arrived(e *record.Event, at, from int) {
	g.link(at, from, true)
	for _, c := range g.delayed[from] {
		g.link(at, c, false)
	}
	host := e.Who & 0xffffffff
	g.came[host], g.latest[host] = at, at
}

// happened notes the row of any other event, and the one from which an arrow leads there, or -1.
func (g *graph) happened(e *record.Event, at, from int) {
	host, task := e.Who>>32, e.Who
	switch e.Kind {
	case record.Sent:
		g.sent[e.Who] = at
		f := flight{e.Who, e.What}
		g.flights[f] = append(g.flights[f], at)
		task = g.running[host]
	case record.Wrote, record.Put, record.Struck:
		task = g.running[host]
	case record.Hosted:
		task = host << 32
	case record.Parked:
		g.waits[task] = e.What
	case record.Answered:
		g.answers = append(g.answers, at)
	}
	if before, ok := g.last[task]; ok {
		g.link(at, before, false)
	} else if boot, ok := g.last[host<<32]; ok && from < 0 {
		g.link(at, boot, false)
	}
	g.link(at, from, true)
	for _, who := range [2]uint64{task, host << 32} {
		for _, c := range g.pending[who] {
			g.link(at, c, false)
		}
		delete(g.pending, who)
	}
	if e.Kind == record.Showed || e.Kind == record.Asked || e.Kind == record.Answered {
		g.told = append(g.told, at)
	}
	g.last[task], g.latest[host] = at, at
}

// chose notes the row of a choice: about a task or a host, or about the last message on a way.
func (g *graph) chose(at int, who, way uint64) {
	g.link(at, -1, false)
	g.choices = append(g.choices, at)
	if sent, ok := g.sent[way]; ok && way != 0 {
		g.link(at, sent, false)
		g.delayed[sent] = append(g.delayed[sent], at)
		return
	}
	g.pending[who] = append(g.pending[who], at)
}

// marks notes a row that matters and on which nothing depends.
func (g *graph) marks(at int) {
	g.link(at, -1, false)
	g.marked = append(g.marked, at)
}

// failed notes the row of the failure.
func (g *graph) failed(at int, who uint64) {
	g.link(at, -1, false)
	g.failure = at
	before, ok := g.last[who]
	if !ok || who&0xffffffff == 0 {
		before, ok = g.latest[who>>32]
	}
	if ok {
		g.link(at, before, false)
	}
	for _, a := range g.answers {
		g.link(at, a, true)
	}
}

// toFailure returns for each row the next one on its way to the failure, or -1. The way
// that crosses least is taken, and of those the one that crosses last.
func (g *graph) toFailure() []int {
	next, far := make([]int, len(g.parents)), make([]int, len(g.parents))
	for i := range next {
		next[i], far[i] = -1, math.MaxInt
	}
	if g.failure < 0 {
		return next
	}
	far[g.failure] = 0
	for level, rows := 0, []int{g.failure}; len(rows) > 0; level++ {
		var further []int
		for i := 0; i < len(rows); i++ {
			at := rows[i]
			if far[at] != level {
				continue
			}
			for _, e := range g.parents[at] {
				d := level
				if e.crosses {
					d++
				}
				if d >= far[e.row] {
					continue
				}
				far[e.row], next[e.row] = d, at
				if e.crosses {
					further = append(further, e.row)
				} else {
					rows = append(rows, e.row)
				}
			}
		}
		rows = further
	}
	return next
}

// matters returns which rows are not folded. column returns the column of a row.
func (g *graph) matters(column func(row int) int) []bool {
	is := make([]bool, len(g.parents))
	if g.failure >= 0 {
		is[g.failure] = true
	}
	for _, at := range g.marked {
		is[at] = true
	}
	next, walked := g.toFailure(), make([]bool, len(is))
	for _, c := range g.choices {
		is[c] = true
		for _, e := range g.parents[c] {
			is[e.row] = true // the message that the choice is about
		}
		for at := c; next[at] >= 0 && !walked[at]; at = next[at] {
			walked[at] = true
			if column(at) != column(next[at]) || slices.ContainsFunc(g.parents[next[at]], func(e edge) bool { return e.row == at && e.crosses }) {
				is[at], is[next[at]] = true, true
			}
		}
	}
	told := g.told
	for len(told) > 0 && g.failure >= 0 && told[len(told)-1] > g.failure {
		told = told[:len(told)-1]
	}
	for _, at := range told[max(0, len(told)-toldMost):] {
		is[at] = is[at] || len(g.choices) == 0 || at > g.choices[0]
	}
	return is
}
