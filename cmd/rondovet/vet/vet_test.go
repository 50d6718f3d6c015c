package vet_test

import (
	"path/filepath"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/rondo-go/rondo/cmd/rondovet/vet"
)

// all makes the reports of every check.
var all = &analysis.Analyzer{
	Name:     "all",
	Doc:      "make the reports of every check",
	Requires: vet.OuterCtx.Requires,
	Run: func(pass *analysis.Pass) (any, error) {
		for _, a := range vet.Analyzers {
			if _, err := a.Run(pass); err != nil {
				return nil, err
			}
		}
		return nil, nil
	},
}

func testdata(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestReports: every report that a line of the mistakes wants is made, and no other. Each
// file has what must not be reported as well.
func TestReports(t *testing.T) {
	analysistest.RunWithSuggestedFixes(t, testdata(t), all, "./...")
}
