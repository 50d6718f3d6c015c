package tidy

import (
	"go/ast"
	"go/types"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// An upward is a use that runs up the order in which ARCHITECTURE lists the files of a folder.
type upward struct{ dir, from, to string }

// upwards are those of sim and below it, and why.
var upwards = map[upward]string{
	{"sim", "bubble.go", "world.go"}:                 "it is a state of the world: Poll in a bubble",
	{"sim", "around.go", "cluster.go"}:               "the heart: a world runs in a bubble",
	{"sim", "errand.go", "cluster.go"}:               "the heart: errands are a part of the world's step",
	{"sim", "process.go", "errand.go"}:               "the heart: a process runs the errands of its goroutines",
	{"sim", "cluster.go", "interleave.go"}:           "an exploration counts what the hosts of a World have seen",
	{"sim", "cluster.go", "link.go"}:                 "a World keeps its Links, so that a test gets the same one twice",
	{"sim", "host.go", "cluster.go"}:                 "the heart: a host changes the world that runs it",
	{"sim", "host.go", "process.go"}:                 "the heart: a host ends its process, and begins another",
	{"sim", "process.go", "cluster.go"}:              "the heart: a process yields to the world",
	{"sim", "process.go", "interleave.go"}:           "the heart: a step of a process may let others go first",
	{"sim/internal/search", "stored.go", "seeds.go"}: "a stored failure is repeated as a list of RONDO_SEED is",
	{"sim/internal/disk", "damage.go", "disk.go"}:    "damage strikes the files of a Disk",
	{"sim/internal/network", "flow.go", "stream.go"}: "a stream and its two flows are one state machine",
	{"sim/internal/network", "net.go", "stack.go"}:   "a node keeps the stack of its last boot",
	{"sim/internal/network", "way.go", "net.go"}:     "a way finds its way back",
	{"sim/internal/network", "way.go", "stack.go"}:   "a reset breaks the connections of two stacks",
	{"sim/internal/order", "delay.go", "order.go"}:   "a delay is recorded by the order that it is a part of",
}

// orders has, for each section of ARCHITECTURE.md that lists files in reading order, the uses that
// are forbidden even if they are few.
var orders = map[string]func(u upward, up bool, group map[string]string) bool{
	"sim": func(u upward, up bool, _ map[string]string) bool { return up && upwards[u] == "" },
	"socket": func(u upward, up bool, group map[string]string) bool { // of a group above
		return up && group[path.Join(u.dir, u.from)] != group[path.Join(u.dir, u.to)]
	},
	"inspect": func(u upward, _ bool, group map[string]string) bool { // a Program is all that a drawing needs
		from, to := group[path.Join(u.dir, u.from)], group[path.Join(u.dir, u.to)]
		return from == "drawing" && to == "reading" || from == "what was found" && to != from
	},
}

// TestReadingOrder holds the packages of orders, and the folders below them, to their reading
// order: ARCHITECTURE.md lists each file once, from the top, and at most a fifth of the uses
// between the files of a folder run up.
func TestReadingOrder(t *testing.T) {
	repository, err := readRepository()
	if err != nil {
		t.Fatal(err)
	}
	used := make(map[upward]bool)
	for section, forbidden := range orders {
		place, group := readingOrder(t, section)
		var dirs []string
		for _, s := range repository.source {
			if s.test || s.dir != section && !s.in(section+"/internal") {
				continue
			}
			if _, ok := place[s.path]; !ok {
				t.Errorf("%s is not listed in the section of ARCHITECTURE.md", s.path)
			}
			if !slices.Contains(dirs, s.dir) {
				dirs = append(dirs, s.dir)
			}
		}
		for _, dir := range dirs {
			up, all := 0, 0
			for use, names := range repository.uses(dir) {
				runsUp := place[path.Join(dir, use[0])] > place[path.Join(dir, use[1])]
				if all++; runsUp {
					up++
				}
				u := upward{dir, use[0], use[1]}
				if forbidden(u, runsUp, group) {
					t.Errorf("%s/%s uses %s of %s, which stands above it", dir, use[0], strings.Join(names, ", "), use[1])
				}
				used[u] = runsUp
			}
			if t.Logf("%s: %d of %d uses between files run up", dir, up, all); up*5 > all {
				t.Errorf("%s: %d of %d uses between files run up, want at most a fifth", dir, up, all)
			}
		}
	}
	for u := range upwards {
		if !used[u] {
			t.Errorf("nothing in %s/%s uses %s: take it out of the table", u.dir, u.from, u.to)
		}
	}
}

// readingOrder returns the place of each file that the section of ARCHITECTURE.md about a
// package lists, and the first cell of its row.
func readingOrder(t *testing.T, dir string) (place map[string]int, group map[string]string) {
	text, err := os.ReadFile("../../docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Package "+dir+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	section, _, _ = strings.Cut(section, "\n| to add |")
	place, group = make(map[string]int), make(map[string]string)
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		for _, m := range regexp.MustCompile("`("+dir+"/[\\w/]*\\.go)`").FindAllStringSubmatch(line, -1) {
			if _, twice := place[m[1]]; twice {
				t.Errorf("%s is listed twice", m[1])
			}
			place[m[1]] = len(place)
			group[m[1]] = strings.TrimSpace(strings.Split(line+"|", "|")[1])
		}
	}
	return place, group
}

// uses returns which names of one file of a package another one uses: functions, methods,
// types, variables and constants, each once. What the package has from modules that the tree
// does not hold is not resolved, and does not matter here.
func (t *tree) uses(dir string) map[[2]string][]string {
	info := &types.Info{Uses: make(map[*ast.Ident]types.Object)}
	files := t.buildable(dir)
	config := types.Config{Importer: libraryOf(t), Error: func(error) {}}
	_, _ = config.Check(importPath(dir), t.fset, parsed(files), info)
	out := make(map[[2]string][]string)
	for _, s := range files {
		ast.Inspect(s.ast, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			o := info.Uses[id]
			f, isFunc := o.(*types.Func)
			switch {
			case o == nil || o.Pkg() == nil || o.Pkg().Path() != importPath(dir):
				return true
			case isFunc:
				o = f.Origin()
			case o.Parent() != o.Pkg().Scope():
				return true
			}
			use := [2]string{s.name, path.Base(t.fset.Position(o.Pos()).Filename)}
			if use[0] != use[1] && !slices.Contains(out[use], o.Name()) {
				out[use] = append(out[use], o.Name())
			}
			return true
		})
	}
	return out
}
