package inspect

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// WriteMetrics writes figures of the snapshot as text in the format of Prometheus,
// version 0.0.4, in seconds where they are times. The metrics of a loop have its
// name and number for labels. Errors are those of w. The times of steps are quantiles of the
// snapshot's Times, for the loop and for 20 kinds of task.
func (p *Program) WriteMetrics(w io.Writer) error {
	out := bufio.NewWriter(w)
	for _, m := range metrics {
		fmt.Fprintf(out, "# HELP rondo_%s %s\n# TYPE rondo_%s %s\n", m.name, m.help, m.name, m.kind)
		for _, l := range p.Loops {
			if v := m.value(l); v != nil {
				fmt.Fprintf(out, "rondo_%s{%s} %v\n", m.name, loopLabels(l), v)
			}
		}
	}
	for _, m := range serverMetrics {
		fmt.Fprintf(out, "# HELP rondo_server_%s %s\n# TYPE rondo_server_%s %s\n", m.name, m.help, m.name, m.kind)
		for _, l := range p.Loops {
			for _, s := range byName(l.Servers) {
				fmt.Fprintf(out, "rondo_server_%s{%s,server=\"%s\"} %d\n", m.name, loopLabels(l), escaped(s.Name), m.value(s))
			}
		}
	}
	for _, m := range timesMetrics {
		fmt.Fprintf(out, "# HELP rondo_%s %s\n# TYPE rondo_%s gauge\n", m.name, m.help, m.name)
		for _, l := range p.Loops {
			for _, t := range l.Times[:min(len(l.Times), mostTimed)] {
				for _, q := range [...]float64{0.5, 0.9, 0.99, 1} {
					fmt.Fprintf(out, "rondo_%s{%s,tasks=\"%s\",quantile=\"%v\"} %v\n", m.name, loopLabels(l), escaped(t.Kind), q, m.of(t).Quantile(q).Seconds())
				}
			}
		}
	}
	fmt.Fprintf(out, "# HELP rondo_rings Cycles of tasks of several loops that wait for each other.\n# TYPE rondo_rings gauge\nrondo_rings %d\n", len(p.Rings))
	fmt.Fprint(out, "# HELP rondo_waiting_tasks Tasks that wait, by what for.\n# TYPE rondo_waiting_tasks gauge\n")
	eachWait(p, func(l *Loop, what string, tasks int, _ time.Duration) {
		fmt.Fprintf(out, "rondo_waiting_tasks{%s,what=\"%s\"} %d\n", loopLabels(l), escaped(what), tasks)
	})
	fmt.Fprint(out, "# HELP rondo_longest_wait_seconds How long the longest wait has lasted, by what for.\n# TYPE rondo_longest_wait_seconds gauge\n")
	eachWait(p, func(l *Loop, what string, _ int, longest time.Duration) {
		fmt.Fprintf(out, "rondo_longest_wait_seconds{%s,what=\"%s\"} %v\n", loopLabels(l), escaped(what), longest.Seconds())
	})
	return out.Flush()
}

// metrics are those that each loop has one of. The value is nil if it is not known.
var metrics = []struct {
	name, kind, help string
	value            func(l *Loop) any
}{
	{"tasks", "gauge", "Tasks that live.", func(l *Loop) any { return len(l.Tasks) + l.Omitted }},
	{"ready", "gauge", "Tasks and callbacks that could run.", func(l *Loop) any { return l.Ready }},
	{"timers", "gauge", "Timers that are set.", func(l *Loop) any { return l.Timers }},
	{"connections", "gauge", "Open connections of package socket.", func(l *Loop) any {
		if l.Conns == nil {
			return nil
		}
		return *l.Conns
	}},
	{"offloads", "gauge", "Functions that are offloaded.", func(l *Loop) any { return l.Offloads }},
	{"workers", "gauge", "Coroutines, idle ones included.", func(l *Loop) any { return l.Workers }},
	{"uptime_seconds", "gauge", "Time since the loop began.", func(l *Loop) any { return l.Uptime.Seconds() }},
	{"lag_seconds", "gauge", "How late the loop is for what is due: small unless it is held, 0 while it sleeps on time.", func(l *Loop) any { return l.Lag.Seconds() }},
	{"held", "gauge", "1 if something keeps the loop from turning.", func(l *Loop) any { return one(l.Held != nil) }},
	{"deadlock", "gauge", "1 if nothing can run in the loop, and nothing known can wake it.", func(l *Loop) any { return one(l.Deadlock > 0) }},
	{"cycles", "gauge", "Cycles of tasks of this loop that wait for each other.", func(l *Loop) any { return len(l.Cycles) }},
	{"idle_seconds_total", "counter", "Time that the loop slept.", func(l *Loop) any { return l.Idle.Seconds() }},
	{"turns_total", "counter", "Turns of the loop.", func(l *Loop) any { return l.Turns }},
	{"switches_total", "counter", "Switches to a task.", func(l *Loop) any { return l.Switches }},
	{"steps_total", "counter", "Tasks and callbacks run.", func(l *Loop) any { return l.Steps }},
	{"posts_total", "counter", "Functions posted from outside.", func(l *Loop) any { return l.Posts }},
	{"spawned_total", "counter", "Tasks that were ever started.", func(l *Loop) any { return l.Spawned }},
}

