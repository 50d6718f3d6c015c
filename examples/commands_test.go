package examples_test

// These tests hold the documents to the commands: each command of a block runs, or has a reason
// why it does not, and what any command names exists.

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	runs = "runs"                // in each run of the tests
	slow = "runs if all are run" // with RONDO_COMMANDS=all, as the step install of .ci/run does

	isCI     = "it runs these tests, among others"
	minutes  = "it takes minutes to an hour"
	serves   = "it serves until it is interrupted; the tests of its folder start it"
	measures = "it measures, for half a minute and more; the tests of bench run the rows once"
	released = "there is no release; the step install of .ci/run makes one, and does this"
	shows    = "a test compares what it prints"
)

// commands says of each command in the documents what becomes of it. The key is the command
// without its comment.
var commands = map[string]string{
	"make":         runs,
	"make check":   isCI,
	"go test work": isCI,

	"go run ./cmd/rondo demo":                                 slow,
	"git clone https://github.com/rondo-go/rondo ../rondo":    slow,
	"go mod edit -replace github.com/rondo-go/rondo=../rondo": slow,
	"go mod tidy": slow,
	"go -C ../rondo install ./cmd/rondo ./cmd/rondovet": slow,
	"cp -r rondo/examples/service shop":                 slow,
	"cd shop":                                           slow,
	"go mod init example.com/shop":                      slow,
	"go test ./...":                                     slow,
	"go run .":                                          serves,
	"go install github.com/rondo-go/rondo/cmd/rondo@v0.1.0": released,
	"rondo version":                                                    released,
	"go install ./cmd/rondovet":                                        slow,
	"rondovet ./...":                                                   slow,
	"go vet -vettool=$(which rondovet) ./...":                          slow,
	"go test -run TestTalk ./examples/tutorial/step6":                  runs,
	"go test ./examples/register ./examples/raft -run TestMistakes -v": "the step test of .ci/run runs these, among others",
	"go test -race -v -run TestUnseen ./examples":                      "the step race of .ci/run does this",

	"rondo ps --json PID | jq -r '.loops[].tasks[] | select(.what == \"lock\") | .id'":                          slow,
	"rondo ps --json PID | jq -r '.functions as $f | .loops[].tasks[] | $f[.func]' | sort | uniq -c | sort -rn": slow,
	"rondo top https://pod.example/debug/rondo":                                                                 "the name is that of no program; the tests of cmd/rondo read a page",
	"RONDO_TOKEN=$(cat token) rondo check https://pod.example":                                                  "the same",
	"rondo record --last 10s 4711 > flight.json":                                                                "TestRecordLast of cmd/rondo does this with a program of its own",
	"rondo tree 1234":                     shows,
	"rondo tree 4711":                     "TestPlainGo of cmd/rondo does this with a program of its own",
	"rondo tree --full 4711":              "TestTree of cmd/rondo does this with a program of its own",
	"dlv attach 4711":                     "Delve is not installed where the tests run",
	"rondo tree $(pidof step7)":           shows,
	"rondo trace t.json -- ./app compute": shows,

	"go run ./examples/seeds/notebook":                slow,
	"go run ./examples/seeds/notebook futures sleeps": slow,

	"go run ./nats/examples/broker": serves,
	"go run ./nats/examples/broker -name b -client localhost:4223 -cluster localhost:6223 -routes nats://localhost:6222": serves,
	"go run ./nats/examples/broker -name c -client localhost:4224 -cluster localhost:6224 -routes nats://localhost:6222": serves,
	"go run ./nats/examples/broker -client localhost:4224 -say hello":                                                    "it talks to the brokers of the lines above",

	"RONDO_BUGS=100 go test ./sim -run 'TestBugs$' -v":                                           minutes,
	"RONDO_BUGS=100 RONDO_TWINS=10000 go test ./internal/mistakes -run TestFound -v -timeout 1h": minutes,
	"go test ./interop -run TestRepeat -repeat.seeds 1-1000 -repeat.race -v -timeout 10h":        minutes,
	"go test ./nats/embed -run TestSoak -soak 30m -v -timeout 1h":                                minutes,
	"go test ./nats/examples/farm -farm 5m -v":                                                   minutes,

	"go run ./bench":                                                          minutes,
	"go run ./bench -short":                                                   minutes,
	"go run ./bench -run 'echo|idle'":                                         minutes,
	"go run ./bench -list":                                                    slow,
	"go run ./bench -rounds 15":                                               minutes,
	"go run ./bench -write -plot":                                             minutes,
	"go run ./bench -run '^sim-'":                                             minutes,
	"taskset -c 0 go run ./bench/second switch 1000":                          measures,
	"taskset -c 0 go run ./bench/second group":                                measures,
	"go run ./bench/second echo 50":                                           minutes,
	"go run ./bench/second http 64":                                           minutes,
	"GOTOOLCHAIN=go1.26.8 go run ./bench > /tmp/go1.26.md":                    minutes,
	"GOTOOLCHAIN=go1.27.4 go run ./bench > /tmp/go1.27.md":                    minutes,
	"go test ./bench -run '^$' -bench 'Rows/spawn/rondo' -cpuprofile cpu.out": measures,
	"go run ./bench -run '^echo-50$' -profile /tmp":                           measures,
	"go test ./sim -run '^$' -bench Seed":                                     measures,
	"go test ./socket -run '^$' -bench Cluster":                               measures,
}

