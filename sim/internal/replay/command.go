package replay

// A command runs a failed test again in the same way, anywhere in the module.

import (
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
)

// Command returns the command that runs t with RONDO_SEED set to value.
func Command(t testing.TB, value string) string { return Variable + "=" + value + " " + TestCommand(t) }

// TestCommand returns the command that runs t.
func TestCommand(t testing.TB) string {
	return fmt.Sprintf("go test %s -run %s -count=1", tested(), quote(Pattern(t.Name())))
}

// Pattern returns the value of -run for one test.
func Pattern(name string) string {
	names := strings.Split(name, "/")
	for i, n := range names {
		names[i] = "^" + regexp.QuoteMeta(n) + "$"
	}
	return strings.Join(names, "/")
}

// quote protects s from the shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// tested returns the package whose test this is, after the flags that it was built
// with if they can matter.
func tested() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "."
	}
	path := strings.TrimSuffix(info.Path, ".test") // a package main has none
	if path == "" {
		return "."
	}
	var flags string
	for _, s := range info.Settings {
		switch {
		case s.Key == "-race" && s.Value == "true":
			flags += "-race "
		case s.Key == "-tags":
			flags += "-tags=" + s.Value + " "
		}
	}
	return flags + path
}
