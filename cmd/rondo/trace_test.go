package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// TestTrace: a program with a loop runs as it always does, and its timeline is
// whole and counted.
func TestTrace(t *testing.T) {
	t.Setenv(asCommand, "1")
	path := filepath.Join(t.TempDir(), "trace.json")
	status, out, err := invoke("trace", path, "--", os.Args[0], "demo", "--conns", "2", "--for", "10ms")
	if status != exitDone || !strings.Contains(out, "round trip") {
		t.Errorf("status %d, output\n%s", status, out)
	}
	text, fail := os.ReadFile(path)
	if fail != nil {
		t.Fatal(fail)
	}
	var events []any
	if err := json.Unmarshal(text, &events); err != nil {
		t.Error(err)
	}
	want := regexp.MustCompile(`(?m)^rondo trace: (\d+) tasks of 1 loop, ([\d,]+) events in .*trace\.json; open it at https://ui\.perfetto\.dev\n$`)
	m := want.FindStringSubmatch(err)
	if m == nil || m[2] != count(len(events)) {
		t.Errorf("said %q, there are %d events", err, len(events))
	}
}

// TestTracePassesTheExitStatusOn: and says what it has to say besides.
func TestTracePassesTheExitStatusOn(t *testing.T) {
	t.Setenv(asCommand, "1")
	path := filepath.Join(t.TempDir(), "trace.json")
	status, out, err := invoke("trace", path, "--", os.Args[0], "dance")
	want := `rondo: there is no command "dance"; "rondo help" lists the commands
rondo trace: no loop of Rondo ran in ` + os.Args[0] + `, so there is no timeline; does it use Rondo, and did it call Run?
`
	if status != exitUsage || out != "" || err != want {
		t.Errorf("status %d, output %q, error\n%swant\n%s", status, out, err, want)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("an empty file is left: %v", err)
	}
}

// TestTraceErrors: each is a sentence that says what to do.
func TestTraceErrors(t *testing.T) {
	t.Setenv(asCommand, "1")
	dir := t.TempDir()
	file := filepath.Join(dir, "t")
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		want string
		unix bool
	}{
		{[]string{file, "--", "no-such-program"}, `there is no program "no-such-program" in PATH; for one in this folder write ./no-such-program`, false},
		{[]string{file, "--", "./no-such"}, `there is no program "./no-such"; look at the path`, true},
		{[]string{file, "--", plain}, `"` + plain + `" may not be run; look at whether it is a program`, true},
		{[]string{filepath.Join(dir, "no", "t"), "--", os.Args[0]}, filepath.Join(dir, "no", "t") + ` cannot be written; choose another file: no such file or directory`, true},
		{[]string{os.DevNull, "--", os.Args[0]}, os.DevNull + ` cannot be written; choose another file: it is a device or a pipe`, true},
		{[]string{file, "--", os.Args[0], "version"}, `no loop of Rondo ran in ` + os.Args[0] + `, so there is no timeline; does it use Rondo, and did it call Run?`, false},
	} {
		if test.unix && runtime.GOOS == "windows" {
			continue
		}
		status, _, err := invoke(append([]string{"trace"}, test.args...)...)
		if status != exitFailed || err != "rondo trace: "+test.want+"\n" {
			t.Errorf("%v: status %d, error\n%swant\n%s", test.args, status, err, test.want)
		}
	}
}

// TestTraceNumberOfTheProcess: %p in the file's name.
func TestTraceNumberOfTheProcess(t *testing.T) {
	t.Setenv(asCommand, "1")
	dir := t.TempDir()
	status, _, err := invoke("trace", filepath.Join(dir, "trace-%p"), "--", os.Args[0], "demo", "--conns", "1", "--for", "1ms")
	found, _ := filepath.Glob(filepath.Join(dir, "trace-*"))
	if status != exitDone || len(found) != 1 || !regexp.MustCompile(`-\d+$`).MatchString(found[0]) || !strings.Contains(err, found[0]) {
		t.Errorf("status %d, error %q, files %v", status, err, found)
	}
}
