//go:build linux && (amd64 || arm64)

package inspect_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/inspect"
	"github.com/rondo-go/rondo/internal/layout"
)

// connsOf returns the connections of each loop in a snapshot, by its name, as the snapshot
// has them and as all that is made of it has.
func connsOf(t *testing.T, p *inspect.Program) map[string]int {
	t.Helper()
	out := make(map[string]int)
	var tree, json, metrics bytes.Buffer
	for _, write := range []error{p.WriteTree(&tree, inspect.TreeOptions{}), p.WriteJSON(&json), p.WriteMetrics(&metrics)} {
		if write != nil {
			t.Fatal(write)
		}
	}
	page := pageOf(t, p, "")
	for _, l := range p.Loops {
		if l.Conns == nil {
			t.Fatalf("the connections of %s are not known", l.Name)
		}
		n := *l.Conns
		out[l.Name] = n
		for what, text := range map[string]string{
			fmt.Sprintf(`(?m)^%s +%d +%d +\d+ %% +\d+ +\d+ +\S+$`, l.Name, len(l.Tasks), n):                                        tree.String(),
			fmt.Sprintf(`(?m)^%s: \d+ tasks?, %d connections?, \d+ ready, \d+ timers?, up \S+, busy \d+ %%$`, l.Name, n):           tree.String(),
			fmt.Sprintf(`"name":"%s",[^[]*"conns":%d,`, l.Name, n):                                                                 json.String(),
			fmt.Sprintf(`(?m)^rondo_connections\{loop="%s",id="%d"\} %d$`, l.Name, l.ID, n):                                        metrics.String(),
			fmt.Sprintf(`<td>%s</td><td class="n">%d</td><td class="n">%d</td><td class="n">\d+ %%</td>`, l.Name, len(l.Tasks), n): page,
		} {
			if !regexp.MustCompile(what).MatchString(text) {
				t.Fatalf("nothing is as %s in\n%s", what, text)
			}
		}
	}
	return out
}

// TestConns: of a process with two loops that have connections, each loop has as many as
// its peers hold, after they were opened and after some were closed.
func TestConns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	paths := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}
	target := open(t, start(t, plain.program(t), "shards", paths[0], paths[1]))
	held := make([][]net.Conn, 2)
	check := func(step string) {
		t.Helper()
		p := shot(t, target, inspect.Options{})
		want := map[string]int{"target": 0, "shard-0": len(held[0]), "shard-1": len(held[1])}
		if got := connsOf(t, p); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v; want %v", step, got, want)
		}
	}
	check("none")
	for i, n := range []int{7, 3} {
		for range n {
			c, err := net.Dial("unix", paths[i])
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			// The program has the connection when it has sent something.
			if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			held[i] = append(held[i], c)
		}
	}
	check("opened")
	for i, n := range []int{5, 3} {
		for _, c := range held[i][:n] {
			if err := c.(*net.UnixConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			// The program has closed the connection when this ends.
			if _, err := c.Read(make([]byte, 1)); err != io.EOF {
				t.Fatal(err)
			}
		}
		held[i] = held[i][n:]
	}
	check("closed")
}

