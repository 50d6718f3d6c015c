package main

import (
	"errors"
	"regexp"
	"strings"
	"testing"
)

func TestUsageErrors(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"", `rondo: a command is missing; try "rondo demo", or "rondo help" for all of them`},
		{"dance", `rondo: there is no command "dance"; "rondo help" lists the commands`},
		{"--conns 5 demo", `rondo: flags such as "--conns" come after a command; "rondo help" lists the commands`},
		{"demo --conns 0", `rondo demo: --conns takes a whole number from 1 up, not "0"`},
		{"demo --conns -5", `rondo demo: --conns takes a whole number from 1 up, not "-5"`},
		{"demo --conns=-5", `rondo demo: --conns takes a whole number from 1 up, not "-5"`},
		{"demo -conns abc", `rondo demo: --conns takes a whole number from 1 up, not "abc"`},
		{"demo --conns=", `rondo demo: --conns takes a whole number from 1 up, not ""`},
		{"demo --conns 99999999999999999999", `rondo demo: --conns takes a whole number from 1 up, not "99999999999999999999"`},
		{"demo --conns", `rondo demo: --conns needs a value; "rondo demo --help" says which`},
		{"demo --for 0s", `rondo demo: --for takes a time longer than nothing, such as 5s, not "0s"`},
		{"demo --for -5s", `rondo demo: --for takes a time longer than nothing, such as 5s, not "-5s"`},
		{"demo --for 5", `rondo demo: --for takes a time with its unit, such as 5s, not "5"`},
		{"demo --for soon", `rondo demo: --for takes a time such as 5s or 1m30s, not "soon"`},
		{"demo --size 0", `rondo demo: --size takes a number of bytes from 1 to 16777216, not "0"`},
		{"demo --size 16777217", `rondo demo: --size takes a number of bytes from 1 to 16777216, not "16777217"`},
		{"demo --size 64k", `rondo demo: --size takes a number of bytes from 1 to 16777216, not "64k"`},
		{"demo --loud", `rondo demo: there is no flag --loud; "rondo demo --help" lists the flags`},
		{"demo --loud=3 --size 3", `rondo demo: there is no flag --loud; "rondo demo --help" lists the flags`},
		{"demo --size 3 ---conns 3", `rondo demo: there is no flag ---conns; "rondo demo --help" lists the flags`},
		{"demo ---", `rondo demo: there is no flag ---; "rondo demo --help" lists the flags`},
		{"demo now", `rondo demo: "now" is one argument too many; "rondo demo --help" shows what it takes`},
		{"demo --conns 5 -- --size", `rondo demo: "--size" is one argument too many; "rondo demo --help" shows what it takes`},
		{"demo -", `rondo demo: "-" is one argument too many; "rondo demo --help" shows what it takes`},
		{"echo --addr here", `rondo echo: --addr takes HOST:PORT such as 127.0.0.1:7777, not "here"`},
		{"echo --addr 127.0.0.1", `rondo echo: --addr takes HOST:PORT such as 127.0.0.1:7777, not "127.0.0.1"`},
		{"echo --addr ::1:80", `rondo echo: --addr takes HOST:PORT such as 127.0.0.1:7777, not "::1:80"`},
		{"echo --addr :65536", `rondo echo: --addr takes a port from 0 to 65535, as in 127.0.0.1:7777, not ":65536"`},
		{"echo --addr :", `rondo echo: --addr takes a port from 0 to 65535, as in 127.0.0.1:7777, not ":"`},
		{"echo --grace -1s", `rondo echo: --grace takes a time that is not negative, such as 5s, not "-1s"`},
		{"echo on", `rondo echo: "on" is one argument too many; "rondo echo --help" shows what it takes`},
		{"ps --full", `rondo ps: there is no flag --full; "rondo ps --help" lists the flags`},
		{"ps --json", `rondo ps: a process is missing, as in: rondo ps PID`},
		{"ps --sort weight 12", `rondo ps: --sort takes id, name, since, age, switches, busy or longest, not "weight"`},
		{"ps --columns id,size 12", `rondo ps: --columns takes names with commas between them, of id, name, state, waits, since, age, switches, func, busy, longest, slow, waker, parent, site; not "size"`},
		{"ps --group name 12", `rondo ps: --group takes wait, func, stack or scope, not "name"`},
		{"ps --limit 0 12", `rondo ps: --limit takes a whole number from 1 up, not "0"`},
		{"ps --filter= 12", `rondo ps: --filter takes a text that rows contain`},
		{"ps --json --group wait 12", `rondo ps: it is either --json, which has each task, or --group`},
		{"ps 12 13", `rondo ps: "13" is one argument too many; "rondo ps --help" shows what it takes`},
		{"ps --full 12", `rondo ps: there is no flag --full; "rondo ps --help" lists the flags`},
		{"ps 12 --loud", `rondo ps: there is no flag --loud; "rondo ps --help" lists the flags`},
		{"ps --json=maybe 12", `rondo ps: --json takes no value, or true or false, not "maybe"`},
		{"ps --core c 12", `rondo ps: it is either a process or --core, not both 12 and c`},
		{"ps --exe e 12", `rondo ps: --exe goes with --core: it names the program of that core`},
		{"ps --core=", `rondo ps: --core takes a core file`},
		{"ps --group wait --sort since 12", `rondo ps: with --group there are no rows of tasks: leave out --sort`},
		{"ps --group wait 12 --columns id", `rondo ps: with --group there are no rows of tasks: leave out --columns`},
		{"ps --json --columns id 12", `rondo ps: with --json there is all of each task: leave out --columns`},
		{"record --last 10s --for 5s 12", `rondo record: with --last there are no snapshots: leave out --for`},
		{"record --every 1s --last 10s 12", `rondo record: with --last there are no snapshots: leave out --every`},
		{"record --stacks --last 10s 12", `rondo record: with --last there are no snapshots: leave out --stacks`},
		{"flame --by size 12", `rondo flame: --by takes count or time, not "size"`},
		{"flame --by time --wall 1s 12", `rondo flame: with --wall tasks count by time: leave out --by`},
		{"flame --every 1s 12", `rondo flame: --every goes with --wall: it says how often that looks`},
		{"tree", `rondo tree: a process is missing, as in: rondo tree PID`},
		{"tree --json --all", `rondo tree: a process is missing, as in: rondo tree PID`},
		{"top", `rondo top: a process is missing, as in: rondo top PID`},
		{"top --json 12", `rondo top: there is no flag --json; "rondo top --help" lists the flags`},
		{"top 12 --every 0s", `rondo top: --every takes a time longer than nothing, such as 5s, not "0s"`},
		{"top 12 --every 2", `rondo top: --every takes a time with its unit, such as 2s, not "2"`},
		{"top --every 99ms 12", `rondo top: --every takes 100ms or more, not 99ms`},
		{"trace", `rondo trace: a file and a program are missing, as in: rondo trace FILE -- PROGRAM`},
		{"trace t.json", `rondo trace: "--" and a program must follow the file, as in: rondo trace FILE -- PROGRAM`},
		{"trace t.json prog", `rondo trace: "--" and a program must follow the file, as in: rondo trace FILE -- PROGRAM`},
		{"trace -- prog arg", `rondo trace: "--" and a program must follow the file, as in: rondo trace FILE -- PROGRAM`},
		{"trace t.json --", `rondo trace: a program is missing after "--", as in: rondo trace FILE -- PROGRAM`},
		{"trace --loud t.json -- prog", `rondo trace: there is no flag --loud; "rondo trace --help" lists the flags`},
		{"help dance", `rondo help: there is no command "dance"; "rondo help" lists the commands`},
		{"help demo echo", `rondo help: "echo" is one argument too many; "rondo help --help" shows what it takes`},
		{"version 2", `rondo version: "2" is one argument too many; "rondo version --help" shows what it takes`},
	} {
		status, out, err := invoke(strings.Fields(test.args)...)
		if status != exitUsage || out != "" || err != test.want+"\n" {
			t.Errorf("rondo %s: status %d, output %q, error\n%swant\n%s", test.args, status, out, err, test.want)
		}
	}
}

