package tidy

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// A layer is a group of files of the root package. A file may call the files of
// its own layer and of the layers below it, where to call is to name a function
// or a method, called or not. To use a type, a field, a variable or a constant
// is not a call.
type layer struct {
	name  string
	files string // names without .go, with spaces between

	// The files of a layer must not call each other in a circle, unless it is
	// cyclic.
	cyclic bool
}

// rootLayers has each non-test file of the root package once, highest layer
// first.
var rootLayers = []layer{
	{name: "library", files: "doc barrier cond gather map mutex queue rwmutex semaphore"},
	{name: "run", files: "run deadlock tracer witness"},
	{name: "waits", files: "event group sleep select join future offload pull hooks"},
	{name: "heart", files: "loop prefetch baton worker park task scope unwind contextwatch", cyclic: true},
	{name: "base", files: "schedule timer border context errors info tangle observer layout flight simulated"},
}

var callsRule = rule{
	name: "calls",
	law: "A file of the root package calls its own layer and the layers below, and the files of a layer do not call " +
		"each other in a circle, except in the heart. The table is in calls_test.go.",
	check:    func(t *tree) []breach { return t.checkCalls(rootLayers) },
	onSample: func(t *tree) []breach { return t.checkCalls(sampleLayers) },
	bad: []sample{
		{callsSample("task", "func low() { gather() }"), "call of gather.go"},
		{callsSample("task", "var low = gather"), "call of gather.go"},
		{callsSample("task", "type T struct{}\nfunc (T) M(g *Gate[int]) { _ = g.Open }"), "call of gather.go"},
		{callsSample("timer", "func tick() { start() }"), "call of task.go"},
		{callsSample("queue", "func put() { gather() }\nfunc more() { put() }", "func gather() { put() }"), "circle"},
		{callsSample("orphan", "func f() {}"), "file without a layer"},
		{callsSample("loop", "func turn() {}\nfunc f() { undefined() }"), "does not type-check"},
	},
	good: callsSample("task", "func low(g *Gate[int]) { start(); tick(); g.n = limit }\nfunc start() { turn() }"),
}

var sampleLayers = []layer{
	{name: "top", files: "gather queue"},
	{name: "heart", files: "task loop", cyclic: true},
	{name: "bottom", files: "timer"},
}

// callsSample is a tree that keeps the rule, but for one file, which has the
// given text, and for gather.go if there is a second text.
func callsSample(name string, text ...string) files {
	f := files{
		"gather.go": "func gather() { start() }\ntype Gate[T any] struct{ n int }\nfunc (g *Gate[T]) Open() {}\nconst limit = 1",
		"task.go":   "func start() { turn() }",
		"loop.go":   "func turn() { tick() }",
		"timer.go":  "func tick() {}",
		"a_test.go": "func test() { gather() }",
	}
	f[name+".go"] = text[0]
	if name == "task" && !strings.Contains(text[0], "func start") {
		f["task.go"] += "\nfunc start() {}"
	}
	if len(text) > 1 {
		f["gather.go"] = text[1]
	}
	if name == "loop" {
		f["task.go"] = "func start() { turn() }"
	}
	for p := range f {
		f[p] = "package rondo\n" + f[p] + "\n"
	}
	return f
}

