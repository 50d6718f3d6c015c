//go:build linux && (amd64 || arm64)

package inspect_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-go/rondo/inspect"
	"github.com/rondo-go/rondo/internal/goinspect"
)

// imaged has the images that recorded returns, by the modes of the target.
var imaged = struct {
	sync.Mutex
	images map[string]*image
}{images: make(map[string]*image)}

// recorded returns the image of a program with a task of each kind, with the places in it first at
// which looking into its loops begins. All tests share it; what they change is a damaged one.
func recorded(t testing.TB) *image {
	t.Helper()
	return recordedIn(t, "waits")
}

// recordedIn is recorded for the target in a mode.
func recordedIn(t testing.TB, mode string) *image {
	t.Helper()
	imaged.Lock()
	defer imaged.Unlock()
	if imaged.images[mode] == nil {
		imaged.images[mode] = record(t, mode)
	}
	return imaged.images[mode]
}

func record(t testing.TB, mode string) *image {
	t.Helper()
	p := start(t, plain.program(t), mode)
	o := inspect.Options{Stacks: true, Goroutines: true}
	live := open(t, p)
	for end := time.Now().Add(patience); !imageable(shot(t, live, o), mode); {
		if time.Now().After(end) {
			var text strings.Builder
			_ = shot(t, live, o).WriteTree(&text, inspect.TreeOptions{})
			t.Fatalf("the program did not come to rest in mode %s:\n%s", mode, text.String())
		}
	}
	m, err := goinspect.OpenProcess(p.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	i := newImage(m)
	target := opened(t, i)
	opening := len(i.order)
	if picture, err := target.Snapshot(o); err != nil || !imageable(picture, mode) {
		t.Fatalf("the image gives %+v, %v", picture, err)
	}
	i.source = nil
	_ = m.Close()
	p.end()
	// What a snapshot is made of comes before what the program is known by, so that
	// small numbers hit it.
	i.order = slices.Concat(i.order[opening:], i.order[:opening])
	return i
}

// imageable reports whether a program in a mode has come to rest, with all its tasks.
func imageable(p *inspect.Program, mode string) bool {
	tasks := 0
	for _, l := range p.Loops {
		tasks += len(l.Tasks)
		if !atRest(l) {
			return false
		}
	}
	return tasks == map[string]int{"waits": 11, "shared": 12, "choice": 4}[mode] || mode == "ring" && len(p.Rings) == 1
}

// atRest reports whether all tasks of a loop wait, or may not begin because of a limit.
func atRest(l *inspect.Loop) bool {
	return l.Exact && l.Running == 0 && !slices.ContainsFunc(l.Tasks, func(k *inspect.Task) bool { return k.Waiting == "" })
}

// looked makes every use of a damaged image.
func looked(d *damaged) {
	target, err := inspect.OpenMemory(d)
	if err != nil {
		return
	}
	for range 2 {
		p, err := target.Snapshot(inspect.Options{Stacks: true, Goroutines: len(d.pages)%8 == 0})
		if err != nil {
			continue
		}
		_ = p.WriteTree(io.Discard, inspect.TreeOptions{Full: true})
		_ = p.WriteTree(io.Discard, inspect.TreeOptions{All: true})
		_ = p.WriteJSON(io.Discard)
	}
}

// damage does to an image what the bytes say: eight for each deed.
func damage(i *image, deeds []byte) *damaged {
	d := &damaged{image: i, pages: make(map[uint64][]byte), regions: i.regions}
	for ; len(deeds) >= 8; deeds = deeds[8:] {
		kind, value := deeds[0], uint64(deeds[5])|uint64(deeds[6])<<8|uint64(deeds[7])<<16
		page := i.order[(int(deeds[1])|int(deeds[2])<<8)%len(i.order)]
		at := (int(deeds[3]) | int(deeds[4])<<8) % (pageSize / 8) * 8
		do := func() {}
		switch kind % 8 {
		case 0: // some bits
			do = func() { flip(d.writable(page)[at:], value) }
		case 1: // a pointer to somewhere else
			do = func() {
				binary.LittleEndian.PutUint64(d.writable(page)[at:], i.order[int(value)%len(i.order)]+value%pageSize)
			}
		case 2: // a number
			do = func() { binary.LittleEndian.PutUint64(d.writable(page)[at:], value) }
		case 3: // a huge number
			do = func() { binary.LittleEndian.PutUint64(d.writable(page)[at:], ^value) }
		case 4: // a page that is not there
			do = func() { d.pages[page] = nil }
		case 5: // the content of another page
			do = func() { d.pages[page] = d.page(i.order[int(value)%len(i.order)]) }
		case 6: // a word moved by some places
			do = func() {
				p := d.writable(page)
				copy(p[at:], p[int(value)%pageSize:])
			}
		case 7: // a region that is not there, or is another's
			r := slices.Clone(d.regions)
			j := int(value) % len(r)
			d.regions = slices.Delete(r, j, j+1)
		}
		if kind&0x80 != 0 {
			d.later = append(d.later, change{int(kind&0x78)*20 + int(value)%100, do})
		} else {
			do()
		}
	}
	slices.SortStableFunc(d.later, func(a, b change) int { return a.after - b.after })
	return d
}

func flip(b []byte, bits uint64) {
	binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)^bits)
}

