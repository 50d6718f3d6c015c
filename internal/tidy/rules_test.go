package tidy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A rule is one thing that holds all over the source.
type rule struct {
	name  string
	law   string               // in a sentence or two, for whoever broke it
	check func(*tree) []breach // finds all that breaks it, exceptions included
	bad   []sample             // each has exactly one breach; at least one sample
	good  files                // has none

	// A rule with a table about the repository judges its samples by another one.
	onSample func(*tree) []breach
}

// A sample is a small tree that breaks a rule.
type sample struct {
	files files
	want  string // a piece of what is said about it
}

// files are the contents of a tree, by path.
type files map[string]string

// A breach is a place that breaks a rule.
type breach struct {
	file string
	line int    // 0 if it is about the file as a whole
	in   string // the function that it is in, if in any
	what string // the thing that is not allowed: what an exception names
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
	layersRule, sysRule, tiersRule, callsRule, sizesRule, limitsRule, mapRule, determinismRule, locksRule, tagsRule,
	docsRule, namesRule, marksRule, linksRule, sleepsRule, skipsRule, modulesRule,
}

// TestRules holds the repository to every rule.
func TestRules(t *testing.T) {
	repository, err := readTree("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range repository.source {
		if s.err != nil {
			t.Errorf("what no rule can read: %v", s.err)
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
				t.Errorf("nothing needs this exception: %s, %s, %q: take it out", e.rule, e.file, e.what)
			}
			if e.why == "" {
				t.Errorf("no reason is given for this exception: %s, %s, %q", e.rule, e.file, e.what)
			}
		}
	})
}

// TestEveryRuleCanFail shows each rule its samples.
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
