package sim

// This file has what a body says of its own run: Always, which must be true each time,
// and Sometimes, which must be true once.

import (
	"context"
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

// note records a call of Sometimes.
func (p *probes) note(name string, hit bool) {
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

// Sometimes notes whether cond was true: it must be so at least once in all the seeds
// of a test, or all the orders of Explore. If it never is, the test fails in the end and
// says so, because it has not tried what it is there for. A test that runs fewer seeds
// than its Config has, as with -short or RONDO_SEED, does not ask. Sometimes never
// suspends. Outside a simulation it does nothing.
func Sometimes(ctx context.Context, cond bool, name string) {
	if a := attemptOf(ctx); a != nil {
		a.probes.note(name, cond)
	}
}

// Always fails the run if cond is not true: it ends the loop with a panic that has the
// name and the stack, and the report names it also if something recovers that panic.
// Always never suspends. Outside a simulation it does nothing.
func Always(ctx context.Context, cond bool, name string) {
	a := attemptOf(ctx)
	if a == nil || cond {
		return
	}
	if a.violated == "" {
		a.violated = fmt.Sprintf("%q, which must always be true, is false", name)
	}
	panic("sim: " + a.violated)
}

// Invariant has check called after each step of a host and each event of the network and
// the disks: what it looks at must hold all the time. An error ends the run. check must not
// wait. A panic of check fails the run as an error does.
func (w *World) Invariant(name string, check func() error) {
	if check == nil {
		panic(fmt.Sprintf("sim: World.Invariant(%q) with a nil function", name))
	}
	if w.inert() {
		return
	}
	before := w.settled
	w.settled = func() error {
		if before != nil {
			if err := before(); err != nil {
				return err
			}
		}
		if err := check(); err != nil {
			return fmt.Errorf("invariant %q: %w", name, err)
		}
		return nil
	}
}