// FuzzDamage reads a program whose memory is damaged, before and during the
// reading. The reader does not panic and comes to an end.
func FuzzDamage(f *testing.F) {
	i := recorded(f)
	f.Add([]byte{})
	for kind := range byte(8) {
		r := rand.New(rand.NewPCG(uint64(kind), 1))
		for range 4 {
			deeds := make([]byte, 8*20)
			for j := range deeds {
				deeds[j] = byte(r.Uint32())
			}
			for j := 0; j < len(deeds); j += 8 {
				deeds[j] = deeds[j]&0xf8 | kind
				deeds[j+2] = 0
			}
			f.Add(deeds)
		}
	}
	f.Fuzz(func(t *testing.T, deeds []byte) {
		if len(deeds) > 8*200 {
			deeds = deeds[:8*200]
		}
		hung := time.AfterFunc(patience, func() { panic("the reader hangs") })
		defer hung.Stop()
		looked(damage(i, deeds))
	})
}

// TestCanary: a reader without checks fails on the kept damage, so that damage does
// reach what a reader relies on.
func TestCanary(t *testing.T) {
	i := recorded(t)
	target := opened(t, i)
	ring := target.RingOf()
	files, err := os.ReadDir("testdata/fuzz/FuzzDamage")
	if err != nil {
		t.Fatal(err)
	}
	dead := 0
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join("testdata/fuzz/FuzzDamage", f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		_, quoted, _ := strings.Cut(strings.TrimSpace(string(text)), "[]byte(")
		deeds, err := strconv.Unquote(strings.TrimSuffix(quoted, ")"))
		if err != nil {
			t.Fatalf("%s: %v", f.Name(), err)
		}
		if !survives(damage(i, []byte(deeds)), ring) {
			dead++
		}
	}
	t.Logf("the reader without checks fails on %d of %d", dead, len(files))
	if dead == 0 || len(files) < 20 {
		t.Errorf("a reader without checks fails on %d of %d; want at least one of 20", dead, len(files))
	}
}

// survives reports whether a reader that trusts the ring of tasks comes round it.
func survives(d *damaged, r inspect.Ring) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	d.reads = enough - 1000
	word := func(at uint64) uint64 {
		var b [8]byte
		if err := d.Read(at, b[:]); err != nil {
			panic(err)
		}
		return binary.LittleEndian.Uint64(b[:])
	}
	states := [...]string{"new", "ready", "running", "waiting"}
	for at := r.Start; ; {
		_ = states[byte(word(at+r.State))]
		if worker := word(at + r.Worker); worker != 0 {
			word(worker)
		}
		if code := word(at + r.Func); code != 0 {
			word(code)
		}
		if at = word(at + r.Next); at == r.Start {
			return true
		}
	}
}

