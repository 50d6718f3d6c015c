package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/examples/internal/program"
	"github.com/rondo-go/rondo/examples/internal/talk"
)

func TestMain(m *testing.M) { program.Main(m, main) }

// TestProcesses has three processes keep a value, while one after the other is killed and
// started again.
func TestProcesses(t *testing.T) {
	addresses, folder := talk.Free(t, 3), t.TempDir()
	peers := strings.Join(addresses, ",")
	start := func(id int) *program.Process {
		p := program.Start(t, "-id", fmt.Sprint(id), "-peers", peers, "-data", folder)
		want := fmt.Sprintf("server %d listens on %s", id, addresses[id-1])
		if line := p.Line(); line != want {
			t.Fatalf("it said %q, not %q", line, want)
		}
		return p
	}
	ask := func(want string, args ...string) {
		t.Helper()
		p := program.Start(t, append([]string{"-peers", peers}, args...)...)
		if line := p.Line(); line != want {
			t.Errorf("%q returned %q, not %q", args, line, want)
		}
		p.End()
	}
	var servers []*program.Process
	for id := 1; id <= 3; id++ {
		servers = append(servers, start(id))
	}
	ask("red", "set", "color", "red")
	value := "red"
	for i, p := range servers {
		p.Signal(os.Kill)
		p.Wait()
		value += fmt.Sprint(", ", i)
		ask(value, "append", "color", fmt.Sprint(", ", i))
		servers[i] = start(i + 1)
	}
	ask(value, "get", "color")
	for _, p := range servers {
		p.Interrupt()
		if _, said, code := p.Wait(); code != 0 || said != "" {
			t.Errorf("exit code %d: %s", code, said)
		}
	}
}

// TestUsage has bad arguments answered with a sentence.
func TestUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"get", "x"}, "no servers"},
		{[]string{"-id", "3", "-peers", "a:1,b:1"}, "no server 3 among the peers"},
		{[]string{"-peers", "a:1,b:1", "sing"}, "want: get key"},
		{[]string{"-peers", talk.Free(t, 1)[0], "-id", "1", "-data", "/nowhere/at/all"}, "/nowhere/at/all"},
	} {
		if _, said, code := program.Start(t, c.args...).Wait(); code != 1 || !strings.Contains(said, c.want) {
			t.Errorf("%q: exit code %d: %s", c.args, code, said)
		}
	}
}

// TestStore: what no client sends is refused, and does not count as done.
func TestStore(t *testing.T) {
	for _, c := range []command{{}, {Do: "sing", Client: "a", Number: 1}, {Do: "set", Key: "k"}, {Do: "set", Client: "a"}} {
		if c.check() == nil {
			t.Errorf("%v is accepted", c)
		}
	}
	s := newStore()
	for _, c := range []command{
		{"a", 1, "append", "k", "1"}, {"a", 1, "append", "k", "1"}, {"b", 1, "append", "k", "2"}, {"a", 1, "append", "k", "1"}, {},
	} {
		s.apply(c)
	}
	if s.values["k"] != "12" || s.sessions["a"].result != "1" {
		t.Errorf("%+v", s)
	}
}
