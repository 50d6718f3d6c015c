//go:build linux && (amd64 || arm64)

package inspect_test

import (
	"encoding/binary"
	"os"
	"runtime"
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
	target, err := inspect.OpenMemory(d)
	if err != nil {
		t.Fatal(err)
	}
	p, err := target.Snapshot(inspect.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p.Loops[0].Tasks[7].Name
}

// TestNameReturns renames a task twice around each reading of the text of its name: the memory
// of the first name is something else's while the text is read, and after that the second
// name's, which is as long. The name in the snapshot is the first or the second.
func TestNameReturns(t *testing.T) {
	t.Parallel()
	i := recorded(t)
	header, text := i.nameOf(t, "acceptor")
	target, err := inspect.OpenMemory(i)
	if err != nil {
		t.Fatal(err)
	}
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
	whole := damage(i, nil)
	if name := acceptorOf(t, whole); name != "acceptor" {
		t.Fatalf("undamaged, the task is called %q", name)
	}
	seen := make(map[string]int)
	for after := range whole.reads {
		d := damage(i, nil)
		d.later = []change{{after, func() {
			for _, at := range i.word(old) {
				binary.LittleEndian.PutUint64(d.writable(at - at%pageSize)[at%pageSize:], other)
			}
			// The memory of its header is another string's by now, of any length.
			binary.LittleEndian.PutUint64(d.writable(old - old%pageSize)[old%pageSize+8:], 5)
		}}}
		name := acceptorOf(t, d)
		if name != "acceptor" && name != "dead-b" {
			t.Errorf("renamed before read %d of %d, it is called %q", after, whole.reads, name)
		}
		seen[name]++
	}
	if seen["acceptor"] == 0 || seen["dead-b"] == 0 {
		t.Errorf("names %v; want both", seen)
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
	target, err := inspect.OpenMemory(d)
	if err != nil {
		t.Fatal(err)
	}
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

// TestOwn: no package of Rondo that programs use is taken for the program's.
func TestOwn(t *testing.T) {
	files, err := os.ReadDir("../api")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		name := strings.TrimSuffix("github.com/rondo-go/rondo/"+strings.TrimSuffix(f.Name(), ".txt"), "/rondo") + ".Function"
		if (inspect.Frame{Func: name}).Own() {
			t.Errorf("%s is taken for the program's", name)
		}
	}
	if name := "github.com/rondo-go/rondo/examples/chat.serve"; !(inspect.Frame{Func: name}).Own() {
		t.Errorf("%s is taken for Rondo's", name)
	}
}
