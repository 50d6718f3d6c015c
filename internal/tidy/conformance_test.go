package tidy

import (
	"go/ast"
	"os"
	"regexp"
	"slices"
	"testing"
)

// TestConformance compares docs/CONFORMANCE.md with the tests: each test that it
// names exists, and each test with a number in its name is in the row of that number.
func TestConformance(t *testing.T) {
	text, err := os.ReadFile("../../docs/CONFORMANCE.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\| C-(\d{3}) \|.*$`)
	name := regexp.MustCompile(`TestC(\d{3})\w*`)
	rows := make(map[string][]string)
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		if _, twice := rows[m[1]]; twice {
			t.Errorf("C-%s has two rows", m[1])
		}
		rows[m[1]] = name.FindAllString(m[0], -1)
	}
	sources, err := readTree("../..")
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]bool)
	for _, s := range sources.source {
		for _, d := range s.ast.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil {
				continue
			}
			if m := name.FindStringSubmatch(f.Name.Name); m != nil {
				found[f.Name.Name] = true
				if !slices.Contains(rows[m[1]], f.Name.Name) {
					t.Errorf("%s: %s is not in the row of C-%s in docs/CONFORMANCE.md", s.path, f.Name.Name, m[1])
				}
			}
		}
	}
	for n, tests := range rows {
		for _, test := range tests {
			if !found[test] {
				t.Errorf("docs/CONFORMANCE.md: C-%s names %s, which does not exist", n, test)
			}
		}
	}
	if len(rows) < 150 {
		t.Errorf("docs/CONFORMANCE.md has %d rows; there were more than 150", len(rows))
	}
}
