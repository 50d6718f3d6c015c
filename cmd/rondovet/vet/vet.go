// Package vet has analyzers that find mistakes in programs made with Rondo. They report
// only what is certain: a call that they cannot resolve, through an interface or a
// variable that is set more than once, is not reported.
//
// tasksAnalyzer finds out which functions run as tasks. The others ask it.
package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// Analyzers are all checks.
var Analyzers = []*analysis.Analyzer{OuterCtx, Blocking, WaitError, Outside, Readers, Share}

// page is the document about all checks.
const page = "https://github.com/rondo-go/rondo/blob/main/docs/VET.md"

// silence is the comment that silences every check on its line and the next one.
const silence = "//rondovet:ignore "

// A reporter reports what one check finds, but for lines that are silenced.
type reporter struct {
	pass   *analysis.Pass
	silent map[string]map[int]bool // by file and line
}

func newReporter(pass *analysis.Pass) *reporter {
	r := &reporter{pass: pass, silent: make(map[string]map[int]bool)}
	for _, f := range pass.Files {
		for _, group := range f.Comments {
			for _, c := range group.List {
				if reason, ok := strings.CutPrefix(c.Text, silence); ok && strings.TrimSpace(reason) != "" {
					at := pass.Fset.Position(c.Pos())
					if r.silent[at.Filename] == nil {
						r.silent[at.Filename] = make(map[int]bool)
					}
					r.silent[at.Filename][at.Line] = true
					r.silent[at.Filename][at.Line+1] = true
				}
			}
		}
	}
	return r
}

// report reports n, with a fix unless fix is nil.
func (r *reporter) report(n ast.Node, fix *analysis.SuggestedFix, format string, args ...any) {
	at := r.pass.Fset.Position(n.Pos())
	if r.silent[at.Filename][at.Line] {
		return
	}
	d := analysis.Diagnostic{Pos: n.Pos(), End: n.End(), Message: fmt.Sprintf(format, args...)}
	if fix != nil {
		d.SuggestedFixes = []analysis.SuggestedFix{*fix}
	}
	r.pass.Report(d)
}

// line returns the line number of a position.
func (r *reporter) line(p token.Pos) int { return r.pass.Fset.Position(p).Line }
