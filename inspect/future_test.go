//go:build linux && (amd64 || arm64)

package inspect_test

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/inspect"
	"github.com/rondo-go/rondo/internal/goinspect"
)

// u64 reads a word of a damaged image.
func (d *damaged) u64(addr uint64) uint64 {
	var b [8]byte
	if readPages(d.page, addr, b[:]) != nil {
		return 0
	}
	return binary.LittleEndian.Uint64(b[:])
}

// put writes bytes into a damaged image.
func (d *damaged) put(addr uint64, b []byte) {
	for i, c := range b {
		at := addr + uint64(i)
		d.writable(at - at%pageSize)[at%pageSize] = c
	}
}

// insert moves n bytes at addr up by a few, as a new field in front of them does.
func (d *damaged) insert(addr uint64, n, by int) {
	b := make([]byte, n)
	if err := readPages(d.page, addr, b); err != nil {
		panic(err)
	}
	d.put(addr+uint64(by), b)
	d.put(addr, bytes.Repeat([]byte{0xee}, by))
}

// words calls f for each word of the image that is there, with its address.
func (i *image) words(f func(at, w uint64)) {
	for _, page := range i.order {
		for at := 0; i.pages[page] != nil && at < pageSize; at += 8 {
			f(page+uint64(at), binary.LittleEndian.Uint64(i.pages[page][at:]))
		}
	}
}

// moduledata returns the addresses of the program's moduledata and of the header
// of its function table, to which the first word of a moduledata points.
func (d *damaged) moduledata(t *testing.T) (at, header uint64) {
	t.Helper()
	d.image.words(func(a, w uint64) {
		if distance := d.u64(a+8) - w; w != 0 && distance >= 64 && distance <= 128 && d.u64(w)&0xffffffffffff == 0xfffffff1 {
			at, header = a, w
		}
	})
	if at == 0 {
		t.Fatal("the image has no moduledata")
	}
	return at, header
}

// goroutine reports whether there is the g of a goroutine at an address: it has a pointer to itself
// behind its saved stack pointer, which points into its stack. A task may have the one, never both.
func (d *damaged) goroutine(at uint64) bool {
	const low, high, sp, self = 0, 8, 56, 72
	return at != 0 && d.u64(at+self) == at && d.u64(at+low) < d.u64(at+sp) && d.u64(at+sp) < d.u64(at+high)
}

// moveGoroutines has a new field in the g of each goroutine.
func (d *damaged) moveGoroutines(field, by int) {
	const self, known = 72, 160
	var gs []uint64
	d.image.words(func(a, w uint64) {
		if w == a-self && d.goroutine(w) {
			gs = append(gs, w)
		}
	})
	for _, g := range gs {
		d.insert(g+uint64(field), known-field, by)
	}
}

// futures are ways in which a release of Go may come to differ from those that are
// known, and what is missing then.
var futures = []struct {
	name    string
	change  func(t *testing.T, d *damaged)
	missing string
}{
	{"a new field in front of a goroutine's registers", func(_ *testing.T, d *damaged) { d.moveGoroutines(48, 16) }, "stacks"},
	{"a new field in front of a goroutine's number", func(_ *testing.T, d *damaged) { d.moveGoroutines(136, 24) }, "stacks"},
	{"a new field in a moduledata", func(t *testing.T, d *damaged) {
		at, _ := d.moduledata(t)
		d.insert(at+8*38, 8*12, 8)
	}, "stacks"},
	{"other tables of functions", func(t *testing.T, d *damaged) {
		_, header := d.moduledata(t)
		d.put(header, []byte{0xe0})
	}, "function names and stacks"},
}

