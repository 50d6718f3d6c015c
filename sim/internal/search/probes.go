package search

import (
	"fmt"
	"slices"
	"strings"
)

// probes are the names that Sometimes was called with in the runs of a test, and
// whether its condition was true.
type probes struct{ seen []probe }

type probe struct {
	name string
	hit  bool
}

// Note records a call of Sometimes.
func (p *probes) Note(name string, hit bool) {
	i := slices.IndexFunc(p.seen, func(q probe) bool { return q.name == name })
	if i < 0 {
		p.seen = append(p.seen, probe{name, hit})
	} else if hit {
		p.seen[i].hit = true
	}
}

// missed names what was never true, or is "".
func (p *probes) missed() string {
	var names []string
	for _, q := range p.seen {
		if !q.hit {
			names = append(names, fmt.Sprintf("%q", q.name))
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
