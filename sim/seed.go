package sim

// This file reads the variable RONDO_SEED and writes the command that runs the
// same again.

import (
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
)

const variable = "RONDO_SEED"

// A plan is what RONDO_SEED asks for: seeds, or one order in choices, or if it
// is empty nothing.
type plan struct {
	set         bool
	first, last uint64
	choices     []int // not nil: a replay of Explore
}

func planned() (plan, error) { return parsePlan(os.Getenv(variable)) }

// parsePlan reads "7", "1-2000" or "x:0,1,0".
func parsePlan(s string) (plan, error) {
	if s == "" {
		return plan{}, nil
	}
	bad := fmt.Errorf("sim: %s=%q: want a seed as 7, a range of seeds as 1-2000, or an order as x:0,1", variable, s)
	p := plan{set: true}
	var err error
	if list, ok := strings.CutPrefix(s, "x:"); ok {
		p.choices = []int{}
		for f := range strings.SplitSeq(list, ",") {
			if list == "" {
				break
			}
			n, err := strconv.ParseUint(f, 10, 31)
			if err != nil {
				return plan{}, bad
			}
			p.choices = append(p.choices, int(n))
		}
		return p, nil
	}
	first, last, isRange := strings.Cut(s, "-")
	if p.first, err = strconv.ParseUint(first, 10, 64); err != nil {
		return plan{}, bad
	}
	p.last = p.first
	if isRange {
		if p.last, err = strconv.ParseUint(last, 10, 64); err != nil || p.last < p.first {
			return plan{}, bad
		}
	}
	return p, nil
}

// formatSeed and formatChoices are parsePlan's opposite. The choice at the end
// of a list is 0 for ever, so zeros there are left out.
func formatSeed(seed uint64) string { return strconv.FormatUint(seed, 10) }

func formatChoices(choices []int) string {
	for len(choices) > 0 && choices[len(choices)-1] == 0 {
		choices = choices[:len(choices)-1]
	}
	var b strings.Builder
	b.WriteString("x:")
	for i, c := range choices {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(c))
	}
	return b.String()
}

// command gives the command that runs t once more with RONDO_SEED set to value.
// It can be given anywhere in the module.
func command(t testing.TB, value string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s=%s go test %s", variable, value, buildOf())
	names := strings.Split(t.Name(), "/")
	for i, n := range names {
		names[i] = "^" + regexp.QuoteMeta(n) + "$"
	}
	fmt.Fprintf(&b, " -run %s -count=1", quote(strings.Join(names, "/")))
	return b.String()
}

// quote protects s from the shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// buildOf gives the package that is tested, after the flags that its test was
// built with, as far as they matter.
func buildOf() string {
	info, ok := debug.ReadBuildInfo()
	path, isTest := "", false
	if ok {
		path, isTest = strings.CutSuffix(info.Path, ".test")
	}
	if !isTest {
		return "."
	}
	flags := ""
	for _, s := range info.Settings {
		if s.Key == "-race" || s.Key == "-tags" {
			flags += s.Key + "=" + s.Value + " "
		}
	}
	return flags + path
}