// TestFuture: of a program that a release of Go has built whose runtime is not
// known, stacks are missing, which a sentence says. Tasks, their names and their
// waits are there.
func TestFuture(t *testing.T) {
	i := recorded(t)
	for _, f := range futures {
		t.Run(f.name, func(t *testing.T) {
			d := damage(i, nil)
			release := regexp.MustCompile(`^go1\.\d\d`).ReplaceAllString(runtime.Version(), "go1.99")
			for _, at := range i.find([]byte(runtime.Version()), 1) {
				d.put(at, []byte(release))
			}
			f.change(t, d)
			target := opened(t, d)
			p := shot(t, target, inspect.Options{Stacks: true})
			want := f.missing + " are missing: this tool does not know the runtime of " + release + "; update the tool"
			if p.Missing != want || len(p.Loops) != 1 {
				t.Fatalf("missing %q of %d loops; want %q of one", p.Missing, len(p.Loops), want)
			}
			checkFuture(t, p.Loops[0], f.missing == "stacks")
			var text strings.Builder
			if err := p.WriteTree(&text, inspect.TreeOptions{}); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(text.String(), "\n"+want+"\n") {
				t.Errorf("the tree does not say what is missing:\n%s", text.String())
			}
		})
	}
}

// checkFuture checks what is known of the target's tasks without their stacks.
func checkFuture(t *testing.T, l *inspect.Loop, named bool) {
	t.Helper()
	if l.Held != nil || len(l.Cycles) != 1 || len(l.Tasks) != len(waits) {
		t.Fatalf("held %+v, %d cycles, %d tasks; want one cycle among %d tasks", l.Held, len(l.Cycles), len(l.Tasks), len(waits))
	}
	// What a lock is called is found by the name of a type.
	label := regexp.MustCompile(` (".*?"|\(127.*?\))`)
	for i, w := range waits {
		k, wait := l.Tasks[i], w.wait
		if !named {
			wait = label.ReplaceAllString(wait, "")
		}
		if k.Name != w.name || !regexp.MustCompile("^("+wait+")$").MatchString(k.Waiting) {
			t.Errorf("#%d %s waits for %q; want %s and %q", k.ID, k.Name, k.Waiting, w.name, wait)
		}
		if (k.Func != "") != named || k.Stack != nil || k.Cut {
			t.Errorf("%s: function %q, stack %v, cut %v; want no stack", k.Name, k.Func, k.Stack, k.Cut)
		}
	}
}

// TestFutureCoroutines: if a release of Go has changed what leads from a coroutine
// to the one that has resumed it, the stacks of tasks that have resumed coroutines
// are incomplete, and say so. Nothing else is missing.
func TestFutureCoroutines(t *testing.T) {
	t.Parallel()
	i := recorded(t)
	d := damage(i, nil)
	i.words(func(at, w uint64) {
		// A runtime.coro begins with a goroutine and a function, which begins with code.
		code := func(r goinspect.Region) bool {
			pc := d.u64(d.u64(at + 8))
			return r.Executable && r.Start <= pc && pc < r.End
		}
		if d.goroutine(w) && slices.ContainsFunc(d.regions, code) {
			d.put(at, bytes.Repeat([]byte{0xee}, 8))
		}
	})
	target := opened(t, d)
	p, err := target.Snapshot(inspect.Options{Stacks: true})
	if err != nil || p.Missing != "" || len(p.Loops) != 1 || len(p.Loops[0].Tasks) != len(waits) {
		t.Fatalf("%+v, %v; want one loop with all of its tasks, and nothing missing", p, err)
	}
	for _, k := range p.Loops[0].Tasks {
		own := inspect.Own(k.Stack)
		partial := map[string]string{"puller": "main.pulled", "nester": "main.nested"}[k.Name]
		if k.Partial != (partial != "") || partial != "" && (len(own) == 0 || own[0].Func != partial) || len(k.Stack) == 0 {
			t.Errorf("%s: partial %v at %v", k.Name, k.Partial, own)
		}
	}
	var text strings.Builder
	if err := p.WriteTree(&text, inspect.TreeOptions{}); err != nil || strings.Count(text.String(), "... the innermost calls, in a coroutine, could not be read") != 2 {
		t.Errorf("%v; the tree does not say twice that calls are missing:\n%s", err, text.String())
	}
}
