package tidy

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode"
)

var linksRule = rule{
	name: "links",
	law:  "A link in a Markdown file to a file of the repository, or to a heading of one, finds it.",
	check: func(t *tree) (found []breach) {
		for p, text := range t.text {
			if path.Ext(p) != ".md" {
				continue
			}
			for i, l := range prose(text) {
				for _, target := range targets(l) {
					if hint := t.follow(p, target); hint != "" {
						found = append(found, breach{file: p, line: i + 1, what: "link to " + target, hint: hint})
					}
				}
			}
		}
		return found
	},
	bad: []sample{
		{files{"README.md": "See [this](docs/this.md).\n"}, "link to docs/this.md"},
		{files{"docs/a.md": "See\n[this](a/../../../b.md \"title\").\n"}, "docs/a.md:2: link to a/../../../b.md"},
		{files{"README.md": "![picture](picture.svg)\n"}, "link to picture.svg"},
		{files{"README.md": "[this]: this.md\n"}, "link to this.md"},
		{files{"README.md": "# One thing\n[this](#another-thing)\n"}, "no such heading"},
		{files{"README.md": "[this](b.md#a)\n", "b.md": "```\n# a\n```\n"}, "no such heading"},
	},
	good: files{
		"README.md": "# What `it` is, in short\n## Twice\n## Twice\n[a](docs/a.md) [b](/docs) [c](https://example.com/x.md) [d](#what-it-is-in-short)\n" +
			"[e](docs/a.md#a_b) [f](#twice-1) [g](<docs/a.md>) [h](mailto:a@example.com)\n`[i](j)`\n```\n[k](l)\n```\n[m]: docs/a.md\nf[int](x) is not one? It is: `f[int](x)`.\n",
		"docs/a.md": "[b](../README.md)\n# a_b\n",
		"x":         "",
	},
}

// prose returns the lines of a Markdown text, with code left out of them.
func prose(text string) []string {
	lines := strings.Split(text, "\n")
	fence := ""
	for i, l := range lines {
		trimmed := strings.TrimSpace(l)
		switch {
		case fence != "":
			if strings.HasPrefix(trimmed, fence) {
				fence = ""
			}
			lines[i] = ""
		case strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
			fence = trimmed[:3]
			lines[i] = ""
		}
	}
	return lines
}

var (
	code      = regexp.MustCompile("`[^`]*`")
	inline    = regexp.MustCompile(`\]\(<?([^)\s>]+)>?[^)]*\)`)
	reference = regexp.MustCompile(`^ {0,3}\[[^\]]+\]:\s+<?([^\s>]+)`)
	scheme    = regexp.MustCompile(`^[a-z]+:`)
)

// targets returns what a line links to.
func targets(line string) (list []string) {
	line = code.ReplaceAllString(line, "")
	for _, m := range append(inline.FindAllStringSubmatch(line, -1), reference.FindAllStringSubmatch(line, -1)...) {
		if !scheme.MatchString(m[1]) {
			list = append(list, m[1])
		}
	}
	return list
}

// follow returns why a link in file p leads nowhere, or "".
func (t *tree) follow(p, target string) string {
	file, heading, _ := strings.Cut(target, "#")
	to := p
	switch {
	case strings.HasPrefix(file, "/"):
		to = path.Clean("." + file)
	case file != "":
		to = path.Join(path.Dir(p), file)
	}
	if !t.exists[to] {
		return "no such file"
	}
	if heading != "" && path.Ext(to) == ".md" && !anchors(t.text[to])[heading] {
		return "no such heading"
	}
	return ""
}

// anchors returns the names by which the headings of a text are linked to.
func anchors(text string) map[string]bool {
	names := make(map[string]bool)
	for _, l := range prose(text) {
		title := strings.TrimLeft(l, "#")
		if title == l || !strings.HasPrefix(title, " ") {
			continue
		}
		name := strings.Map(func(r rune) rune {
			switch {
			case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
				return unicode.ToLower(r)
			case r == ' ':
				return '-'
			}
			return -1
		}, strings.TrimSpace(title))
		unique := name
		for n := 1; names[unique]; n++ {
			unique = fmt.Sprintf("%s-%d", name, n)
		}
		names[unique] = true
	}
	return names
}