// checkCalls finds the calls that the layers do not allow.
func (t *tree) checkCalls(layers []layer) (found []breach) {
	g, err := t.calls()
	if err != nil {
		return []breach{{file: "go.mod", what: "the root package does not type-check", hint: err.Error()}}
	}
	place := make(map[string]int)
	for i, l := range layers {
		for _, f := range strings.Fields(l.files) {
			place[f+".go"] = i
		}
	}
	allowed := newCallGraph()
	for _, file := range g.files {
		from, ok := place[file]
		if !ok {
			found = append(found, breach{file: file, what: "file without a layer", hint: "give it one in calls_test.go"})
			continue
		}
		allowed.files = append(allowed.files, file)
		for _, c := range g.from[file] {
			to, ok := place[c.to]
			switch {
			case !ok:
			case to < from:
				found = append(found, breach{file: file, line: c.line, in: c.in, what: "call of " + c.to,
					hint: fmt.Sprintf("%s is in the layer %s, above %s; it names %s", c.to, layers[to].name, layers[from].name, c.names())})
			case to == from && !layers[from].cyclic:
				allowed.from[file] = append(allowed.from[file], c)
			}
		}
	}
	for _, circle := range allowed.circles() {
		found = append(found, breach{file: circle[0], what: "circle of calls", hint: strings.Join(circle, ", ") + " call each other"})
	}
	return found
}

// TestCallsLayers holds the table to the files there are.
func TestCallsLayers(t *testing.T) {
	seen := make(map[string]string)
	repository, err := readRepository()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range rootLayers {
		for _, f := range strings.Fields(l.files) {
			if seen[f] != "" {
				t.Errorf("%s.go is in the layers %s and %s: take it out of one", f, seen[f], l.name)
			}
			seen[f] = l.name
			if !repository.exists[f+".go"] {
				t.Errorf("the layer %s names %s.go, which is not there: take it out", l.name, f)
			}
		}
	}
}

// A callGraph says which file calls which.
type callGraph struct {
	files []string          // by name
	from  map[string][]call // by the calling file; one call for each called file
}

// A call is all calls of one file by another.
type call struct {
	to    string
	line  int    // the first one's
	in    string // the first one's function
	named []string
}

func (c call) names() string { return strings.Join(c.named, ", ") }

func newCallGraph() *callGraph {
	return &callGraph{from: make(map[string][]call)}
}

// calls returns the calls between the files of the root package without its
// tests.
func (t *tree) calls() (*callGraph, error) {
	g := newCallGraph()
	for _, p := range t.typed(".") {
		if p.err != nil {
			return nil, p.err
		}
		for _, s := range p.files {
			g.files = append(g.files, s.path)
			s.functions(func(in string, d ast.Decl) {
				ast.Inspect(d, func(n ast.Node) bool {
					name, ok := n.(*ast.Ident)
					if !ok {
						return true
					}
					if f, ok := p.info.Uses[name].(*types.Func); ok && f.Pkg() != nil && f.Pkg().Path() == module {
						if to := t.fset.Position(f.Origin().Pos()).Filename; to != s.path {
							g.note(s.path, call{to: to, line: t.line(n.Pos()), in: in}, f.Name())
						}
					}
					return true
				})
			})
		}
	}
	return g, nil
}

func (g *callGraph) note(from string, c call, name string) {
	i := slices.IndexFunc(g.from[from], func(other call) bool { return other.to == c.to })
	if i < 0 {
		i = len(g.from[from])
		g.from[from] = append(g.from[from], c)
	}
	if known := &g.from[from][i]; !slices.Contains(known.named, name) {
		known.named = append(known.named, name)
	}
}

// circles returns the strongly connected components of more than one file, the
// largest first.
func (g *callGraph) circles() (list [][]string) {
	reach := make(map[string]map[string]bool)
	var walk func(seen map[string]bool, file string)
	walk = func(seen map[string]bool, file string) {
		for _, c := range g.from[file] {
			if !seen[c.to] {
				seen[c.to] = true
				walk(seen, c.to)
			}
		}
	}
	for _, f := range g.files {
		reach[f] = make(map[string]bool)
		walk(reach[f], f)
	}
	done := make(map[string]bool)
	for _, f := range g.files {
		if done[f] || !reach[f][f] {
			continue
		}
		var circle []string
		for _, other := range g.files {
			if reach[f][other] && reach[other][f] {
				done[other] = true
				circle = append(circle, other)
			}
		}
		list = append(list, circle)
	}
	slices.SortStableFunc(list, func(a, b []string) int { return len(b) - len(a) })
	return list
}
