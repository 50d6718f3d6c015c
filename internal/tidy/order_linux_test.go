package tidy

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// An upward is a use that runs up the order in which ARCHITECTURE lists the files of a folder.
type upward struct{ dir, from, to, why string }

var upwards = []upward{
	{"sim", "bubble.go", "world.go", "it is a state of the world: Poll in a bubble"},
	{"sim", "around.go", "cluster.go", "the heart: a world runs in a bubble"},
	{"sim", "errand.go", "cluster.go", "the heart: errands are a part of the world's step"},
	{"sim", "process.go", "errand.go", "the heart: a process runs the errands of its goroutines"},
	{"sim", "cluster.go", "interleave.go", "an exploration counts what the hosts of a World have seen"},
	{"sim", "cluster.go", "link.go", "a World keeps its Links, so that a test gets the same one twice"},
	{"sim", "host.go", "cluster.go", "the heart: a host changes the world that runs it"},
	{"sim", "host.go", "process.go", "the heart: a host ends its process, and begins another"},
	{"sim", "process.go", "cluster.go", "the heart: a process yields to the world"},
	{"sim", "process.go", "interleave.go", "the heart: a step of a process may let others go first"},
	{"sim/internal/search", "stored.go", "seeds.go", "a stored failure is repeated as a list of RONDO_SEED is"},
	{"sim/internal/disk", "damage.go", "disk.go", "damage strikes the files of a Disk"},
	{"sim/internal/network", "flow.go", "stream.go", "a stream and its two flows are one state machine"},
	{"sim/internal/network", "net.go", "stack.go", "a node keeps the stack of its last boot"},
	{"sim/internal/network", "way.go", "net.go", "a way finds its way back"},
	{"sim/internal/network", "way.go", "stack.go", "a reset breaks the connections of two stacks"},
	{"sim/internal/order", "delay.go", "order.go", "a delay is recorded by the order that it is a part of"},
}

// TestSimOrder holds sim and the folders below it to their reading order: ARCHITECTURE.md lists
// each file once, from the top, and a file uses the files below it, but for the table above.
func TestSimOrder(t *testing.T) {
	place, _ := readingOrder(t, "sim")
	var dirs []string
	for p := range place {
		if dir := path.Dir(p); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	repository, err := readRepository()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range repository.source {
		if _, ok := place[s.path]; !ok && !s.test && (s.dir == "sim" || s.in("sim/internal")) {
			t.Errorf("%s is not listed in the section of ARCHITECTURE.md", s.path)
		}
	}
	used := make(map[upward]bool)
	for _, dir := range dirs {
		up, all := 0, 0
		for use, names := range repository.uses(dir) {
			if all++; place[path.Join(dir, use[0])] < place[path.Join(dir, use[1])] {
				continue
			}
			up++
			i := slices.IndexFunc(upwards, func(u upward) bool { return u.dir == dir && u.from == use[0] && u.to == use[1] })
			if i < 0 {
				t.Errorf("%s/%s uses %s of %s, which stands above it", dir, use[0], strings.Join(names, ", "), use[1])
				continue
			}
			used[upwards[i]] = true
		}
		if t.Logf("%s: %d of %d uses between files run up", dir, up, all); up*5 > all {
			t.Errorf("%s: %d of %d uses between files run up, want at most a fifth", dir, up, all)
		}
	}
	for _, u := range upwards {
		if !used[u] {
			t.Errorf("nothing in %s/%s uses %s: take it out of the table", u.dir, u.from, u.to)
		}
	}
}

// TestSocketOrder holds package socket to its reading order: ARCHITECTURE.md lists each file
// once, from the top, a file uses nothing of a group above its own, and at most a fifth of the
// uses between files run up.
func TestSocketOrder(t *testing.T) {
	place, group := readingOrder(t, "socket")
	repository, err := readRepository()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range repository.source {
		if _, ok := place[s.path]; !ok && !s.test && s.dir == "socket" {
			t.Errorf("%s is not listed in the section of ARCHITECTURE.md", s.path)
		}
	}
	up, all := 0, 0
	for use, names := range repository.uses("socket") {
		from, to := "socket/"+use[0], "socket/"+use[1]
		if all++; place[from] > place[to] {
			up++
			if group[from] != group[to] {
				t.Errorf("%s uses %s of %s, which is in a group above: %s", from, strings.Join(names, ", "), to, group[to])
			}
		}
	}
	if t.Logf("%d of %d uses between files run up", up, all); all < 100 || up*5 > all {
		t.Errorf("%d of %d uses between files run up the order, want at most a fifth", up, all)
	}
}

// readingOrder returns the place of each file that the section of ARCHITECTURE.md about a
// package lists, and the first cell of its row.
func readingOrder(t *testing.T, dir string) (place map[string]int, group map[string]string) {
	text, err := os.ReadFile("../../docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Package "+dir+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	section, _, _ = strings.Cut(section, "\n| to add |")
	place, group = make(map[string]int), make(map[string]string)
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		for _, m := range regexp.MustCompile("`("+dir+"/[\\w/]*\\.go)`").FindAllStringSubmatch(line, -1) {
			if _, twice := place[m[1]]; twice {
				t.Errorf("%s is listed twice", m[1])
			}
			place[m[1]] = len(place)
			group[m[1]] = strings.TrimSpace(strings.Split(line+"|", "|")[1])
		}
	}
	return place, group
}
