package sim

// This file writes the command that runs a failed test again in the same way.

import (
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
)

// command returns the command that runs t with RONDO_SEED set to value. It holds
// anywhere in the module.
func command(t testing.TB, value string) string { return variable + "=" + value + " " + testCommand(t) }

// testCommand returns the command that runs t.
func testCommand(t testing.TB) string {
	names := strings.Split(t.Name(), "/")
	for i, n := range names {
		names[i] = "^" + regexp.QuoteMeta(n) + "$"
	}
	return fmt.Sprintf("go test %s -run %s -count=1", tested(), quote(strings.Join(names, "/")))
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
