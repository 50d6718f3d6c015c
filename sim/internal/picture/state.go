package picture

import (
	"fmt"
	"strings"

	"github.com/rondo-go/rondo/sim/internal/record"
)

// stateMost is how many hosts a report shows the state of.
const stateMost = 20

// State returns the values of sim.Show at the failure, or at the end: a line for each host, in
// the order in which they were first shown.
func (a *Account) State() (lines []string) {
	events := a.trace.Events
	if a.failed {
		events = events[:min(a.failure.event, len(events))]
	}
	type key struct {
		host uint64
		name string
	}
	var order []key
	var hosts []uint64
	now := make(map[key]string)
	known := make(map[uint64]bool)
	for _, e := range events {
		if e.Kind != record.Showed {
			continue
		}
		k := key{e.Who >> 32, e.What}
		if _, ok := now[k]; !ok {
			order = append(order, k)
		}
		if now[k] = e.Data; !known[k.host] {
			known[k.host] = true
			hosts = append(hosts, k.host)
		}
	}
	for i, h := range hosts {
		if i == stateMost {
			return append(lines, fmt.Sprintf("and %d more hosts", len(hosts)-i))
		}
		var parts []string
		for _, k := range order {
			if k.host == h {
				parts = append(parts, k.name+" = "+now[k])
			}
		}
		line := strings.Join(parts, ", ")
		if h != 0 {
			line = a.host(h) + ": " + line
		}
		lines = append(lines, line)
	}
	return lines
}
