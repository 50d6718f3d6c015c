//go:build linux && (amd64 || arm64)

package inspect_test

import (
	"encoding/binary"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/rondo-go/rondo/inspect"
)

// find returns the addresses, multiples of step, at which the bytes stand in the
// image.
func (i *image) find(what []byte, step int) (found []uint64) {
	for _, page := range i.order {
		p := i.pages[page]
		for at := 0; p != nil && at+len(what) <= pageSize; at += step {
			if string(p[at:at+len(what)]) == string(what) {
				found = append(found, page+uint64(at))
			}
		}
	}
	return found
}

func (i *image) word(w uint64) []uint64 {
	return i.find(binary.LittleEndian.AppendUint64(nil, w), 8)
}

// nameOf returns where the header of a task's name stands in the image, and where its text: a
// record of a task's rare things points to the header, that to the text.
func (i *image) nameOf(t *testing.T, name string) (header, text uint64) {
	t.Helper()
	for _, there := range i.find([]byte(name), 1) {
		for _, at := range i.word(there) {
			off := at % pageSize
			if p := i.pages[at-off]; off+16 <= pageSize && binary.LittleEndian.Uint64(p[off+8:]) == uint64(len(name)) && len(i.word(at)) > 0 {
				header, text = at, there
			}
		}
	}
	if header == 0 {
		t.Fatalf("the image has no name %q", name)
	}
	return header, text
}

// acceptorOf returns what the task acceptor of the image is called.
func acceptorOf(t *testing.T, d *damaged) string {
	t.Helper()
	target := opened(t, d)
	p := shot(t, target, inspect.Options{})
	return p.Loops[0].Tasks[7].Name
}

// TestNameReturns renames a task twice around each reading of the text of its name: the memory
// of the first name is something else's while the text is read, and after that the second
// name's, which is as long. The name in the snapshot is the first or the second.
func TestNameReturns(t *testing.T) {
	t.Parallel()
	i := recorded(t)
	header, text := i.nameOf(t, "acceptor")
	target := opened(t, i)
	renames := target.Renames()
	whole := damage(i, nil)
	var reads []int
	whole.seen = func(addr uint64, size int) {
		if addr <= text && text+8 <= addr+uint64(size) {
			reads = append(reads, whole.reads)
		}
	}
	if name := acceptorOf(t, whole); name != "acceptor" || len(reads) == 0 {
		t.Fatalf("undamaged, the task is called %q, after %d looks", name, len(reads))
	}
	for _, at := range reads {
		d := damage(i, nil)
		rename := func(bytes string) {
			d.put(text, []byte(bytes))
			for _, record := range i.word(header) {
				count := record + renames
				d.put(count, []byte{d.page(count - count%pageSize)[count%pageSize] + 1})
			}
		}
		d.later = []change{{at, func() { rename("\x00\x00garbag") }}, {at + 1, func() { rename("received") }}}
		if name := acceptorOf(t, d); name != "acceptor" && name != "received" {
			t.Errorf("renamed around read %d of %v, it is called %q", at, reads, name)
		}
	}
}

// TestNameChanges has a task renamed before every single read of a snapshot, and
// the memory of the old name used for something else at once: the name in the
// snapshot is the old one or the new one, and nothing between.
func TestNameChanges(t *testing.T) {
	t.Parallel()
	i := recorded(t)
	old, _ := i.nameOf(t, "acceptor")
	other, _ := i.nameOf(t, "dead-b")
	// The memory of the old name's header is another string's by then, of any length.
	more := [][2]uint64{{old + 8, 5}}
	for _, at := range i.word(old) {
		more = append(more, [2]uint64{at, other})
	}
	seen := make(map[string]int)
	atEachRead(t, i, more[1][0], other, func(l *inspect.Loop, before, _ int) {
		name := l.Tasks[7].Name
		if name != "acceptor" && name != "dead-b" {
			t.Errorf("renamed after %d looks, it is called %q", before, name)
		}
		seen[name]++
	}, more...)
	if seen["acceptor"] == 0 || seen["dead-b"] == 0 {
		t.Errorf("names %v; want both", seen)
	}
}

