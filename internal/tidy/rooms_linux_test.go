package tidy

import (
	"go/ast"
	"go/types"
	"path"
	"slices"
	"strings"
	"testing"
)

// TestInspectOrder holds package inspect to its reading order: the section of ARCHITECTURE.md
// lists each file once, from the top; at most a fifth of the uses between files run up; and
// what draws uses nothing of what reads, so that a Program is all that a drawing needs.
func TestInspectOrder(t *testing.T) {
	place, room := readingOrder(t, "inspect")
	repository, err := readRepository()
	if err != nil {
		t.Fatal(err)
	}
	up, all := 0, 0
	for use, names := range repository.uses("inspect") {
		from, to := path.Join("inspect", use[0]), path.Join("inspect", use[1])
		for _, f := range []string{from, to} {
			if _, ok := place[f]; !ok {
				t.Errorf("%s is not listed in ARCHITECTURE.md", f)
			}
		}
		if all += len(names); place[from] > place[to] {
			up += len(names)
		}
		if room[from] == "drawing" && room[to] == "reading" || room[from] == "what was found" && room[to] != "what was found" {
			t.Errorf("%s uses %s of %s", from, strings.Join(names, ", "), to)
		}
	}
	if t.Logf("%d of %d uses run up", up, all); all < 100 || up*5 > all {
		t.Errorf("%d of %d uses between files run up the order, want at most a fifth", up, all)
	}
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
