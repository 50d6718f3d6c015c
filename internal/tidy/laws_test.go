package tidy

import (
	"go/ast"
	"regexp"
	"strings"
)

// lawsTable is the document that has the table of laws.
const lawsTable = "docs/TESTING.md"

var (
	lawSentence = regexp.MustCompile(`\bThe law\b`)
	lawRow      = regexp.MustCompile("^\\| `([^`]+\\.go)` \\|.*\\|([^|]*)\\|$")
	lawTest     = regexp.MustCompile("`(?:[a-z]+/)*((?:Test|Fuzz)\\w+)`")
)

var lawsRule = rule{
	name: "laws",
	law: "Each file with a comment that says \"The law\" has a row in the table of " + lawsTable + ", and each row there is of such a " +
		"file and names a test that exists, one that fails if the law is broken, or says \"none yet\".",
	check: func(t *tree) (found []breach) {
		text, ok := t.text[lawsTable]
		if !ok {
			return nil
		}
		tests := make(map[string]bool)
		with := make(map[string]int) // the line of the sentence, by file
		for _, s := range t.source {
			for _, c := range comments(s.ast) {
				if at := lawSentence.FindStringIndex(c.Text); at != nil && with[s.path] == 0 {
					with[s.path] = t.line(c.Pos()) + strings.Count(c.Text[:at[0]], "\n")
				}
			}
			for _, d := range s.ast.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && s.test {
					tests[f.Name.Name] = true
				}
			}
		}
		rows := make(map[string]bool)
		for i, l := range strings.Split(text, "\n") {
			m := lawRow.FindStringSubmatch(l)
			if m == nil {
				continue
			}
			rows[m[1]] = true
			if with[m[1]] == 0 {
				found = append(found, breach{file: lawsTable, line: i + 1, what: "a row of " + m[1], hint: "the file has no law"})
			}
			named := lawTest.FindAllStringSubmatch(m[2], -1)
			if named == nil && strings.TrimSpace(m[2]) != "none yet" {
				found = append(found, breach{file: lawsTable, line: i + 1, what: "no test of " + m[1]})
			}
			for _, n := range named {
				if !tests[n[1]] {
					found = append(found, breach{file: lawsTable, line: i + 1, what: "no test " + n[1]})
				}
			}
		}
		for path, line := range with {
			if !rows[path] {
				found = append(found, breach{file: path, line: line, what: "a law without a row in " + lawsTable,
					hint: "break it, see which test fails, and write both there"})
			}
		}
		return found
	},
	bad: []sample{
		{files{lawsTable: "", "a.go": "package rondo\n\n// A file.\n// The law: no.\n"}, "a.go:4: a law without a row"},
		{files{lawsTable: "| `a.go` | no | yes | `TestA` |\n", "a.go": "package rondo // The laws\n", "a_test.go": "package rondo\nfunc TestA() {}\n"}, "a row of a.go"},
		{files{lawsTable: "\n| `a.go` | no | yes | `TestB` |\n", "a.go": "package rondo // The law of a\n", "a_test.go": "package rondo\nfunc TestA() {}\n"}, "TESTING.md:2: no test TestB"},
		{files{lawsTable: "| `a.go` | no | yes | none |\n", "a.go": "package rondo // The law of a\n"}, "no test of a.go"},
	},
	good: files{
		lawsTable:       "| `sim/a.go` | no | yes | `sim/TestA`, `FuzzA` |\n| `b.go` |\n| `c.go` | no | yes | none yet |\n",
		"sim/a.go":      "package sim\n/* The law:\nnone */\nvar a = \"The law\"\n",
		"c.go":          "package rondo // The law of c\n",
		"b.go":          "package rondo // The lawn, the law\n",
		"b/a_test.go":   "package b\nfunc FuzzA() {}\n",
		"sim/a_test.go": "package sim\nfunc TestA() {}\n",
	},
}
