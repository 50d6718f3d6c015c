package tidy

import (
	"go/ast"
	"go/build/constraint"
	"go/types"
	"slices"
	"strings"
)

// replays reports whether a seed repeats every choice of the package in a folder. The
// folders below sim belong to it: code that moves there stays under the rule.
func replays(dir string) bool {
	return dir == "." || dir == "coro" || dir == "sim" || strings.HasPrefix(dir, "sim/")
}

// instead says what to use in place of a function that a seed cannot repeat.
var instead = map[string]string{
	"time.Now":       "the driver has the clock",
	"time.Since":     "the driver has the clock",
	"time.Until":     "the driver has the clock",
	"time.Sleep":     "park the task, with a timer",
	"time.After":     "use the loop's timers",
	"time.AfterFunc": "use the loop's timers",
	"time.NewTimer":  "use the loop's timers",
	"time.NewTicker": "use the loop's timers",
	"time.Tick":      "use the loop's timers",
	"maps.All":       "sort first, because the order of a map is random",
	"maps.Keys":      "sort first, because the order of a map is random",
	"maps.Values":    "sort first, because the order of a map is random",
}

const seeded = "make a generator from the seed"

var determinismRule = rule{
	name: "determinism",
	law: "The root package, coro, sim and the packages below it have no clock, no randomness and no goroutines except those of the driver and of border.go, " +
		"and nothing depends on the order of a map. Therefore a seed repeats a run.",
	check: func(t *tree) (found []breach) {
		var dirs []string
		for _, s := range t.source {
			if s.test || !replays(s.dir) {
				continue
			}
			found = append(found, t.unrepeatable(s)...)
			if !slices.Contains(dirs, s.dir) {
				dirs = append(dirs, s.dir)
			}
		}
		for _, p := range t.typed(dirs...) {
			for _, s := range p.files {
				found = append(found, t.mapRanges(s, p.info)...)
			}
		}
		return found
	},
	bad: []sample{
		{files{"loop.go": "package rondo\nimport \"time\"\nvar now = time.Now\n"}, "time.Now"},
		{files{"loop.go": "package rondo\nimport t \"time\"\nfunc f() { t.Sleep(1) }\n"}, "time.Sleep in f"},
		{files{"queue.go": "package rondo\nimport . \"time\"\nfunc f() { Sleep(1) }\n"}, "import of time by ."},
		{files{"coro/a.go": "package coro\nimport \"math/rand/v2\"\nvar n = rand.N(3)\n"}, "rand.N"},
		{files{"sim/a.go": "package sim\nimport \"math/rand\"\nfunc f() { rand.Shuffle(1, nil) }\n"}, "rand.Shuffle in f"},
		{files{"sim/internal/a/a.go": "package a\nimport \"math/rand\"\nfunc f() { rand.Shuffle(1, nil) }\n"}, "rand.Shuffle in f"},
		{files{"sim/internal/a/a.go": "package a\nfunc f(m map[int]int) { for range m {} }\n"}, "range over the map m in f"},
		{files{"sim/a.go": "package sim\nimport \"crypto/rand\"\nvar r = rand.Reader\n"}, "import of crypto/rand"},
		{files{"sim/a.go": "package sim\nimport \"maps\"\nfunc f(m map[int]int) { for range maps.Keys(m) {} }\n"}, "maps.Keys in f"},
		{files{"offload.go": "package rondo\nfunc f() { func() { go f() }() }\n"}, "go statement in f"},
		{files{"loop.go": "package rondo\nfunc f(m map[int]int) { for range m {} }\n"}, "range over the map m in f"},
		{files{"coro/a.go": "package coro\ntype set map[int]int\nfunc (s *set) f() { for range *s {} }\n"}, "range over the map *s in f"},
		{files{"sim/a.go": "package sim\nfunc f[M ~map[int]int](m M) { for range m {} }\n"}, "range over the map m in f"},
		{files{"sim/a.go": "package sim\nfunc f[M map[int]int](m M) { for range m {} }\n"}, "range over the map m in f"},
		{files{"sim/a.go": "package sim\nimport \"net/url\"\nfunc f(v url.URL) { for range v.Query() {} }\n"}, "range over the map v.Query() in f"},
		{files{"sim/a.go": "package sim\nimport \"github.com/rondo-go/rondo\"\nfunc f() { for range rondo.M {} }\n",
			"loop.go": "package rondo\nvar M map[int]int\n"}, "range over the map rondo.M in f"},
	},
	good: files{
		"loop.go": "package rondo\nimport (\n\"maps\"\n\"slices\"\n\"time\"\n)\nfunc f(m map[int]int, d time.Duration) {\n" +
			"for range slices.Sorted(maps.Keys(m)) {}\nfor range []int{} {}\nclear(m)\n}\n",
		"loop_test.go":    "package rondo\nimport \"time\"\nvar now = time.Now()\n",
		"sim/a.go":        "package sim\nimport \"math/rand/v2\"\nvar r *rand.Rand = rand.New(rand.NewPCG(1, 2))\nvar n = r.N(1)\n",
		"socket/a.go":     "package socket\nimport \"time\"\nvar now = time.Now\n",
		"internal/x/a.go": "package x\nfunc f() { go f() }\n",
	},
}

