package main

import (
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
)

// TestHelp: help lists the verbs, prints all that is known of one, and is no wider than 80 columns.
func TestHelp(t *testing.T) {
	help := func(args ...string) string {
		status, out, err := invoke(append([]string{"help"}, args...)...)
		if status != exitDone || err != "" {
			t.Errorf("rondo help %s: status %d, error %q", args, status, err)
		}
		for line := range strings.Lines(out) {
			if len(line) > 81 {
				t.Errorf("wider than 80 columns: %s", line)
			}
		}
		return out
	}
	list := help()
	for _, v := range verbs() {
		if line := fmt.Sprintf("\n  %-10s %s\n", v.name, v.summary); !strings.Contains(list, line) {
			t.Errorf("there is no line %q in\n%s", line, list)
		}
		if got, want := help(v.name), "rondo "+v.name+": "+v.summary+"\n\n"+v.usage; got != want {
			t.Errorf("rondo help %s: got\n%swant\n%s", v.name, got, want)
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
