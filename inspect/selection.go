package inspect

// Tasks in a Select, which wait for several things.

import (
	"fmt"
	"strings"

	"github.com/rondo-go/rondo/internal/goinspect"
	"github.com/rondo-go/rondo/internal/layout"
)

// selecting is the reason of a task in a Select.
const selecting = "select"

// maxCases bounds how many cases a Select is believed to have, and maxShown how many
// of them are shown.
const (
	maxCases = 100_000
	maxShown = 8
)

// A choice is the wait of one task in a Select, as it was read.
type choice struct {
	task   *seen
	cases  uint64   // all of them
	timer  int64    // the case whose timer is set; -1: none
	places []record // of those that are shown
}

// selections completes what tasks in a Select wait for.
func (r *reader) selections() {
	choices := r.choices()
	var places []record
	for _, c := range choices {
		places = append(places, c.places...)
	}
	lists := make([]uint64, len(places))
	addrs, lengths := make([]uint64, len(places)), make([]uint64, len(places))
	for i, p := range places {
		lists[i] = p.uint64(layout.PlaceList)
		addrs[i], lengths[i] = p.pair(layout.PlaceWhat)
	}
	what := r.strings(addrs, lengths)
	read := r.many(lists, r.size(layout.ListSize))
	labels := r.labels(read)
	waits := make([]*seen, len(read))
	for i := range waits {
		waits[i] = &seen{list: read[i]}
	}
	owners := r.ownersOf(waits)
	cases := make([]awaited, len(places))
	for i, p := range places {
		cases[i] = awaited{what[i], p.uint64(layout.PlaceOn), owners[i], read[i].uint64(layout.ListOwner), labels[i], 0, true}
	}
	r.meet(cases)
	next := 0
	for _, c := range choices {
		var words []string
		var any []uint64
		known := c.timer < 0 && c.cases == uint64(len(c.places))
		for i := range c.places {
			at := next + i
			switch {
			case lists[at] != 0:
				one := &Task{ID: c.task.info.ID}
				words = append(words, r.inWords(one, cases[at]))
				any, known = append(any, one.On), known && one.On != 0
			case int64(i) == c.timer:
				words = append(words, "sleep "+sleepsFor(c.task.info))
			}
		}
		if known {
			c.task.info.Any = any
		}
		next += len(c.places)
		if c.cases > maxShown {
			words = append(words, "...")
		}
		c.task.info.Waiting = fmt.Sprintf("select of %d: %s", c.cases, strings.Join(words, ", "))
	}
}

// choices reads the waits of the tasks in a Select.
func (r *reader) choices() []choice {
	var out []choice
	var addrs []uint64
	for _, s := range r.tasks {
		if s.info.What == selecting && s.worker.uint64(layout.WorkerList) == 0 { // no list of the program's
			out, addrs = append(out, choice{task: s}), append(addrs, s.worker.uint64(layout.WorkerSelection))
		}
	}
	if len(out) == 0 {
		return nil
	}
	size := r.size(layout.PlaceSize)
	requests := make([]goinspect.Request, len(out))
	for i, selection := range r.many(addrs, r.size(layout.SelectionSize)) {
		if selection.b == nil {
			continue
		}
		at, n := selection.pair(layout.SelectionPlaces)
		if at == 0 || n > maxCases {
			continue
		}
		out[i].cases, out[i].timer = n, int64(selection.uint64(layout.SelectionTimer))
		requests[i] = goinspect.Request{Addr: at, Data: make([]byte, size*int(min(n, maxShown)))}
	}
	r.program.Memory().ReadMany(requests)
	for i, request := range requests {
		if !request.OK {
			continue
		}
		for b := request.Data; len(b) >= size && size > 0; b = b[size:] {
			out[i].places = append(out[i].places, record{r.layout, b[:size]})
		}
	}
	return out
}
