package main

// The rows about package sim. Rondo and a simulator for Rust run the same program in a
// process each, on the same CPU, and take turns. They are compared by CPU time, which is
// the elapsed time of a machine that runs nothing else. The rivals are in
// rivals/simulators; Rondo's programs are in simulated_linux.go.

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

const (
	turmoil       = "turmoil"
	shuttleRandom = "shuttle, random"
	shuttlePCT    = "shuttle, PCT of depth 3"
)

func simulationRows() []row {
	rows := []row{
		clusterRow("sim-requests", "one request after the other", 0, 200),
		clusterRow("sim-idle", "100 ms between requests", 100*time.Millisecond, 1000),
	}
	for _, m := range mistakes {
		rows = append(rows, m.row())
	}
	return rows
}

// clusterRow is a row about 15 hosts, which must run so many times faster than real time.
func clusterRow(name, what string, pause time.Duration, faster float64) row {
	return row{name: name, section: simulation, run: func(o options) (found []result, err error) {
		pairs, err := simulators(o, "requests", turmoil)
		defer closeAll(pairs, &err)
		if err != nil {
			return nil, err
		}
		// Some 800 requests are answered in a second of virtual time, without pauses.
		seconds := max(o.requests/800, 1)
		err = inTurns(o.rounds, pairs, func(p *pair) error {
			requests, took, err := p.counted(fmt.Sprintf("requests %d %d", seconds, pause.Milliseconds()))
			if err != nil {
				return err
			}
			p.costs["request"] = append(p.costs["request"], took/requests)
			p.costs["second"] = append(p.costs["second"], took/float64(seconds))
			return nil
		})
		if err != nil {
			return nil, err
		}
		what := "15 hosts, " + what + ": "
		found = compared(result{What: what + "a request and its reply", Unit: "ns"}, "request", pairs, budgets{"": {turmoil: 0.20}})
		second := result{What: what + "a second of virtual time", Unit: "ns", Limit: 1e9 / faster}
		return append(found, compared(second, "second", pairs, nil)...), nil
	}}
}

const whyLoop = "A run of Rondo is a whole loop with its clock, timers and scopes, and garbage at the end. A run of shuttle is a scheduler and stacks that it keeps. Where nearly every run finds the mistake, only that counts."

// row measures a run of the program without the mistake, and how long it takes to find
// the mistake. Each round searches from another seed.
func (m mistake) row() row {
	return row{name: m.name, section: simulation, why: whyLoop, run: func(o options) (found []result, err error) {
		pairs, err := simulators(o, "search", shuttleRandom, shuttlePCT)
		defer closeAll(pairs, &err)
		if err != nil {
			return nil, err
		}
		runs := max(o.requests/20, 10)
		err = inTurns(o.rounds, pairs, func(p *pair) error {
			_, took, err := p.counted(fmt.Sprintf("time %s %s %d", m.name, p.name, runs))
			if err != nil {
				return err
			}
			p.costs["run"] = append(p.costs["run"], took/float64(runs))
			until, took, err := p.counted(fmt.Sprintf("find %s %s %d", m.name, p.name, len(p.costs["run"])))
			if err != nil {
				return err
			}
			p.costs["until"], p.costs["time"] = append(p.costs["until"], until), append(p.costs["time"], took)
			return nil
		})
		if err != nil {
			return nil, err
		}
		found = compared(result{What: m.what + ": a run", Unit: "ns"}, "run", pairs, nil)
		found = append(found, compared(result{What: m.what + ": runs until it is found", Unit: "runs"}, "until", pairs, nil)...)
		return append(found, compared(result{What: m.what + ": CPU time until it is found", Unit: "ns"}, "time", pairs, nil)...), nil
	}}
}

// simulators starts Rondo, and a process of a program in Rust for each rival. The caller
// closes the pairs, also if there is an error.
func simulators(o options, program string, rivals ...string) (pairs []*pair, err error) {
	processor, _, err := processors()
	if err != nil {
		return nil, err
	}
	path, err := builtRust(o, simulatorCrate, program)
	if err != nil {
		return nil, err
	}
	own := &pair{name: "rondo", ours: true, costs: make(map[string][]float64)}
	if own.server, err = startSelf(processor, "simulate"); err != nil {
		return nil, err
	}
	pairs = append(pairs, own)
	for _, rival := range rivals {
		p := &pair{name: schedulers[rival], label: rival, costs: make(map[string][]float64)}
		if p.server, err = start(processor, path); err != nil {
			return pairs, err
		}
		pairs = append(pairs, p)
	}
	return pairs, nil
}

// counted asks a question whose answer is a number, and returns that and the CPU time of the
// process until it came.
func (p *pair) counted(question string) (answer, took float64, err error) {
	reply, took, err := p.spent(p.server, question)
	if err == nil {
		answer, err = strconv.ParseFloat(reply, 64)
	}
	return answer, took, err
}

// schedulers are the names that the programs in Rust have for the rivals.
var schedulers = map[string]string{turmoil: turmoil, shuttleRandom: "random", shuttlePCT: "pct"}

// simulateChild answers the questions of the rows.
func simulateChild(question string) (string, error) {
	var seconds, milliseconds int
	if _, err := fmt.Sscanf(question, "requests %d %d", &seconds, &milliseconds); err == nil {
		requests, err := clusterRequests(time.Duration(seconds)*time.Second, time.Duration(milliseconds)*time.Millisecond)
		return strconv.Itoa(requests), err
	}
	var do, name, side string
	var n int
	if _, err := fmt.Sscan(question, &do, &name, &side, &n); err != nil {
		return "", fmt.Errorf("%q: %w", question, err)
	}
	at := slices.IndexFunc(mistakes, func(m mistake) bool { return m.name == name })
	switch {
	case at < 0:
		return "", errors.New("no program is called " + name)
	case do == "time":
		return strconv.Itoa(n), mistakes[at].run(n)
	}
	until, err := mistakes[at].find(n)
	return strconv.Itoa(until), err
}
