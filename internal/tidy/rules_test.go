package tidy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A rule holds for all of the source.
type rule struct {
	name  string
	law   string               // in a sentence or two, for the author of the change that breaks it
	check func(*tree) []breach // finds every breach, exceptions included
	bad   []sample             // each has exactly one breach; there is at least one
	good  files                // has none

	// The check for the samples, if that of the repository has a table of files
	// or figures; nil: check.
	onSample func(*tree) []breach
}

// A sample is a small tree that breaks a rule.
type sample struct {
	files files
	want  string // part of the text of its breach
}

// files are the contents of a tree, by path.
type files map[string]string

// A breach is a place that breaks a rule.
type breach struct {
	file string
	line int    // 0 if it concerns the whole file
	in   string // the function that contains it, if any
	what string // what is not allowed; an exception names it
	hint string // what to do instead
}

func (b breach) String() string {
	var s strings.Builder
	s.WriteString(b.file)
	if b.line > 0 {
		fmt.Fprintf(&s, ":%d", b.line)
	}
	s.WriteString(": " + b.what)
	if b.in != "" {
		s.WriteString(" in " + b.in)
	}
	if b.hint != "" {
		s.WriteString(": " + b.hint)
	}
	return s.String()
}

var rules = []rule{
	layersRule, sysRule, tiersRule, callsRule, sizesRule, swapsRule, mapRule, determinismRule, locksRule, tagsRule,
	foreignRule, copiesRule, docsRule, lawsRule, examplesRule, namesRule, marksRule, commentsRule, widthsRule, worldsRule, linksRule, sleepsRule, skipsRule, modulesRule,
}

// TestRules checks the repository against every rule.
func TestRules(t *testing.T) {
	repository, err := readRepository()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range repository.source {
		if s.err != nil {
			t.Errorf("a file that no rule can read: %v", s.err)
		}
	}
	needed := make(map[exception]bool)
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			t.Log(r.law)
			found := r.check(repository)
			slices.SortStableFunc(found, func(a, b breach) int {
				return cmp.Or(strings.Compare(a.file, b.file), a.line-b.line)
			})
			for _, b := range found {
				if e, ok := exceptionFor(r.name, b); ok {
					needed[e] = true
					continue
				}
				t.Error(b)
			}
		})
	}
	t.Run("exceptions", func(t *testing.T) {
		t.Log("Every exception is needed, and says why.")
		for _, e := range exceptions {
			if !needed[e] {
				t.Errorf("nothing needs this exception: %s, %s, %q: remove it", e.rule, e.file, e.what)
			}
			if e.why == "" {
				t.Errorf("this exception has no reason: %s, %s, %q", e.rule, e.file, e.what)
			}
		}
	})
}

// TestEveryRuleCanFail checks each rule with its samples.
func TestEveryRuleCanFail(t *testing.T) {
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			if len(r.bad) == 0 {
				t.Error("no sample breaks this rule")
			}
			check := r.check
			if r.onSample != nil {
				check = r.onSample
			}
			for _, s := range r.bad {
				found := check(newTree(s.files))
				if len(found) != 1 || !strings.Contains(found[0].String(), s.want) {
					t.Errorf("found %v, want one breach with %q in\n%v", found, s.want, s.files)
				}
			}
			for _, b := range check(newTree(r.good)) {
				t.Errorf("wrongly found: %v", b)
			}
		})
	}
}
