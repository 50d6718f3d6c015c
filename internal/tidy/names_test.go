package tidy

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// empty are names without meaning.
var empty = []string{
	"util", "utils", "helper", "helpers", "common", "misc", "types", "manager", "managers", "base", "impl", "stuff",
}

var namesRule = rule{
	name: "names",
	law:  "A file, a folder and a package are named for the one thing that they contain, never " + strings.Join(empty, ", ") + ".",
	check: func(t *tree) (found []breach) {
		seen := make(map[string]bool)
		for _, s := range t.source {
			stem := strings.TrimSuffix(s.name, ".go")
			for _, word := range strings.Split(strings.TrimSuffix(stem, "_test"), "_") {
				if slices.Contains(empty, word) {
					found = append(found, breach{file: s.path, what: "file called " + word})
				}
			}
			pkg := strings.TrimSuffix(s.ast.Name.Name, "_test")
			for _, word := range []string{path.Base(s.dir), pkg} {
				if key := s.dir + " " + word; slices.Contains(empty, word) && !seen[key] {
					seen[key] = true
					found = append(found, breach{file: s.path, what: "package called " + word})
				}
			}
		}
		return found
	},
	bad: []sample{
		{files{"socket/util.go": "package socket\n"}, "file called util"},
		{files{"socket/conn_helpers_test.go": "package socket\n"}, "file called helpers"},
		{files{"types_linux.go": "package rondo\n"}, "file called types"},
		{files{"internal/common/a.go": "package common\n", "internal/common/b.go": "package common\n"}, "package called common"},
		{files{"a/a.go": "package misc_test\n"}, "package called misc"},
	},
	good: files{"utilization.go": "package rondo\n", "sim/base64.go": "package sim\n"},
}

var mark = regexp.MustCompile(`\b(TODO|FIXME|XXX|HACK)\b`)

var marksRule = rule{
	name: "marks",
	law:  "Open work belongs in an issue, not in a comment. No go:linkname reaches into another package.",
	check: func(t *tree) (found []breach) {
		for _, s := range t.source {
			for _, c := range comments(s.ast) {
				what := mark.FindString(c.Text)
				if strings.HasPrefix(c.Text, "//go:linkname") {
					what = "go:linkname"
				}
				if what != "" {
					found = append(found, breach{file: s.path, line: t.line(c.Pos()), what: what})
				}
			}
		}
		return found
	},
	bad: []sample{
		{files{"a.go": "package rondo // TODO: more\n"}, "TODO"},
		{files{"a_test.go": "package rondo\n/* This is right.\n\nFIXME */\n"}, "FIXME"},
		{files{"a.go": "package rondo\n\nfunc f() {\n\t// XXX\n}\n"}, "a.go:4: XXX"},
		{files{"a.go": "package rondo\nimport _ \"unsafe\"\n//go:linkname f runtime.f\nfunc f()\n"}, "go:linkname"},
	},
	good: files{"a.go": "package rondo\nimport \"context\"\nvar todo, TODO = \"TODO\", context.TODO() // todo\n"},
}
