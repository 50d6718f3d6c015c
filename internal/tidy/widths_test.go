package tidy

import (
	"strings"
	"unicode/utf8"
)

var widthsRule = rule{
	name: "widths",
	law: "A comment on a line of its own is at most 100 columns wide, with 4 for a tab. Code in a comment, which is " +
		"indented, and directives may be wider.",
	check: func(t *tree) (found []breach) {
		for _, s := range t.source {
			for i, l := range strings.Split(t.text[s.path], "\n") {
				text := strings.TrimLeft(l, "\t")
				if strings.HasPrefix(text, "// ") && utf8.RuneCountInString(text)+4*(len(l)-len(text)) > 100 {
					found = append(found, breach{file: s.path, line: i + 1, what: "a comment wider than 100 columns"})
				}
			}
		}
		return found
	},
	bad: []sample{
		{files{"a.go": "package rondo\n\n// " + strings.Repeat("x", 98) + "\n"}, "a.go:3: a comment"},
		{files{"a.go": "package rondo\n\nfunc f() {\n\t// " + strings.Repeat("x", 94) + "\n}\n"}, "a.go:4: a comment"},
	},
	good: files{
		"a.go": "package rondo\n\n// " + strings.Repeat("é", 97) + "\n//\n//\t" + strings.Repeat("code ", 30) + "\n//go:" + strings.Repeat("x", 100) +
			"\nvar a int // " + strings.Repeat("x", 100) + "\n",
	},
}