// documents returns the Markdown files, by their paths from the root.
func documents(t *testing.T) (list []string) {
	for _, pattern := range []string{"*.md", "docs/*.md", "bench/*.md", "examples/*.md", "examples/*/*.md", "nats/*.md", ".github/*.md"} {
		files, err := filepath.Glob(filepath.Join("..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			list = append(list, strings.TrimPrefix(filepath.ToSlash(f), "../"))
		}
	}
	if len(list) < 20 {
		t.Fatalf("found only %d documents", len(list))
	}
	return list
}

var (
	fence  = regexp.MustCompile("(?ms)^ *```(\\w*)\n(.*?)^ *```$")
	remark = regexp.MustCompile(`\s+# .*$`)
	hidden = regexp.MustCompile(`(?m)^    (\$ .*|(?:go|make|git|cp|cd|rondo|rondovet|taskset|docker|bash) .*)$`)
)

// commandBlocks returns the commands of each block of a document: the lines of those marked sh,
// and the lines after "$ " of the others.
func commandBlocks(text string) (list [][]string) {
	for _, m := range fence.FindAllStringSubmatch(text, -1) {
		var block []string
		for _, line := range strings.Split(m[2], "\n") {
			line = strings.TrimSpace(line)
			prompted, ok := strings.CutPrefix(line, "$ ")
			if ok || m[1] == "sh" && line != "" {
				block = append(block, remark.ReplaceAllString(prompted, ""))
			}
		}
		if block != nil {
			list = append(list, block)
		}
	}
	return list
}

// TestCommands runs the commands of the documents, each block in one shell.
func TestCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds programs")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	all, bin := os.Getenv("RONDO_COMMANDS") == "all", t.TempDir()
	left := maps.Clone(commands)
	for _, d := range documents(t) {
		text := read(t, d)
		if m := hidden.FindString(fence.ReplaceAllString(text, "")); m != "" {
			t.Errorf("%s: put this into a block that is marked sh:\n%s", d, m)
		}
		for _, block := range commandBlocks(text) {
			var script []string
			for _, c := range block {
				how, ok := commands[c]
				if !ok {
					t.Errorf("%s: say in commands whether a test runs this, or why not:\n%s", d, c)
				}
				if delete(left, c); how == runs || how == slow && all {
					script = append(script, c)
				}
			}
			if script != nil {
				t.Run(d, func(t *testing.T) { shell(t, root, bin, script) })
			}
		}
	}
	for c := range left {
		t.Errorf("no document has this command: %s", c)
	}
}

// shell runs a script as a reader would: in the root, or beside the checkout if it copies from
// there. PID is a program to look into.
func shell(t *testing.T, root, bin string, script []string) {
	dir, text, flags := root, strings.Join(script, "\n"), os.Getenv("GOFLAGS")
	if strings.HasPrefix(text, "git clone") || strings.HasPrefix(text, "cp -r rondo/") {
		flags += " -trimpath" // the folder is another one each time, and would be compiled anew
	}
	switch {
	case strings.HasPrefix(text, "git clone"):
		dir = filepath.Join(t.TempDir(), "user")
		begin := "package main\n\nimport _ \"github.com/rondo-go/rondo\"\n\nfunc main() {}\n"
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(begin), 0o666); err != nil {
			t.Fatal(err)
		}
		text = "go mod init example.com/user\n" + text + "\ngo run .\nrondo version"
	case strings.HasPrefix(text, "cp -r rondo/"):
		dir = t.TempDir()
		if err := os.Symlink(root, filepath.Join(dir, "rondo")); err != nil {
			t.Fatal(err)
		}
	case strings.HasPrefix(text, "go install ./cmd/rondovet\n"):
		text = strings.Replace(text, "\n", "\ncd examples/service\n", 1) // Rondo's own tests make mistakes
	case strings.Contains(text, "PID"):
		text = "go install ./cmd/rondo\nrondo demo --for 60s >/dev/null &\nPID=$!\ntrap 'kill $PID' EXIT\n" +
			"until rondo ps --json $PID >/dev/null 2>&1; do kill -0 $PID; done\n" + strings.ReplaceAll(text, " PID ", " $PID ")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-e", "-o", "pipefail", "-c", text)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PWD="+dir, "GOFLAGS="+flags, "GOBIN="+bin, "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"),
		// A clone from the Internet is one of this checkout.
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url."+root+".insteadOf", "GIT_CONFIG_VALUE_0=https://github.com/rondo-go/rondo")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v in %s:\n%s\n%s", err, dir, text, out)
	}
}

