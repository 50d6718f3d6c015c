package tidy

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// architecture is the document that has the map of the source.
const architecture = "docs/ARCHITECTURE.md"

var mapRule = rule{
	name: "map",
	law: architecture + " names every file of the root package that is not a test, every package of the root module " +
		"and the folders of the other modules. A Go file that it names exists.",
	check: func(t *tree) (found []breach) {
		text, ok := t.text[architecture]
		if !ok {
			return nil
		}
		named := make(map[string]int)
		for i, l := range strings.Split(text, "\n") {
			for _, match := range coded.FindAllStringSubmatch(l, -1) {
				for name := range strings.FieldsSeq(match[1]) {
					if named[name] == 0 {
						named[name] = i + 1
					}
				}
			}
		}
		for _, name := range t.mapped() {
			if named[name] == 0 {
				found = append(found, breach{file: architecture, what: "nothing about " + name, hint: "name it there, between backquotes"})
			}
		}
		for name, line := range named {
			if path.Ext(name) == ".go" && !t.exists[name] {
				found = append(found, breach{file: architecture, line: line, what: "no file " + name})
			}
		}
		return found
	},
	bad: []sample{
		{files{architecture: "`loop.go`\n", "loop.go": "package rondo\n", "task.go": "package rondo\n"}, "nothing about task.go"},
		{files{architecture: "task.go\n", "task.go": "package rondo\n"}, "nothing about task.go"},
		{files{architecture: "`a` `internal`\n", "internal/a/a.go": "package a\n"}, "nothing about internal/a"},
		{files{architecture: "", "cmd/a/b/main.go": "package main\n"}, "nothing about cmd"},
		{files{architecture: "\n`loop.go`\n"}, "ARCHITECTURE.md:2: no file loop.go"},
		{files{architecture: "`sim/sim.go`, `sim`\n", "sim/a.go": "package sim\n"}, "no file sim/sim.go"},
	},
	good: files{
		architecture:            "`loop.go` is in `rondo`. `sim/a.go` belongs to `sim`, `internal/a` and `cmd`\nare others. `go test ./x` `x_test.go`.\n",
		"loop.go":               "package rondo\n",
		"x_test.go":             "package rondo\n",
		"sim/a.go":              "package sim\n",
		"sim/testdata/b/b.go":   "package b\n",
		"internal/a/a.go":       "package a\n",
		"internal/b/b_test.go":  "package b\n",
		"cmd/rondo/main.go":     "package main\n",
		"cmd/rondo/sub/main.go": "package main\n",
	},
}

// coded finds what stands between backquotes.
var coded = regexp.MustCompile("`([^`]+)`")

// mapped lists what the map has to name.
func (t *tree) mapped() (names []string) {
	for _, s := range t.source {
		name := s.dir
		switch {
		case s.test || s.in(".ci/tools"):
			continue
		case s.dir == ".":
			name = s.path
		case s.in(outside...):
			name, _, _ = strings.Cut(s.dir, "/")
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
