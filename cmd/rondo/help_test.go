package main

import (
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
)

func TestHelp(t *testing.T) {
	var all strings.Builder
	for _, args := range []string{"help", "help demo", "help echo", "help ps", "help tree", "help top", "help trace", "help completion", "help man", "help help", "help version"} {
		status, out, err := invoke(strings.Fields(args)...)
		if status != exitDone || err != "" {
			t.Errorf("rondo %s: status %d, error %q", args, status, err)
		}
		fmt.Fprintf(&all, "-- rondo %s --\n%s", args, out)
	}
	golden(t, "help.txt", all.String())
	for _, line := range strings.Split(all.String(), "\n") {
		if len(line) > 80 {
			t.Errorf("wider than 80 columns: %s", line)
		}
	}
}

func TestHelpIsAskedForInManyWays(t *testing.T) {
	for _, test := range []struct{ args, like string }{
		{"--help", "help"}, {"-h", "help"}, {"-help", "help"},
		{"--help demo", "help demo"}, {"demo --help", "help demo"}, {"demo -h", "help demo"},
		{"demo --conns 3 --help", "help demo"}, {"echo --help", "help echo"},
		{"help --help", "help help"}, {"version --help", "help version"},
	} {
		_, want, _ := invoke(strings.Fields(test.like)...)
		status, out, err := invoke(strings.Fields(test.args)...)
		if status != exitDone || out != want || err != "" {
			t.Errorf("rondo %s: status %d, error %q, output\n%s", test.args, status, err, out)
		}
	}
}

// Each flag that a help text names is one, and takes a value if the text shows
// one.
func TestHelpNamesFlags(t *testing.T) {
	named := regexp.MustCompile(`(?m)^  (--[a-z]+) (?: |([A-Z]+))`)
	found := 0
	for _, v := range verbs() {
		for _, m := range named.FindAllStringSubmatch(v.usage, -1) {
			found++
			args := []string{v.name, m[1]}
			want := fmt.Sprintf("rondo %s: %s needs a value; \"rondo %s --help\" says which\n", v.name, m[1], v.name)
			if m[2] == "" {
				// It is taken, and what is missing is something else.
				want = fmt.Sprintf("rondo %s: a process is missing, as in: rondo %s PID\n", v.name, v.name)
			}
			if v.name == "demo" && m[2] == "" { // it needs no process
				args = append(args, "--conns")
				want = "rondo demo: --conns needs a value; \"rondo demo --help\" says which\n"
			}
			status, _, err := invoke(args...)
			if status != exitUsage || err != want {
				t.Errorf("rondo %s %s: status %d, %q; want %q", v.name, m[1], status, err, want)
			}
		}
	}
	if found != 40 {
		t.Errorf("found %d flags in the help texts, want 40", found)
	}
}

func TestVersion(t *testing.T) {
	for _, args := range []string{"version", "--version"} {
		status, out, err := invoke(args)
		if status != exitDone || err != "" || !regexp.MustCompile(`^rondo \S+.* \(go\S+, \w+/\w+\)\n$`).MatchString(out) {
			t.Errorf("status %d, error %q, output %q", status, err, out)
		}
	}
	build := &debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.modified", Value: "true"}}}
	build.Main.Version = "v1.2.3"
	if got, want := describe(build), "rondo v1.2.3 0123456789ab, modified ("; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := describe(new(debug.BuildInfo)), "rondo (devel) ("; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