// TestDamage damages the words that a snapshot is made from, in several ways.
func TestDamage(t *testing.T) {
	for _, mode := range []string{"waits", "shared", "ring"} {
		i := recordedIn(t, mode)
		for part := range uint64(2) {
			t.Run(fmt.Sprintf("%s, part %d", mode, part+1), func(t *testing.T) {
				t.Parallel()
				damageAtRandom(t, i, rand.New(rand.NewPCG(1, part)))
			})
		}
	}
}

func damageAtRandom(t *testing.T, i *image, r *rand.Rand) {
	rounds := 100
	if testing.Short() || underRace {
		rounds = 25
	}
	for range rounds {
		deeds := make([]byte, 8*(1+r.IntN(30)))
		for j := range deeds {
			deeds[j] = byte(r.Uint32())
		}
		for j := 0; j < len(deeds); j += 8 {
			// Mostly the pages of the loop's own records.
			if r.IntN(4) > 0 {
				deeds[j+1], deeds[j+2] = deeds[j+1]%40, 0
			}
			if r.IntN(8) > 0 {
				deeds[j] = deeds[j] &^ 4
			}
		}
		looked(damage(i, deeds))
		if t.Failed() {
			t.Logf("%x", deeds)
			return
		}
	}
}

// TestDamagedCall: a task of a loop whose name cannot be read is not known.
func TestDamagedCall(t *testing.T) {
	d := damage(recordedIn(t, "ring"), nil)
	target := opened(t, d)
	_, of := target.WordsOf("caller")
	for _, want := range []string{"shard-1", ""} {
		caller, there := task(t, shot(t, target, inspect.Options{}).Loops[0], "caller"), ""
		if e := caller.Elsewhere; e != nil {
			there = e.Loop
		}
		if (caller.Elsewhere != nil) != (want != "") || there != want || caller.What != "call" {
			t.Errorf("it waits for %s, and so for %v; want one of %q", caller.Waiting, caller.Elsewhere, want)
		}
		d.put(of["thing"], binary.LittleEndian.AppendUint64(nil, 0)) // where the loop's name stands
	}
}