// TestNameOfOther has a task renamed before every single read of a snapshot, or its place taken by
// another one with another name, and the memory of the old name used for something else at once.
// Of a task that waits for it, it is said what it was called, or is, or no name, and never the name
// of the one with the number of the other.
func TestNameOfOther(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ mode, task, other, waits string }{
		{"waits", "dead-a", "dead-b", `lock "audit"( held by %s)?`},
		{"shared", "chooser", "holder", "select of 2: task #2 reader, task %s"},
	} {
		i := recordedIn(t, c.mode)
		old, _ := i.nameOf(t, c.other)
		name := map[string]string{"waits": "acceptor", "shared": "limited"}[c.mode]
		header, _ := i.nameOf(t, name)
		_, words := opened(t, i).WordsOf(c.other)
		changes := [][2]uint64{{old + 8, 5}}
		for _, at := range i.word(old) {
			changes = append(changes, [2]uint64{at, header})
		}
		for what, pattern := range map[string]string{
			"renamed":  fmt.Sprintf("#3( %s| %s)?", c.other, name),
			"replaced": fmt.Sprintf("(#3|#3 %s|#77|#77 %s)", c.other, name),
		} {
			first, more := changes[1], slices.Concat(changes[:1], changes[2:])
			if what == "replaced" {
				more = append(more, [2]uint64{words["number"], 77})
			}
			allowed := regexp.MustCompile("^(" + fmt.Sprintf(c.waits, pattern) + ")?$")
			seen := make(map[string]int)
			atEachRead(t, i, first[0], first[1], func(l *inspect.Loop, before, _ int) {
				k := task(t, l, c.task)
				if seen[k.Waiting]++; !allowed.MatchString(k.Waiting) || k.Waiting == "" && !k.Moved {
					t.Errorf("%s after %d looks, %s waits for %s, moved %v", what, before, c.task, k.Waiting, k.Moved)
				}
			}, more...)
			if len(seen) < 2 {
				t.Errorf("%s: %s waited for %v; want both names", what, c.task, seen)
			}
		}
	}
}

// TestNameNeverStill: a task that is renamed before each look at its name has none.
func TestNameNeverStill(t *testing.T) {
	t.Parallel()
	i := recorded(t)
	header, _ := i.nameOf(t, "acceptor")
	d := damage(i, nil)
	target := opened(t, d)
	renames := target.Renames()
	d.seen = func(addr uint64, size int) {
		for _, record := range i.word(header) {
			if count := record + renames; addr <= count && count < addr+uint64(size) {
				d.put(count, []byte{d.page(count - count%pageSize)[count%pageSize] + 1})
			}
		}
	}
	if k := shot(t, target, inspect.Options{}).Loops[0].Tasks[7]; k.Name != "task-8" || k.What != "accept" {
		t.Errorf("it is called %q, and waits for %s", k.Name, k.What)
	}
}

// TestPrintable: no text of the other program disturbs a terminal: names of
// functions, files, types and the version are hostile here.
func TestPrintable(t *testing.T) {
	t.Parallel()
	i := recorded(t)
	d := damage(i, nil)
	hostile := []string{"\x1b]2;x\a", "\x1b[2J", "\xff\xfe", "\u202e", "\x7f"}
	for _, what := range []string{"main.waits", "main.readConn", "/main.go", runtime.Version(), "accounts"} {
		for n, at := range i.find([]byte(what), 1) {
			// The first letters stay: a version begins with go.
			d.put(at+2, []byte(hostile[n%len(hostile)])[:min(len(hostile[n%len(hostile)]), len(what)-2)])
		}
	}
	target := opened(t, d)
	p, err := target.Snapshot(inspect.Options{Stacks: true})
	if err != nil || len(p.Loops) != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	var text strings.Builder
	if err := p.WriteTree(&text, inspect.TreeOptions{Full: true, All: true}); err != nil {
		t.Fatal(err)
	}
	if err := p.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text.String(), "?"); n < 10 {
		t.Errorf("%d characters were replaced; is anything hostile here?", n)
	}
	for at, c := range text.String() {
		if c != '\n' && (!unicode.IsPrint(c) || c == unicode.ReplacementChar) {
			t.Fatalf("%q is written: %q", c, text.String()[max(0, at-40):at+20])
		}
	}
}