// unrepeatable finds what the text of s shows without types, for every system.
func (t *tree) unrepeatable(s *source) (found []breach) {
	add := func(n ast.Node, in, what, hint string) {
		found = append(found, breach{file: s.path, line: t.line(n.Pos()), in: in, what: what, hint: hint})
	}
	imports := s.imports()
	for _, i := range s.ast.Imports {
		p := strings.Trim(i.Path.Value, "`\"")
		switch {
		case p == "crypto/rand" || p == "hash/maphash":
			add(i, "", "import of "+p, seeded)
		case i.Name != nil && i.Name.Name == "." && slices.Contains([]string{"time", "maps", "math/rand", "math/rand/v2"}, p):
			add(i, "", "import of "+p+" by .", "name the package")
		}
	}
	s.functions(func(in string, d ast.Decl) {
		sorted := make(map[ast.Expr]bool)
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				add(n, in, "go statement", "start it in post.go")
			case *ast.CallExpr:
				if strings.HasPrefix(qualified(n.Fun, imports), "slices.Sorted") {
					sorted[n.Args[0]] = true
				}
				if sorted[n] {
					sorted[n.Fun] = true
				}
			case *ast.SelectorExpr:
				name := qualified(n, imports)
				if hint := instead[name]; hint != "" && !sorted[n] {
					add(n, in, name, hint)
				}
				if drawn, ok := strings.CutPrefix(name, "math/rand."); ok && !strings.HasPrefix(drawn, "New") && ast.IsExported(drawn) && !typeOfRand[drawn] {
					add(n, in, "rand."+drawn, seeded)
				}
			}
			return true
		})
	})
	return found
}

// typeOfRand has the types of both packages named rand.
var typeOfRand = map[string]bool{
	"Rand": true, "Source": true, "Source64": true, "Zipf": true, "PCG": true, "ChaCha8": true,
}

// qualified returns "time.Now" for such an expression, whatever the file calls
// package time, and "" for any other. Both packages named rand are math/rand.
func qualified(e ast.Expr, imports map[string]string) string {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	x, ok := sel.X.(*ast.Ident)
	if !ok || imports[x.Name] == "" {
		return ""
	}
	return strings.TrimSuffix(imports[x.Name], "/v2") + "." + sel.Sel.Name
}

// mapRanges finds the loops over maps.
func (t *tree) mapRanges(s *source, info *types.Info) (found []breach) {
	s.functions(func(in string, d ast.Decl) {
		ast.Inspect(d, func(n ast.Node) bool {
			r, ok := n.(*ast.RangeStmt)
			if !ok || info.TypeOf(r.X) == nil {
				return true
			}
			if isMap(info.TypeOf(r.X)) {
				found = append(found, breach{file: s.path, line: t.line(r.Pos()), in: in,
					what: "range over the map " + types.ExprString(r.X), hint: "sort the keys, or keep a list"})
			}
			return true
		})
	})
	return found
}

// isMap reports whether t is a map, or a type parameter whose types are maps.
func isMap(t types.Type) bool {
	switch t := t.(type) {
	case *types.TypeParam:
		for term := range t.Constraint().Underlying().(*types.Interface).EmbeddedTypes() {
			if isMap(term) {
				return true
			}
		}
		return false
	case *types.Union:
		return t.Len() > 0 && isMap(t.Term(0).Type())
	}
	_, ok := t.Underlying().(*types.Map)
	return ok
}

// untagged are the packages that are the same on every system.
var untagged = []string{".", "coro"}

var tagsRule = rule{
	name: "tags",
	law:  "The root package and coro are the same on every system: no build constraint, no system in a file's name.",
	check: func(t *tree) (found []breach) {
		for _, s := range t.source {
			if s.test || !slices.Contains(untagged, s.dir) {
				continue
			}
			if i := strings.LastIndex(s.name, "_"); i >= 0 && slices.Contains(systems, strings.TrimSuffix(s.name[i+1:], ".go")) {
				found = append(found, breach{file: s.path, what: "system in the file's name"})
			}
			for _, c := range comments(s.ast) {
				if constraint.IsGoBuild(c.Text) {
					found = append(found, breach{file: s.path, line: t.line(c.Pos()), what: "build constraint"})
				}
			}
		}
		return found
	},
	bad: []sample{
		{files{"loop_linux.go": "package rondo\n"}, "system in the file's name"},
		{files{"loop.go": "//go:build unix\n\npackage rondo\n"}, "build constraint"},
		{files{"coro/switch_amd64.go": "package coro\n"}, "system in the file's name"},
	},
	good: files{
		"loop_test.go":           "//go:build race\n\npackage rondo\n",
		"internal/poll/a_aix.go": "//go:build aix\n\npackage poll\n",
	},
}

// systems has the systems and processors that the go command reads in a file's
// name, as far as anyone might use them.
var systems = []string{
	"linux", "darwin", "freebsd", "openbsd", "netbsd", "dragonfly", "solaris", "aix", "windows", "plan9", "js", "wasip1",
	"android", "ios", "amd64", "arm64", "386", "arm", "riscv64", "loong64", "ppc64", "ppc64le", "s390x", "wasm",
}

func comments(f *ast.File) (list []*ast.Comment) {
	for _, group := range f.Comments {
		list = append(list, group.List...)
	}
	return list
}