// TestServers: each server of a program has its counters in all that is made of a snapshot,
// and the change between two snapshots is what was done in between.
func TestServers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	paths := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}
	target := open(t, start(t, plain.program(t), "shards", paths[0], paths[1]))
	snapshot := func() *inspect.Program {
		t.Helper()
		p := shot(t, target, inspect.Options{})
		return p
	}
	visit := func(path, says string) {
		t.Helper()
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, says); err != nil {
			t.Fatal(err)
		}
		if err := c.(*net.UnixConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(c); err != nil { // ends when the server has closed the connection
			t.Fatal(err)
		}
	}
	visit(paths[0], "hello")
	before := snapshot()
	visit(paths[0], "panic")
	visit(paths[1], "hello")
	for _, path := range paths { // when it has answered, what came before is counted
		held, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer held.Close()
		if _, err := io.ReadFull(held, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	after := snapshot()
	for i, want := range []inspect.Server{
		{Name: paths[0], Accepted: 3, Open: 1, Errors: 1, Panics: 1}, {Name: paths[1], Accepted: 2, Open: 1},
	} {
		l := after.Loops[i]
		if len(l.Servers) != 1 || l.Servers[0] != want {
			t.Fatalf("%s has the servers %+v; want %+v", l.Name, l.Servers, want)
		}
	}
	if s := after.Loops[0].Servers[0].Since(before.Loops[0].Servers[0]); s.Accepted != 2 || s.Panics != 1 {
		t.Errorf("between the snapshots the first server counted %+v; want 2 accepted, 1 panic", s)
	}
	var tree, json, metrics bytes.Buffer
	_, _, _ = after.WriteTree(&tree, inspect.TreeOptions{}), after.WriteJSON(&json), after.WriteMetrics(&metrics)
	again, err := inspect.ReadJSON(&json)
	if err != nil || again.Loops[0].Servers[0] != after.Loops[0].Servers[0] {
		t.Errorf("JSON gives %+v, %v", again.Loops[0].Servers, err)
	}
	label := fmt.Sprintf(`{loop="shard-0",id="%d",server="%s"} `, after.Loops[0].ID, paths[0])
	for text, in := range map[string]string{
		"server " + paths[0] + ": 1 connection, 3 accepted, 1 ended with an error, 1 with a panic\n": tree.String(),
		"rondo_server_accepted_total" + label + "3\n":                                                metrics.String(),
		"rondo_server_panics_total" + label + "1\n":                                                  metrics.String(),
		"<td>" + paths[1] + `</td><td class="n">1</td><td class="n">2</td><td class="n">0</td>`:      pageOf(t, after, ""),
	} {
		if !strings.Contains(in, text) {
			t.Errorf("%q is not in\n%s", text, in)
		}
	}
}

// TestMetricsOfServersWithOneName: one name is one series, with the sum of all that have it:
// Prometheus refuses a series that comes twice.
func TestMetricsOfServersWithOneName(t *testing.T) {
	p := &inspect.Program{Loops: []*inspect.Loop{{Name: "loop", ID: 1, Servers: []inspect.Server{{Name: "a", Accepted: 2}, {Name: "b"}, {Name: "a", Accepted: 3}}}}}
	var metrics strings.Builder
	_ = p.WriteMetrics(&metrics)
	if n := strings.Count(metrics.String(), "rondo_server_accepted_total{loop=\"loop\",id=\"1\",server=\"a\"} "); n != 1 || !strings.Contains(metrics.String(), `server="a"} 5`) {
		t.Errorf("%d series of the server a, want one with 5, in\n%s", n, &metrics)
	}
}

// TestMetricsOfWaits: of each kind of wait the metrics have how many there are, and the longest.
func TestMetricsOfWaits(t *testing.T) {
	var metrics strings.Builder
	_ = crowd(2, 5).WriteMetrics(&metrics)
	for _, loop := range []string{`{loop="loop-0",id="1",`, `{loop="loop-1",id="2",`} {
		for _, want := range []string{
			"rondo_waiting_tasks" + loop + `what="sleep"} 3`, "rondo_longest_wait_seconds" + loop + `what="sleep"} 4`,
			"rondo_waiting_tasks" + loop + `what="lock"} 2`, "rondo_longest_wait_seconds" + loop + `what="lock"} 5`,
		} {
			if !strings.Contains(metrics.String(), "\n"+want+"\n") {
				t.Errorf("no %q in\n%s", want, &metrics)
			}
		}
	}
}

// TestOlderRondo: of a program whose Rondo did not count connections yet, that is said, and
// the rest is there.
func TestOlderRondo(t *testing.T) {
	i := recorded(t)
	table := i.find(binary.LittleEndian.AppendUint64(nil, layout.Cookie0), 1)[0]
	older := func(offsets int) (*inspect.Target, error) {
		d := damage(i, nil)
		size := (layout.AtOffsets + 2*offsets + 7) &^ 7
		d.put(table+layout.AtSize, binary.LittleEndian.AppendUint32(nil, uint32(size)))
		// Behind what it has are zeros, and then something else.
		d.put(table+uint64(layout.AtOffsets+2*offsets), bytes.Repeat([]byte{0}, size-layout.AtOffsets-2*offsets))
		d.put(table+uint64(size), bytes.Repeat([]byte{0x11}, 64))
		return inspect.OpenMemory(d)
	}
	target, err := older(layout.Required)
	if err != nil {
		t.Fatal(err)
	}
	p, err := target.Snapshot(inspect.Options{Stacks: true})
	if err != nil || len(p.Loops) != 1 || p.Loops[0].Conns != nil {
		t.Fatalf("%v, %+v; want one loop with unknown connections", err, p)
	}
	checkTasks(t, p.Loops[0])
	var tree, json, metrics strings.Builder
	_, _, _ = p.WriteTree(&tree, inspect.TreeOptions{}), p.WriteJSON(&json), p.WriteMetrics(&metrics)
	if !strings.Contains(tree.String(), "target: 11 tasks, - connections, ") || strings.Contains(json.String(), `"conns":`) ||
		strings.Contains(metrics.String(), "rondo_connections{") || !strings.Contains(pageOf(t, p, ""), `<td>target</td><td class="n">11</td><td class="n">-</td>`) {
		t.Errorf("connections that are not known are in\n%s\n%s\n%s", &tree, &json, &metrics)
	}
	// No Rondo had fewer, so this is no table.
	if target, err = older(layout.Required - 4); err != nil {
		t.Fatal(err)
	}
	_, err = target.Snapshot(inspect.Options{})
	refused(t, err, "has no Rondo in it")
}

// TestServersDamaged: what is in the list and is no server is left out, and so is a list that
// cannot be.
func TestServersDamaged(t *testing.T) {
	i := recorded(t)
	target := opened(t, i)
	at := target.InLoop(layout.LoopServers)
	for what, words := range map[string][2]uint64{
		"a list of other things": {at - 64, 2}, "a list nowhere": {8, 2}, "a list of a million": {at, 1 << 20}, "a huge list": {at, 1 << 62},
	} {
		d := damage(i, nil)
		d.put(at, binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, words[0]), words[1]))
		target := opened(t, d)
		p, err := target.Snapshot(inspect.Options{})
		if err != nil || len(p.Loops[0].Servers) > 0 {
			t.Errorf("%s: %v, %v; want no server", what, p.Loops[0].Servers, err)
		}
	}
}

// TestConnsDamaged: a count that cannot be is not believed.
func TestConnsDamaged(t *testing.T) {
	i := recorded(t)
	target := opened(t, i)
	at := target.InLoop(layout.LoopConns)
	for value, want := range map[int64]string{0: "0", 123_456: "123456", -1: "-", 1 << 40: "-"} {
		d := damage(i, nil)
		d.put(at, binary.LittleEndian.AppendUint64(nil, uint64(value)))
		target := opened(t, d)
		p := shot(t, target, inspect.Options{})
		var b strings.Builder
		_ = p.Loops[0].WriteHead(&b, false)
		if !strings.Contains(b.String(), ", "+want+" connections, ") {
			t.Errorf("%d connections are %s", value, &b)
		}
	}
}
