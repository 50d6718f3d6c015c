package main

import (
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
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

// TestStatuses: the help, the manual and INSPECTING list each exit status that there is, and no
// other, in order.
func TestStatuses(t *testing.T) {
	matches := func(pattern, text string) (found []string) {
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			found = append(found, m[1])
		}
		return found
	}
	read := func(file string) string {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	want := matches(`(?m)^\texit\w+ += (\d+)`, read("main.go"))
	if len(want) < 7 {
		t.Errorf("the code has only the statuses %v", want)
	}
	_, help, _ := invoke("help")
	_, help, _ = strings.Cut(help, "Exit status")
	_, manual, _ := invoke("man")
	_, manual, _ = strings.Cut(manual, ".SH EXIT STATUS")
	_, document, _ := strings.Cut(read("../../docs/INSPECTING.md"), "## Exit statuses\n")
	document, _, _ = strings.Cut(document, "\n## ")
	for where, got := range map[string][]string{
		"the help": matches(`(?m)^ +(\d) `, help), "the manual": matches(`\.B (\d)\n`, manual), "INSPECTING": matches(`(?m)^\| (\d) \|`, document),
	} {
		if !slices.Equal(got, want) {
			t.Errorf("%s has the statuses %v, and the code %v", where, got, want)
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