var (
	inline  = regexp.MustCompile("`((?:[A-Z_]+=\\S+ )*(?:go (?:test|run|vet|build|install)|make|\\.ci/\\w+|bash \\.ci/\\w+|rondo) [^`]*|\\.ci/\\w+)`")
	folder  = regexp.MustCompile(`(?:^| )\./([\w/]+)`)
	pattern = regexp.MustCompile(` -run[ =]'?\^?([\w|()/]+)`)
	target  = regexp.MustCompile(`^make ([a-z]\w*)`)
	step    = regexp.MustCompile(`(\.ci/\w+)(?: ([a-z]\w*))?`)
	verb    = regexp.MustCompile(`^rondo ([a-z]+)`)
)

// TestCommandNames wants what a command of a document names to exist, in a block or in a line: the
// folder, the test, the target of make, the step of .ci/run, the verb of rondo.
func TestCommandNames(t *testing.T) {
	makefile, ci := read(t, "Makefile"), read(t, ".ci/run")
	verbs := read(t, "cmd/rondo/help.go") + read(t, "cmd/rondo/main.go")
	count := 0
	for _, d := range documents(t) {
		text := read(t, d)
		list := slices.Concat(commandBlocks(text)...)
		for _, m := range inline.FindAllStringSubmatch(strings.ReplaceAll(text, "\n", " "), -1) {
			list = append(list, m[1])
		}
		count += len(list)
		for _, c := range list {
			for _, m := range folder.FindAllStringSubmatch(c, -1) {
				if _, err := os.Stat(filepath.Join("..", m[1])); err != nil && d != "docs/DEBUGGING.md" {
					t.Errorf("%s: %q: %v", d, c, err)
				}
			}
			if m := pattern.FindStringSubmatch(c); m != nil && strings.Contains(c, "go test") && !strings.Contains(c, " -bench") && m[1] != "NAME" && !tested(t, c, m[1]) {
				t.Errorf("%s: %q: there is no such test", d, c)
			}
			if m := target.FindStringSubmatch(c); m != nil && !strings.Contains(makefile, "\n"+m[1]+":") {
				t.Errorf("%s: %q: the Makefile has no such target", d, c)
			}
			if m := step.FindStringSubmatch(c); m != nil {
				if _, err := os.Stat(filepath.Join("..", m[1])); err != nil {
					t.Errorf("%s: %q: %v", d, c, err)
				}
				if m[1] == ".ci/run" && m[2] != "" && !strings.Contains(ci, "\nrun_"+m[2]+"()") {
					t.Errorf("%s: %q: there is no such step", d, c)
				}
			}
			if m := verb.FindStringSubmatch(c); m != nil && c != "rondo new" && !strings.Contains(verbs, `"`+m[1]+`"`) {
				t.Errorf("%s: %q: rondo has no such verb", d, c)
			}
		}
	}
	if count < 100 {
		t.Errorf("found only %d commands: the documents are not read as they should be", count)
	}
}

// tested reports whether a folder that a command names has a test that its -run names.
func tested(t *testing.T, command, run string) bool {
	run, _, _ = strings.Cut(run, "/")
	name := regexp.MustCompile(`(?m)^func (?:Test|Example|Fuzz)\w*`)
	want := regexp.MustCompile(run)
	for _, m := range append(folder.FindAllStringSubmatch(command, -1), []string{"", ""}) {
		if m[1] == "" && folder.MatchString(command) {
			continue
		}
		files, err := filepath.Glob(filepath.Join("..", m[1], "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			for _, test := range name.FindAllString(read(t, strings.TrimPrefix(filepath.ToSlash(f), "../")), -1) {
				if want.MatchString(strings.TrimPrefix(test, "func ")) {
					return true
				}
			}
		}
	}
	return false
}
