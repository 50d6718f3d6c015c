//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package containment_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// elsewhere are the places that are not in the matrix, by what becomes of a failure there.
var elsewhere = map[string]string{
	"the caller's own: it gets the error, and the panic passes through it": `
		rondo.Pull rondo.Receive rondo.Offload rondo.OffloadFunc rondo.Settle rondo.Submit rondo.AsCompleted rondo.Run rondo.Runner.Run
		shard.Run shard.Runner.Run rondo.NewPriorityQueue process.Cmd.Cancel socket.Dialer.Control socket.Dialer.ControlContext
		socket.ListenConfig.Control shard.ServeConfig.Wrap signals.Cancel signals.Run slogtask.NewHandler`,
	"a panic ends its connection (TestThrowers, TestProtocolPanics)": `
		socket.Protocol.Connected socket.Protocol.EOF socket.Protocol.PauseWriting socket.Protocol.ResumeWriting`,
	"a panic ends its connection (TestSessionFails of httptask)":                       `httptask.Session`,
	"main is the caller's own; wake runs on a goroutine, whose panic ends the process": `guest.New`,
	"reported once to the log (TestPanicOfOnError)":                                    `rondo.Runner.OnError`,
	"reported once to OnError of the Runner (package tracer)":                          `rondo.Tracer.Called rondo.Tracer.Ended rondo.Tracer.Parked rondo.Tracer.Started rondo.Tracer.Stepped rondo.Tracer.Woken`,
}

// takesFunction finds a parameter or a field of a function type in a line of api/*.txt.
var takesFunction = regexp.MustCompile(`^func (\w+)(?:\[[^(]*\])?\(.*func\(.*|^method \(\*?(\w+)[^)]*\) (\w+)\(.*func\(.*|^type (\w+) struct, (\w+) func\(`)

// TestSurface: each function of the public API that takes a function of the program's has a
// row in the matrix, or is known to have no place there.
func TestSurface(t *testing.T) {
	known := map[string]bool{}
	for _, p := range places {
		for _, name := range strings.Fields(p.api) {
			known[name] = true
		}
	}
	for name := range callbacks {
		known[name] = true
	}
	for _, names := range elsewhere {
		for _, name := range strings.Fields(names) {
			if known[name] {
				t.Errorf("%s is in the matrix and in the list of what is elsewhere", name)
			}
			known[name] = true
		}
	}
	files, err := filepath.Glob("../../api/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		pkg := strings.TrimSuffix(filepath.Base(file), ".txt")
		if pkg == "sim" || pkg == "coro" || pkg == "inspect" { // a test, no loop, and no function of a task's
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			found := takesFunction.FindStringSubmatch(strings.TrimSpace(line))
			if found == nil {
				continue
			}
			name := pkg + "." + found[1] + found[2] + found[4]
			if member := found[3] + found[5]; member != "" {
				name += "." + member
			}
			if results := line[strings.LastIndex(line, ")")+1:]; found[1] != "" && strings.Count(line, "func(") == 1 && strings.HasPrefix(strings.TrimSpace(results), "func") {
				continue
			}
			if !known[name] {
				t.Errorf("%s takes a function of the program's and has no row in the matrix: %s", name, strings.TrimSpace(line))
			}
		}
	}
}