// mostTimed is of how many kinds of task the times are metrics, the total of the loop included.
const mostTimed = 21

// timesMetrics are the quantiles of the times that a snapshot has.
var timesMetrics = []struct {
	name, help string
	of         func(t Times) Histogram
}{
	{"step_seconds", "How long steps of tasks took lately; tasks is their kind, or empty for all.", func(t Times) Histogram { return t.Steps }},
	{"ready_seconds", "How long tasks were ready before they ran, lately.", func(t Times) Histogram { return t.Ready }},
}

// serverMetrics are those that each server of a loop has one of.
var serverMetrics = []struct {
	name, kind, help string
	value            func(s Server) int64
}{
	{"accepted_total", "counter", "Connections that were accepted, those that were refused included.", func(s Server) int64 { return s.Accepted }},
	{"open", "gauge", "Connections that are open.", func(s Server) int64 { return s.Open }},
	{"refused_by_address_total", "counter", "Connections closed at once: too many of one address.", func(s Server) int64 { return s.RefusedByAddr }},
	{"refused_by_rate_total", "counter", "Connections closed at once: one address opened them too fast.", func(s Server) int64 { return s.RefusedByRate }},
	{"handshake_failures_total", "counter", "TLS handshakes that failed or took too long.", func(s Server) int64 { return s.Handshakes }},
	{"silent_total", "counter", "Connections closed because nothing came in time.", func(s Server) int64 { return s.Silent }},
	{"idle_total", "counter", "Connections closed because they were idle.", func(s Server) int64 { return s.Idle }},
	{"peer_closed_total", "counter", "Functions cancelled because the peer had left.", func(s Server) int64 { return s.PeerClosed }},
	{"errors_total", "counter", "Connections or requests that ended with an error, panics included.", func(s Server) int64 { return s.Errors }},
	{"panics_total", "counter", "Panics of functions that serve.", func(s Server) int64 { return s.Panics }},
}

// byName returns one server for each name: one metric has a set of labels once.
func byName(servers []Server) (out []Server) {
	for _, s := range servers {
		i := slices.IndexFunc(out, func(other Server) bool { return other.Name == s.Name })
		if i < 0 {
			out = append(out, s)
			continue
		}
		for j, counter := range out[i].counters() {
			*counter += *s.counters()[j]
		}
	}
	return out
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// loopLabels names the loop.
func loopLabels(l *Loop) string { return fmt.Sprintf("loop=\"%s\",id=\"%d\"", escaped(l.Name), l.ID) }

// escaped writes the value of a label.
var escaped = strings.NewReplacer("\\", "\\\\", "\"", "\\\"", "\n", "\\n").Replace

// eachWait calls f for each kind of wait in each loop, with how many tasks are in one
// and the longest.
func eachWait(p *Program, f func(l *Loop, what string, tasks int, longest time.Duration)) {
	for _, l := range p.Loops {
		type wait struct {
			what    string
			tasks   int
			longest time.Duration
		}
		kinds := make(map[string]*wait)
		var all []*wait
		for _, t := range l.Tasks {
			if t.What == "" {
				continue
			}
			k := kinds[t.What]
			if k == nil {
				k = &wait{what: t.What}
				kinds[t.What], all = k, append(all, k)
			}
			k.tasks++
			k.longest = max(k.longest, t.Since)
		}
		slices.SortFunc(all, func(a, b *wait) int { return cmp.Compare(a.what, b.what) })
		for _, k := range all {
			f(l, k.what, k.tasks, k.longest)
		}
	}
}
