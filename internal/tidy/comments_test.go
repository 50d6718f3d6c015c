package tidy

import (
	"go/ast"
	"regexp"
)

var commentsRule = rule{
	name: "comments",
	law: "What a comment names of a package of this repository, as in driver.Poller, is declared there: a type, a function, a variable " +
		"or a constant. A comment begins with its noun, and not with \"This file\".",
	check: func(t *tree) (found []breach) {
		declared := t.declared()
		for _, s := range t.source {
			imports := s.imports()
			for _, c := range comments(s.ast) {
				if thisFile.MatchString(c.Text) {
					found = append(found, breach{file: s.path, line: t.line(c.Pos()), what: "comment that begins with \"This file\"",
						hint: "begin with the noun that the file is about"})
				}
				for _, m := range qualifiedName.FindAllStringSubmatch(c.Text, -1) {
					dir, ours := dirOf(imports[m[1]])
					if imports[m[1]] == "" {
						dir, ours = declared.folder[m[1]]
					}
					if ours && declared.names[dir] != nil && !declared.names[dir][m[2]] {
						found = append(found, breach{file: s.path, line: t.line(c.Pos()), what: "comment that names " + m[1] + "." + m[2],
							hint: "nothing has that name in " + dir})
					}
				}
			}
		}
		return found
	},
	bad: []sample{
		{files{"a.go": "package rondo\n// Poll is that of driver.Late.\n", "internal/driver/a.go": "package driver\ntype Poller int\n"}, "driver.Late"},
		{files{"a.go": "package rondo\nimport seam \"github.com/rondo-go/rondo/internal/driver\"\n/* see\nseam.Late.Until */\n",
			"internal/driver/a.go": "package driver\ntype T struct{ Late int }\n"}, "seam.Late"},
		{files{"internal/driver/a.go": "package driver\nfunc f() {} // what driver.f does, driver.G does\n"}, "driver.G"},
		{files{"a.go": "package rondo\n// This file runs the loop.\nvar a int\n"}, "This file"},
	},
	good: files{
		"a.go":                 "package rondo\n// See driver.Poller.Arm, driver.Late, driver.V, driver.go, driver.C, http.Late and example.com/driver.Late.\nvar a = \"driver.Nothing\"\n",
		"b.go":                 "package rondo\nimport \"database/sql/driver\"\n// A driver.Valuer is one.\nvar b driver.Valuer\n",
		"internal/driver/a.go": "package driver\ntype (\n\tPoller int\n\tC int\n)\nvar V, W = 1, 2\n",
		"internal/driver/b.go": "package driver\nfunc Late() {}\n",
	},
}

// qualifiedName finds the names of other packages in a comment.
var qualifiedName = regexp.MustCompile(`(?:^|[\s("])([a-z][a-z0-9]*)\.([A-Z][A-Za-z0-9]*)`)

// thisFile finds a comment that puts a noun behind the word for the file.
var thisFile = regexp.MustCompile(`^// This file `)

// declarations are the exported names of the tree's packages.
type declarations struct {
	names  map[string]map[string]bool // by folder
	folder map[string]string          // of the one package with a name
}

// declared returns what the packages declare for others.
func (t *tree) declared() declarations {
	d := declarations{make(map[string]map[string]bool), make(map[string]string)}
	for _, s := range t.source {
		if s.external() {
			continue
		}
		name := s.ast.Name.Name
		if dir, ok := d.folder[name]; ok && dir != s.dir {
			d.folder[name] = "" // several packages have that name
		} else if !s.in(outside...) {
			d.folder[name] = s.dir
		}
		if d.names[s.dir] == nil {
			d.names[s.dir] = make(map[string]bool)
		}
		for _, decl := range s.ast.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv == nil {
					d.names[s.dir][decl.Name.Name] = true
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						d.names[s.dir][spec.Name.Name] = true
					case *ast.ValueSpec:
						for _, n := range spec.Names {
							d.names[s.dir][n.Name] = true
						}
					}
				}
			}
		}
	}
	return d
}
