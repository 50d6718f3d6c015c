package main

// The result of a row is the cost of Rondo beside the cost of a rival, as the
// ratios of the rounds.

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// A row is a part of the table that is measured together.
type row struct {
	name    string
	section section
	why     string // why Rondo is not first, for the lines of this row in which it is not
	run     func(o options) ([]result, error)
}

// A section is a heading of the table.
type section string

const (
	besideGo section = "Beside what Go has, on all CPUs"
	oneCPU   section = "Beside goroutines and tokio, on one CPU"
	growth   section = "Growth: the cost for one task beside so many, on one CPU"
	servers  section = "Echo servers: CPU time of a request"
	cores    section = "Several loops, on all CPUs"
	latency  section = "Echo servers: latency under an open loop"
	web      section = "HTTP servers: CPU time of a request"
	messages section = "Messages with NATS: CPU time of a client"
	memory   section = "Memory of an idle connection"
	looking  section = "Inspecting a process"

	simulation section = "Simulation, on one CPU"
)

// sections is their order in the table.
var sections = []section{oneCPU, growth, servers, latency, memory, web, cores, messages, besideGo, looking, simulation}

// manyRivals reports whether the section has a column for each rival in place of a
// line.
func (s section) manyRivals() bool { return s == growth || s == servers || s == latency || s == memory }

// Names of the parts of Rondo that echo, in the tables.
const (
	partTasks    = "tasks"
	partSession  = "Session"
	partProtocol = "Protocol"
	ownServer    = "httptask.Server"
)

// Names of rivals in the tables.
const (
	perGoroutine = "net, a goroutine each"
	netHTTP      = "net/http"
	goroutines   = "goroutines"
	epollLoop    = "C, epoll"
	uringLoop    = "C, io_uring"
	tokioThread  = "tokio, current_thread"
	tokioThreads = "tokio, multi_thread"
)

// percentiles are what an open loop measures, beside the CPU time.
var percentiles = []string{"p50", "p99", "p99.9"}

// A result is one line of the table. The names of its fields are also those of the
// file of results.
type result struct {
	What   string
	Mine   string `json:",omitempty"` // which part of Rondo, where a row has several: "tasks"
	Rival  string
	Unit   string    // of Own and Theirs: "ns", "B"
	Own    float64   // the median over the rounds
	Theirs float64   // the same
	Ratios []float64 // one a round
	Budget float64   `json:",omitempty"` // the ratio must not be above it; 0: no budget
	Limit  float64   `json:",omitempty"` // Own must not be above it; 0: no limit
	Allocs int       `json:",omitempty"` // allocations of Rondo in an operation
	// Allowed is the most there may be; unlimited: any number.
	Allowed int     `json:",omitempty"`
	Tasks   int     `json:",omitempty"` // beside how many tasks, in a row about growth
	Section section `json:",omitempty"` // if it is not that of the row
}

// unlimited as the number of allocations allowed means that they do not count.
const unlimited = -1

func (f *result) ratio() float64 { return median(f.Ratios) }

// spread is the ratio with the smallest and the largest of the rounds, if it is not one of all
// rounds.
func (f *result) spread() string {
	if len(f.Ratios) == 1 {
		return fmt.Sprintf("**%.2fx**", f.ratio())
	}
	return fmt.Sprintf("**%.2fx** (%.2f–%.2f)", f.ratio(), slices.Min(f.Ratios), slices.Max(f.Ratios))
}

// first reports whether the rival does not cost less, as far as the table shows.
func (f *result) first() bool { return math.Round(f.ratio()*100) <= 100 }

// budgeted reports whether the result has a budget or a limit.
func (f *result) budgeted() bool { return f.Budget != 0 || f.Limit != 0 }

// met reports whether the ratio, the cost and the allocations are within the
// budget. The ratio is rounded to two places first, as it is printed.
func (f *result) met() bool {
	fast := f.Budget == 0 || math.Round(f.ratio()*100) <= math.Round(f.Budget*100)
	low := f.Limit == 0 || f.Own <= f.Limit
	return fast && low && (f.Allowed == unlimited || f.Allocs <= f.Allowed)
}

// verdict is the last cell of a line.
func (f *result) verdict() string {
	if !f.budgeted() {
		return ""
	}
	if f.met() {
		return "yes"
	}
	return "**no**"
}

// brief is what the program prints while it measures.
func (f *result) brief() string {
	budget := ""
	if f.budgeted() {
		budget = " met"
		if !f.met() {
			budget = " MISSED"
		}
	}
	return fmt.Sprintf("%.2fx%s", f.ratio(), budget)
}

func (f *result) own() string {
	if f.Allowed == unlimited {
		return quantity(f.Own, f.Unit)
	}
	return fmt.Sprintf("%s, %d allocs", quantity(f.Own, f.Unit), f.Allocs)
}

func (f *result) budget() string {
	var parts []string
	if f.Budget != 0 {
		parts = append(parts, fmt.Sprintf("%.2fx", f.Budget))
	}
	if f.Limit != 0 {
		parts = append(parts, quantity(f.Limit, f.Unit))
	}
	if len(parts) == 0 {
		return "none"
	}
	if f.Allowed != unlimited {
		parts = append(parts, fmt.Sprintf("%d allocs", f.Allowed))
	}
	return strings.Join(parts, ", ")
}

// quantity formats v in a unit that keeps it short.
func quantity(v float64, unit string) string {
	switch {
	case unit == "ns" && v >= 1e9:
		return fmt.Sprintf("%.2f s", v/1e9)
	case unit == "ns" && v >= 1e6:
		return fmt.Sprintf("%.1f ms", v/1e6)
	case unit == "ns" && v >= 1e3:
		return fmt.Sprintf("%.2f µs", v/1e3)
	case unit == "B" && v >= 1e9:
		return fmt.Sprintf("%.2f GB", v/1e9)
	case unit == "B" && v >= 1e6:
		return fmt.Sprintf("%.1f MB", v/1e6)
	case unit == "B" && v >= 1e3:
		return fmt.Sprintf("%.2f kB", v/1e3)
	}
	return fmt.Sprintf("%.1f %s", v, unit)
}

// beside compares the rounds of two sides.
func beside(f result, mine, theirs []float64) result {
	f.Own, f.Theirs = median(mine), median(theirs)
	for i := range mine {
		f.Ratios = append(f.Ratios, mine[i]/theirs[i])
	}
	return f
}

// median returns the value in the middle, the upper one of two. values must not
// be empty.
func median[T cmp.Ordered](values []T) T {
	s := slices.Sorted(slices.Values(values))
	return s[len(s)/2]
}
