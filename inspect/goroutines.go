package inspect

// Goroutines of a program are listed beside its tasks: those that run no task of a loop. The law: a
// goroutine is listed once, in Program.Goroutines or as the Offload of the task that waits for
// it, and its state is the runtime's own word for it.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Goroutine is one that runs no task. Workers of loops are not among them: Loop.Workers counts
// these.
type Goroutine struct {
	ID uint64 `json:"id"`
	// State is running, runnable, syscall, the runtime's words for what it waits for, such as
	// "chan receive", or "ran meanwhile" if it ran each time that it was looked at.
	State string `json:"state"`
	// Kind is GoroutineRondo or GoroutineRuntime for one that runs nothing of the program: a
	// helper of Rondo's, or one of Go's runtime. It is "" for the program's own.
	Kind string `json:"kind,omitempty"`
	// Loop is the loop whose Run it has called; "" for others.
	Loop string `json:"loop,omitempty"`
	Func string `json:"func,omitempty"` // the function that it began with
	// Site is the go statement that started it, and Parent the goroutine that ran that; nil and
	// 0 if they are not known.
	Site   *Frame  `json:"site,omitempty"`
	Parent uint64  `json:"parent,omitempty"`
	Thread int     `json:"thread,omitempty"` // where it runs, if that is known
	Stack  []Frame `json:"stack,omitempty"`  // the innermost call first, all calls included
	Cut    bool    `json:"cut,omitempty"`    // the outermost calls are missing
}

// The kinds of goroutines that run nothing of the program.
const (
	GoroutineRondo   = "rondo"
	GoroutineRuntime = "runtime"
)

// A GoroutineGroup is the goroutines that do the same: they have one state and one stack.
type GoroutineGroup struct {
	Goroutines int
	First      *Goroutine // the one with the lowest number
}

// GoroutineGroups puts the goroutines into groups, the largest first: those of the program, or all
// if all is set.
func (p *Program) GoroutineGroups(all bool) []GoroutineGroup {
	type key struct {
		state, loop, kind, shape string
		cut                      bool
	}
	shapes := make(map[*Frame]string)
	groups := make(map[key]*GoroutineGroup)
	var list []*GoroutineGroup
	for _, g := range p.Goroutines {
		if g.Kind != "" && !all {
			continue
		}
		k := key{g.State, g.Loop, g.Kind, shapeOf(g, shapes), g.Cut}
		group := groups[k]
		if group == nil {
			group = &GoroutineGroup{First: g}
			groups[k], list = group, append(list, group)
		}
		group.Goroutines++
		if g.ID < group.First.ID {
			group.First = g
		}
	}
	slices.SortFunc(list, func(a, b *GoroutineGroup) int {
		return cmp.Or(cmp.Compare(b.Goroutines, a.Goroutines), cmp.Compare(a.First.ID, b.First.ID))
	})
	out := make([]GoroutineGroup, len(list))
	for i, g := range list {
		out[i] = *g
	}
	return out
}

// shapeOf returns a text that is equal for goroutines with equal stacks.
func shapeOf(g *Goroutine, shapes map[*Frame]string) string {
	if len(g.Stack) == 0 {
		return g.Func
	}
	if kept, ok := shapes[&g.Stack[0]]; ok {
		return kept
	}
	var b strings.Builder
	for _, f := range g.Stack {
		fmt.Fprintln(&b, f.Func, f.File, f.Line)
	}
	shapes[&g.Stack[0]] = b.String()
	return b.String()
}

// Place returns the call where the goroutine stands: the innermost of the program's own, or else
// the one with which it began. It is nil if none is known.
func (g *Goroutine) Place() *Frame {
	for i := range g.Stack {
		if g.Stack[i].Own() {
			return &g.Stack[i]
		}
	}
	return g.Site
}
