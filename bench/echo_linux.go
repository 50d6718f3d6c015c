package main

// Echo rows: the CPU time that a request costs a server that echoes, in the
// program and in the kernel. All servers of a row run at the same time, each with a
// load process of its own, and get requests in turns; a server without requests
// costs nothing. Servers and loads run on different CPUs, so the load does not
// count.

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A workload is a row: what is asked of every server.
type workload struct {
	name      string
	what      string
	kind      string  // of load: "" for a closed loop, "churn" or "open"
	asks      string  // of exchanges; "": an echo
	section   section // "": that of echo servers
	counted   section // for the CPU time, if that is not the section of the row
	conns     int
	size      int     // bytes of a request and of its answer
	depth     int     // requests that are sent together on a connection; 0: one
	share     float64 // a request takes so many times the work of a small one; 0: one
	computing time.Duration
	servers   []string      // that echo, by their names; nil: all
	list      []server      // those that do not echo
	budgets   budgets       // for the CPU time
	median    budgets       // for p50
	tail      budgets       // for p99
	p99       time.Duration // a limit for tasks
	why       string
}

// rate is how many requests a second the open loop sends.
const rate = 25_000

func (w workload) row() row {
	if w.why == "" {
		w.why = whyServers
	}
	if w.section == "" && w.kind == "open" {
		w.section = latency
	}
	return row{name: w.name, section: cmp.Or(w.section, servers), why: w.why, run: w.run}
}

// requests is how many requests a round has.
func (w workload) requests(o options) int {
	n := float64(o.requests)
	if w.kind == "open" {
		return max(w.conns, int(rate*o.open.Seconds()))
	}
	if w.share > 0 {
		n /= w.share
	}
	return int(n)
}

func (w workload) run(o options) (found []result, err error) {
	onServer, onLoad, err := processors()
	if err != nil {
		return nil, err
	}
	if o.servers != nil {
		w.servers = o.servers
	}
	if w.list == nil {
		w.list = chosen(w.servers)
	}
	w.conns = min(w.conns, o.conns)
	var pairs []*pair
	defer func() { closeAll(pairs, &err) }()
	var absent skipped
	for _, s := range w.list {
		p := &pair{name: s.name, label: s.label, ours: s.ours, costs: make(map[string][]float64)}
		launch := func() (*process, error) {
			return s.launch(o, onServer, w.name, serving{buffer: max(4096, w.size), computing: int(w.computing.Microseconds())})
		}
		err := p.open(launch, onLoad, max(w.conns, w.requests(o)/4),
			"-kind", w.kind, "-conns", strconv.Itoa(w.conns), "-size", strconv.Itoa(w.size), "-asks", w.asks, "-depth", strconv.Itoa(max(1, w.depth)))
		if absent.takes(err) {
			continue
		}
		pairs = append(pairs, p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		if w.computing > 0 {
			if err := p.server.pause(); err != nil {
				return nil, err
			}
		}
	}
	if err := inTurns(o.rounds, pairs, func(p *pair) error { return p.turn(w, w.requests(o)) }); err != nil {
		return nil, err
	}
	found = w.results(pairs)
	return found, absent.orNil()
}

// turn is a round. A server that computes runs only in its turn, because it would take
// the CPU from the others.
func (p *pair) turn(w workload, requests int) error {
	if w.computing == 0 {
		return p.round(w, requests)
	}
	if err := p.server.resume(); err != nil {
		return err
	}
	return errors.Join(p.round(w, requests), p.server.pause())
}

// round sends requests and records what one of them cost.
func (p *pair) round(w workload, requests int) error {
	reply, took, err := p.spent(p.load, strconv.Itoa(requests))
	if err != nil {
		return err
	}
	p.costs["cpu"] = append(p.costs["cpu"], took/float64(requests))
	if w.kind != "open" {
		return nil
	}
	for i, field := range strings.Fields(reply) {
		v, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return err
		}
		p.costs[percentiles[i]] = []float64{v} // those of all rounds
	}
	return nil
}

func (w workload) results(pairs []*pair) (found []result) {
	// Where a task computes all the time, so does the server's CPU.
	if w.computing == 0 {
		found = compared(result{What: w.what, Unit: "ns", Section: w.counted}, "cpu", pairs, w.budgets)
	}
	if w.kind != "open" {
		return found
	}
	limits := []time.Duration{0, w.p99, 0}
	allowed := []budgets{w.median, w.tail, nil}
	for i, name := range percentiles {
		lines := compared(result{What: name + " of " + w.what, Unit: "ns"}, name, pairs, allowed[i])
		for j := range lines {
			if lines[j].Mine == partTasks {
				lines[j].Limit = float64(limits[i])
			}
		}
		found = append(found, lines...)
	}
	return found
}

// whyServers is the reason for most servers' rows.
const whyServers = "A task has a stack, a record and a buffer of its own, which are cold when its connection is served; a program in C, a Session and a Protocol serve all connections from one stack and one buffer. " +
	"Go's own cost of a system call and of a network poll comes on top."

// thousands writes n with commas.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
