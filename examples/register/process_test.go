package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/examples/internal/program"
	"github.com/rondo-go/rondo/examples/internal/talk"
)

// TestProcesses has three processes keep a value, as the comment of the command says. Each
// makes its folder. When one is killed, the value is still there.
func TestProcesses(t *testing.T) {
	addresses, folder := talk.Free(t, 3), t.TempDir()
	var replicas []*program.Process
	for i, address := range addresses {
		replicas = append(replicas, program.Start(t, "-serve", address, "-data", filepath.Join(folder, "r", string(rune('1'+i)))))
	}
	all := strings.Join(addresses, ",")
	program.Start(t, "-replicas", all, "set", "hello, world").End()
	replicas[0].Signal(os.Kill)
	replicas[0].Wait()
	get := program.Start(t, "-replicas", all, "get")
	if line := get.Line(); line != "hello, world" {
		t.Errorf("the register has %q", line)
	}
	get.End()
	for _, r := range replicas[1:] {
		r.Interrupt()
		r.End()
	}
}

// TestUsage has bad arguments answered with a sentence.
func TestUsage(t *testing.T) {
	for _, c := range []struct {
		want string
		args []string
	}{
		{"no replicas: name them with -replicas", []string{"get"}},
		{"want: get, or set value", []string{"-replicas", "a:1"}},
		{"a value is one line", []string{"-replicas", "a:1", "set", "two\nlines"}},
		{"not a directory", []string{"-serve", "127.0.0.1:0", "-data", os.Args[0] + "/folder"}},
	} {
		if _, said, code := program.Start(t, c.args...).Wait(); code != 1 || !strings.Contains(said, c.want) {
			t.Errorf("%q: exit code %d: %s", c.args, code, said)
		}
	}
}