// TestDamagedLocks: of a lock, a Select or a limit whose memory is damaged nothing is said that
// does not follow from the rest of it.
func TestDamagedLocks(t *testing.T) {
	i := recordedIn(t, "shared")
	d := damage(i, nil)
	target := opened(t, d)
	target.Once()
	reader, ofReader := target.WordsOf("reader")
	_, ofHolder := target.WordsOf("holder")
	writer, ofWriter := target.WordsOf("writer")
	type words = map[string]uint64
	low := func(word, value uint64) [2]uint64 { return [2]uint64{word, i.number(t, word)&^0xff | value} }
	for what, c := range map[string]struct {
		task    string
		damage  func(of words) [][2]uint64
		waiting string
		on      uint64
		any     []uint64
	}{
		"none, read": {"writer", nil, `lock "read" held by 1 reader`, 0, nil},
		"none":       {"second in line", nil, `lock "written" held by #3 holder`, 3, nil},
		"free":       {"writer", func(of words) [][2]uint64 { return [][2]uint64{{of["readers"], 0}} }, `lock "read"`, 0, nil},
		"too many":   {"writer", func(of words) [][2]uint64 { return [][2]uint64{{of["readers"], 1 << 40}} }, `lock "read"`, 0, nil},
		"no line":    {"second reader", func(of words) [][2]uint64 { return [][2]uint64{{of["head"], 0}} }, `rlock "read"`, 0, nil},
		"a line to nowhere": {"second reader", func(words) [][2]uint64 { return [][2]uint64{{ofWriter["next run"], 8}} },
			`rlock "read"`, 0, nil},
		"a line to itself": {"second reader", func(of words) [][2]uint64 { return [][2]uint64{{ofWriter["next run"], i.number(t, of["head"])}} },
			`rlock "read"`, 0, nil},
		"unlocked":       {"second in line", func(of words) [][2]uint64 { return [][2]uint64{low(of["writing"], 0)} }, `lock "written"`, 0, nil},
		"another writer": {"second in line", func(of words) [][2]uint64 { return [][2]uint64{{of["writer"], reader}} }, `lock "written" held by #2 reader`, 2, nil},
		"no writer":      {"second in line", func(of words) [][2]uint64 { return [][2]uint64{{of["writer"], 8}} }, `lock "written"`, 0, nil},
		"a writer that is gone": {"second in line", func(words) [][2]uint64 {
			return [][2]uint64{low(ofHolder["state"], 4), {ofReader["next"], writer}, {ofWriter["previous"], reader}}
		}, `lock "written"`, 0, nil},

		"none, of a task":    {"holder", nil, "task #7 second in line", 7, nil},
		"none, of a Select":  {"chooser", nil, "select of 2: task #2 reader, task #3 holder", 0, []uint64{2, 3}},
		"no Select":          {"chooser", func(of words) [][2]uint64 { return [][2]uint64{{of["selection"], 8}} }, "select of 0: ", 0, nil},
		"no cases":           {"chooser", func(of words) [][2]uint64 { return [][2]uint64{{of["places"], 0}} }, "select of 0: ", 0, nil},
		"cases nowhere":      {"chooser", func(of words) [][2]uint64 { return [][2]uint64{{of["places"], 8}} }, "select of 2: ", 0, nil},
		"too many cases":     {"chooser", func(of words) [][2]uint64 { return [][2]uint64{{of["count of places"], 1 << 40}} }, "select of 0: ", 0, nil},
		"a timer of no case": {"chooser", func(of words) [][2]uint64 { return [][2]uint64{{of["timer"], 7}} }, "select of 2: task #2 reader, task #3 holder", 0, nil},

		"none, of a limit":      {"second", nil, "limit of 1 task", 0, nil},
		"none, of the last":     {"third", nil, "limit of 1 task", 0, nil},
		"no scope":              {"second", func(of words) [][2]uint64 { return [][2]uint64{{of["scope"], 0}} }, "", 0, nil},
		"a scope nowhere":       {"second", func(of words) [][2]uint64 { return [][2]uint64{{of["scope"], 8}} }, "", 0, nil},
		"no limit":              {"second", func(of words) [][2]uint64 { return [][2]uint64{{of["limit"], 0}} }, "", 0, nil},
		"none held":             {"second", func(of words) [][2]uint64 { return [][2]uint64{{of["count of held"], 0}} }, "", 0, nil},
		"more held than begun":  {"second", func(of words) [][2]uint64 { return [][2]uint64{{of["count of held"], 1 << 40}} }, "", 0, nil},
		"those held are others": {"second", func(of words) [][2]uint64 { return [][2]uint64{{of["held"], of["selection"]}} }, "", 0, nil},
	} {
		clear(d.pages)
		if _, of := target.WordsOf(c.task); c.damage != nil {
			for _, change := range c.damage(of) {
				d.put(change[0], binary.LittleEndian.AppendUint64(nil, change[1]))
			}
		}
		k := task(t, shot(t, target, inspect.Options{}).Loops[0], c.task)
		if k.Waiting != c.waiting || k.On != c.on || !slices.Equal(k.Any, c.any) || k.Abandoned != (what == "a writer that is gone") {
			t.Errorf("%s: %s waits for %q on #%d, any of %v, abandoned %v; want %q, #%d, %v", what, c.task, k.Waiting, k.On, k.Any, k.Abandoned, c.waiting, c.on, c.any)
		}
	}
}