// TestUsageOfProcess: a process is its number or its URL. What lacks only the beginning of a URL is
// said with it.
func TestUsageOfProcess(t *testing.T) {
	const other = "http://localhost:8080"
	for _, verb := range []string{"ps", "tree", "top", "locks", "check", "record", "flame"} {
		for text, like := range map[string]string{
			"0": other, "-5": other, "12x": other, "1.5": other, "99999999999999999999": other, "localhost": other, "localhost:": other, "::1:80": other,
			"localhost:7413": "http://localhost:7413", ":7413": "http://localhost:7413", "[::1]:80": "http://[::1]:80",
			"pod.example:80/debug/x": "http://pod.example:80/debug/x",
		} {
			args := []string{verb, text}
			if text == "-5" {
				args = []string{verb, "--", text}
			}
			want := `, or by its URL, such as ` + like + `, not "` + text + `"`
			if verb == "flame" {
				want += ", and there is no such file"
			}
			status, out, err := invoke(args...)
			if !regexp.MustCompile(`^rondo `+verb+`: a process is given by its number, such as \d+`+regexp.QuoteMeta(want)+`\n$`).MatchString(err) || status != exitUsage || out != "" {
				t.Errorf("rondo %s: status %d, output %q, error %q", args, status, out, err)
			}
		}
	}
}

// An error that is several is one sentence all the same.
func TestSentence(t *testing.T) {
	one := errors.New("one went wrong")
	for _, test := range []struct {
		err  error
		want string
	}{
		{one, "one went wrong"},
		{errors.Join(one, errors.New("two")), "one went wrong (and 1 more error)"},
		{errors.Join(one, errors.New("two"), errors.New("three")), "one went wrong (and 2 more errors)"},
	} {
		if got := sentence(test.err); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

// Whatever the output fails with is an error, not a silence.
func TestOutputFails(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"help", "demo"}, {"version"}, {"demo", "--conns", "2", "--for", "1ms"}, {"echo", "--addr", "127.0.0.1:0"}} {
		var stderr strings.Builder
		status := run(args, brokenWriter{}, &stderr)
		want := "rondo " + args[0] + ": cannot write the output; look at where it goes: broken\n"
		if status != exitFailed || stderr.String() != want {
			t.Errorf("rondo %s: status %d, error %q, want %q", args, status, stderr.String(), want)
		}
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("broken") }
