package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo/sim/internal/choice"
)

// A program is one that uses a disk, and keeps what the disk does to it.
type program struct {
	killed  bool
	changes int
	blocked time.Duration
	said    []string
	instant bool   // a Sync may take no time
	others  func() // run while it is blocked; nil: none do
}

func (p *program) Killed() bool                { return p.killed }
func (p *program) Changes()                    { p.changes++ }
func (p *program) Wrote(string, int64, []byte) {}
func (p *program) Damaged(what string, n int)  { p.said = append(p.said, fmt.Sprint(what, " ", n)) }
func (p *program) SyncTakesTime() bool         { return !p.instant }
func (p *program) Date() time.Time             { return time.Time{} }

func (p *program) Block(d time.Duration) {
	if p.blocked += d; p.others != nil {
		p.others()
	}
}

// open opens a file, and makes it if it is not there.
func open(t *testing.T, m Mount, name string) *File {
	t.Helper()
	f, err := m.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// must fails the test if an operation does.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A model knows of each byte of a file what a loss of power may leave there: what the last Sync has
// confirmed, or anything that was written since. What a Sync was to confirm that has failed stays
// uncertain until something else is written in its place and confirmed.
type model struct {
	data  []byte     // as programs see the file
	may   [][]byte   // of each byte; 0 where the file may be too short
	fresh []bool     // written since the last Sync
	exact bool       // all of it was confirmed, and no Sync has failed
	r     *rand.Rand // chooses what is done
	next  byte       // what is written
}

func newModel(r *rand.Rand, size int) *model {
	return &model{
		may: slices.Repeat([][]byte{{0}}, size), fresh: make([]bool, size), exact: true, r: r, next: 'a',
	}
}

// change notes that the bytes from at to end are b now.
func (m *model) change(at, end int, b byte) {
	for i := at; i < end; i++ {
		m.may[i], m.fresh[i] = append(slices.Clone(m.may[i]), b), true
	}
	m.exact = false
}

// resize makes the file longer or shorter.
func (m *model) resize(n int) {
	m.data = append(m.data, make([]byte, max(0, n-len(m.data)))...)[:n]
}

// write writes somewhere.
func (m *model) write(t *testing.T, f *File) {
	at := m.r.IntN(len(m.may))
	end := at + 1 + m.r.IntN(len(m.may)-at)
	if n, err := f.WriteAt(bytes.Repeat([]byte{m.next}, end-at), int64(at)); n != end-at || err != nil {
		t.Fatal(n, err)
	}
	m.resize(max(end, len(m.data)))
	for i := at; i < end; i++ {
		m.data[i] = m.next
	}
	m.change(at, end, m.next)
	m.next++
}

// cut makes the file shorter or longer.
func (m *model) cut(t *testing.T, f *File) {
	n := m.r.IntN(len(m.may))
	must(t, f.Truncate(int64(n)))
	m.resize(n)
	m.change(n, len(m.may), 0)
}

// sync confirms what there is.
func (m *model) sync(t *testing.T, f *File, failed bool) {
	must(t, f.Sync())
	for i := range m.may {
		if m.fresh[i] || !failed {
			m.may[i] = []byte{0}
			if i < len(m.data) {
				m.may[i] = []byte{m.data[i]}
			}
		}
	}
	clear(m.fresh)
	m.exact = !failed
}

// outcome returns what has become of the file.
func (m *model) outcome(t *testing.T, got []byte) string {
	for i, may := range m.may {
		b := byte(0)
		if i < len(got) {
			b = got[i]
		}
		if !slices.Contains(may, b) {
			t.Fatalf("byte %d is %q, and may be one of %q", i, b, may)
		}
	}
	switch {
	case m.exact && !bytes.Equal(got, m.data):
		t.Fatalf("%q was synced, and there is %q", m.data, got)
	case m.exact:
		return "synced"
	case bytes.Equal(got, m.data):
		return "all"
	case len(got) == 0:
		return "nothing"
	}
	return "a part"
}

// TestSurvivors writes, cuts and syncs a file at random, and takes the power away. Each byte is one
// that may be there, and all, a part and nothing of what was not confirmed survive at times.
func TestSurvivors(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	outcomes := map[string]int{}
	for seed := range uint64(1000) {
		d := Of(choice.New(seed), 1, true)
		mount := d.Mount(&program{})
		f, m := open(t, mount, "/a"), newModel(r, 3*sector)
		must(t, mount.SyncDir("/"))
		failed := false
		for range 1 + r.IntN(8) {
			switch r.IntN(9) {
			case 0, 1, 2, 3:
				m.write(t, f)
			case 4, 5:
				m.cut(t, f)
			case 6, 7:
				m.sync(t, f, failed)
			case 8:
				d.Faults.Fails = true
				if err := f.Sync(); !errors.Is(err, syscall.EIO) {
					t.Fatal(err)
				}
				d.Faults.Fails, failed = false, true
				clear(m.fresh)
				m.exact = false
			}
		}
		if got, err := d.Read("/a"); !bytes.Equal(got, m.data) || err != nil {
			t.Fatalf("programs see %q, %v; want %q", got, err, m.data)
		}
		d.PowerFail()
		got, err := d.Read("/a")
		if durable, _ := d.Durable("/a"); err != nil || !bytes.Equal(got, durable) {
			t.Fatalf("%q, %q, %v", got, durable, err)
		}
		outcomes[m.outcome(t, got)]++
	}
	for _, what := range []string{"synced", "all", "nothing", "a part"} {
		if outcomes[what] < 20 {
			t.Errorf("%q: %v", what, outcomes)
		}
	}
}

// TestNames makes, renames and removes files in two folders at random, and takes the power away:
// what SyncDir has confirmed of its folder is there, and of the other changes the first ones, in
// their order. A rename within a folder survives whole or not at all.
func TestNames(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	kept := map[int]int{} // of two changes
	for seed := range uint64(1000) {
		d := Of(choice.New(seed), 1, true)
		m := d.Mount(&program{})
		type state map[string]*inode
		now, synced := state{}, state{}
		var log []func(state)
		do := func(change func(state)) {
			change(now)
			log = append(log, change)
		}
		folder := func() string { return []string{"/x", "/y"}[r.IntN(2)] }
		name := func() string { return folder() + []string{"/a", "/b"}[r.IntN(2)] }
		for range r.IntN(8) {
			switch r.IntN(4) {
			case 0:
				name := name()
				n := open(t, m, name).inode
				if now[name] == nil {
					do(func(s state) { s[name] = n })
				}
			case 1:
				old, new := name(), name()
				n := now[old]
				if err := m.Rename(old, new); (err == nil) != (n != nil) {
					t.Fatal(err)
				}
				switch {
				case n == nil || old == new:
				case old[:2] == new[:2]:
					do(func(s state) { s[new] = n; delete(s, old) })
				default:
					do(func(s state) { s[new] = n })
					do(func(s state) { delete(s, old) })
				}
			case 2:
				name := name()
				if err := m.Remove(name); (err == nil) != (now[name] != nil) {
					t.Fatal(err)
				}
				if now[name] != nil {
					do(func(s state) { delete(s, name) })
				}
			case 3:
				must(t, m.SyncDir("/x"))
				must(t, m.SyncDir("/y"))
				synced, log = maps.Clone(now), nil
			}
		}
		d.keepNames()
		survives := 0
		for ; !maps.Equal(state(d.synced), synced); survives++ {
			if survives == len(log) {
				t.Fatalf("seed %d: there is %v", seed, sortedNames(d.synced))
			}
			log[survives](synced)
		}
		if len(log) == 2 {
			kept[survives]++
		}
	}
	if len(kept) != 3 {
		t.Errorf("of two changes so many survive: %v", kept)
	}
}

// TestSyncDirOfOne: SyncDir makes certain what happened in its own folder, and no more.
func TestSyncDirOfOne(t *testing.T) {
	d := Of(choice.New(1), 1, true)
	m := d.Mount(&program{})
	for _, name := range []string{"/x/a", "/y/a"} {
		must(t, open(t, m, name).Sync())
	}
	must(t, m.SyncDir("/x"))
	if got := sortedNames(d.synced); fmt.Sprint(got) != "[/x/a]" || len(d.log) != 1 {
		t.Errorf("%v, and %d changes are left", got, len(d.log))
	}
}

// TestAccess: what each operation does to the program, and with which errors a disk fails it.
func TestAccess(t *testing.T) {
	type operation struct {
		name    string
		do      func(m Mount, f *File) error
		changes int  // whether it changes the disk, so that a fault may strike before
		slow    bool // whether it waits for a slow disk
	}
	operations := []operation{
		{"open", func(m Mount, _ *File) error { _, err := m.OpenFile("/a", os.O_RDWR, 0); return err }, 0, false},
		{"create", func(m Mount, _ *File) error { _, err := m.OpenFile("/new", os.O_CREATE, 0); return err }, 1, false},
		{"read", func(_ Mount, f *File) error { _, err := f.ReadAt(make([]byte, 1), 0); return err }, 0, true},
		{"write", func(_ Mount, f *File) error { _, err := f.WriteAt([]byte("x"), 0); return err }, 1, true},
		{"sync", func(_ Mount, f *File) error { return f.Sync() }, 1, true},
		{"syncdir", func(m Mount, _ *File) error { return m.SyncDir("/") }, 1, true},
		{"truncate", func(_ Mount, f *File) error { return f.Truncate(1) }, 1, false},
		{"stat", func(_ Mount, f *File) error { _, err := f.Stat(); return err }, 0, false},
		{"readdir", func(m Mount, _ *File) error { _, err := m.ReadDir("/"); return err }, 0, false},
		{"rename", func(m Mount, _ *File) error { return m.Rename("/b", "/c") }, 1, false},
		{"remove", func(m Mount, _ *File) error { return m.Remove("/a") }, 1, false},
	}
	for _, one := range []struct {
		name   string
		faults Faults
		err    error
		fail   string // the operations that fail
	}{
		{"well", Faults{}, nil, ""},
		{"slow", Faults{Slow: time.Second}, nil, ""},
		{"fails", Faults{Fails: true}, syscall.EIO, "open create read write sync syncdir truncate stat readdir rename remove"},
		{"full", Faults{Full: true}, syscall.ENOSPC, "create write sync syncdir truncate rename"},
		{"room", Faults{Full: true, Room: 1}, nil, ""},
		{"no files", Faults{NoFiles: true}, syscall.EMFILE, "open create"},
		{"killed", Faults{}, fs.ErrClosed, "open create read write sync syncdir truncate stat readdir rename remove"},
	} {
		for _, op := range operations {
			d, p := Of(choice.New(1), 1, true), &program{}
			m := d.Mount(p)
			f := open(t, m, "/a")
			open(t, m, "/b")
			_, err := f.Write([]byte("text"))
			must(t, err)
			p.changes, p.killed, d.Faults = 0, one.name == "killed", one.faults
			var want error
			if slices.Contains(strings.Fields(one.fail), op.name) {
				want = one.err
			}
			if err := op.do(m, f); !errors.Is(err, want) {
				t.Errorf("%s, %s: %v, want %v", one.name, op.name, err, want)
			}
			if changes := op.changes; p.changes != changes && !p.killed || p.killed && p.changes > 0 {
				t.Errorf("%s, %s: %d changes", one.name, op.name, p.changes)
			}
			if blocked := p.blocked > 0; blocked != (op.slow && one.faults.Slow > 0) {
				t.Errorf("%s, %s: it takes %v", one.name, op.name, p.blocked)
			}
		}
	}
}

// TestSyncTime: on a disk that is not calm a Sync takes up to some milliseconds, unless the program
// is one for which no time may pass.
func TestSyncTime(t *testing.T) {
	longest := map[uint64]time.Duration{}
	for seed := range uint64(200) {
		for _, calm := range []bool{true, false} {
			d, p := Of(choice.New(seed), 1, calm), &program{}
			f := open(t, d.Mount(p), "/a")
			for range 10 {
				must(t, f.Sync())
			}
			if calm && p.blocked > 0 || p.blocked > 10*time.Duration(d.syncTime) {
				t.Fatalf("seed %d: calm: %v: %v of 10 times %v", seed, calm, p.blocked, time.Duration(d.syncTime))
			}
			longest[d.syncTime] = max(longest[d.syncTime], p.blocked)
			before := p.blocked
			p.instant = true
			d.Faults.Slow = time.Hour
			if must(t, f.Sync()); p.blocked != before {
				t.Fatalf("seed %d: a Sync that may take no time takes some", seed)
			}
		}
	}
	for most, took := range longest {
		if took < 5*time.Duration(most) {
			t.Errorf("10 Syncs of up to %v took %v at most", time.Duration(most), took)
		}
	}
	if len(longest) != 4 {
		t.Errorf("%v", longest)
	}
}

// TestSectors: of a write that was not confirmed each sector of the disk survives or does not; as
// often as not it is all of them or none.
func TestSectors(t *testing.T) {
	const at, size = sector - 100, 2*sector + 150 // in four sectors
	seen := map[string]int{}
	for seed := range uint64(1000) {
		d := Of(choice.New(seed), 1, true)
		m := d.Mount(&program{})
		f := open(t, m, "/a")
		must(t, m.SyncDir("/"))
		_, err := f.WriteAt(bytes.Repeat([]byte{1}, 4*sector), 0)
		must(t, err)
		must(t, f.Sync())
		_, err = f.WriteAt(bytes.Repeat([]byte{2}, size), at)
		must(t, err)
		d.PowerFail()
		got, _ := d.Read("/a")
		fate := ""
		for i, part := range [][]byte{got[at:sector], got[sector : 2*sector], got[2*sector : 3*sector], got[3*sector : at+size]} {
			if slices.Max(part) != slices.Min(part) {
				t.Fatalf("seed %d: of sector %d a part survives", seed, i)
			}
			fate += fmt.Sprint(part[0])
		}
		seen[fate]++
		if slices.Max(got[:at]) != 1 || slices.Max(got[at+size:]) != 1 {
			t.Fatalf("seed %d: what was not written has changed", seed)
		}
	}
	if len(seen) != 16 || seen["1111"] < 200 || seen["2222"] < 200 || seen["1111"] > 400 || seen["2222"] > 400 {
		t.Errorf("%v", seen)
	}
}

// TestFailedSync: what a Sync has failed to confirm may survive or not, whatever is confirmed
// later, but for what was written in its place since.
func TestFailedSync(t *testing.T) {
	texts := map[string]int{}
	for seed := range uint64(400) {
		d := Of(choice.New(seed), 1, true)
		m := d.Mount(&program{})
		f := open(t, m, "/a")
		must(t, m.SyncDir("/"))
		write := func(text string, at int64) {
			_, err := f.WriteAt([]byte(text), at)
			must(t, err)
		}
		write("aaaaaaaa", 0)
		must(t, f.Sync())
		write("bbbb", 2)
		d.Faults.Fails = true
		if err := f.Sync(); !errors.Is(err, syscall.EIO) {
			t.Fatal(err)
		}
		d.Faults.Fails = false
		write("c", 3)
		must(t, f.Sync())
		must(t, f.Truncate(7))
		d.Faults.Fails = true
		_ = f.Sync()
		d.Faults.Fails = false
		must(t, f.Sync())
		d.PowerFail()
		got, _ := d.Read("/a")
		texts[string(got)]++
	}
	want := "[aaacaaa aaacaaaa aaacbba aaacbbaa aabcaaa aabcaaaa aabcbba aabcbbaa]"
	if got := fmt.Sprint(slices.Sorted(maps.Keys(texts))); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestNothingChosen: if nothing is chosen against it, all survives.
func TestNothingChosen(t *testing.T) {
	for _, torn := range []bool{false, true} {
		c := choice.New(1)
		c.Repeat(nil)
		d := Of(c, 1, true)
		m := d.Mount(&program{})
		f := open(t, m, "/a")
		_, err := f.Write([]byte("text that is cut"))
		must(t, err)
		must(t, f.Truncate(4))
		d.Faults.LostWrites, d.Faults.TornNames = 1, torn
		_, err = f.WriteAt([]byte("!"), 4)
		must(t, err)
		must(t, m.Rename("/a", "/b"))
		d.PowerFail()
		if text, err := d.Durable("/b"); string(text) != "text\x00" || err != nil || len(d.Names()) != 1 {
			t.Errorf("torn: %v: %q, %v, of %v", torn, text, err, d.Names())
		}
	}
}

// TestLostAtTheEnd: a write at the end of a file that is lost makes it longer, or not if it was not
// confirmed.
func TestLostAtTheEnd(t *testing.T) {
	lengths := map[int]int{}
	for seed := range uint64(100) {
		d := Of(choice.New(seed), 1, true)
		m := d.Mount(&program{})
		f := open(t, m, "/a")
		must(t, m.SyncDir("/"))
		d.Faults.LostWrites = 1
		_, err := f.WriteAt([]byte("lost"), 6)
		must(t, err)
		if seed%2 == 0 {
			must(t, f.Sync())
		}
		d.PowerFail()
		got, _ := d.Read("/a")
		if slices.ContainsFunc(got, func(b byte) bool { return b != 0 }) || seed%2 == 0 && len(got) != 10 {
			t.Errorf("seed %d: %q", seed, got)
		}
		lengths[len(got)]++
	}
	if len(lengths) != 2 || lengths[0] < 15 {
		t.Errorf("%v", lengths)
	}
}

// TestFiles: reads and writes go on from each other and end like those of package os, and a name
// has many forms.
func TestFiles(t *testing.T) {
	d := Of(choice.New(1), 1, true)
	m := d.Mount(&program{})
	f, err := m.OpenFile("/x//y/../a", os.O_WRONLY|os.O_CREATE, 0o600)
	must(t, err)
	for _, text := range []string{"one ", "two"} {
		_, err = f.Write([]byte(text))
		must(t, err)
	}
	if _, err := f.Stat(); err != nil {
		t.Error("Stat of a file that is open for writing alone:", err)
	}
	if _, err := f.ReadAt(make([]byte, 1), 0); !errors.Is(err, syscall.EBADF) {
		t.Error("ReadAt of a file that is open for writing alone:", err)
	}
	must(t, m.SyncDir("/x/./"))
	must(t, m.Rename("/x/./a", "/x/z/../b"))
	f, err = m.OpenFile("/x/b", os.O_RDONLY, 0)
	must(t, err)
	p := make([]byte, 10)
	if n, err := f.ReadAt(p[:3], 4); string(p[:n]) != "two" || err != nil {
		t.Errorf("to the end: %q, %v", p[:n], err)
	}
	if n, err := f.Read(p); string(p[:n]) != "one two" || err != nil {
		t.Errorf("Read: %q, %v", p[:n], err)
	}
	if _, err := f.Write(p); !errors.Is(err, syscall.EBADF) {
		t.Error("Write of a file that is open for reading alone:", err)
	}
	all, err := m.ReadDir("/./")
	if err != nil || len(all) != 1 || all[0].Name() != "x" || !all[0].IsDir() {
		t.Errorf("%v, %v", all, err)
	}
	must(t, m.Remove("/x/../x/b"))
	if names := d.Names(); len(names) > 0 || fmt.Sprint(sortedNames(d.synced)) != "[/x/a]" {
		t.Errorf("%v, and after a loss of power %v", names, sortedNames(d.synced))
	}
}

// TestAppendTogether: what is appended to a file goes to its end, also if another loop of the host
// appends while the disk is slow.
func TestAppendTogether(t *testing.T) {
	d := New()
	d.Faults.Slow = time.Second
	open := func(p *program) *File {
		f, err := d.Mount(p).OpenFile("log", os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		must(t, err)
		return f
	}
	other := open(new(program))
	f := open(&program{others: func() {
		_, err := other.Write([]byte("first,"))
		must(t, err)
	}})
	_, err := f.Write([]byte("second"))
	must(t, err)
	if text, _ := d.Read("log"); string(text) != "first,second" {
		t.Errorf("the file has %q", text)
	}
}

// TestWriteDuringSync: a Sync confirms what was written before it, and not what another loop of the
// host writes while it takes its time. The Sync of that loop does.
func TestWriteDuringSync(t *testing.T) {
	d := Of(choice.New(1), 1, true)
	d.Faults.Slow = time.Second
	other := open(t, d.Mount(new(program)), "log")
	p := new(program)
	f := open(t, d.Mount(p), "log")
	must(t, d.Mount(p).SyncDir("."))
	_, err := f.WriteAt([]byte("first"), 0)
	must(t, err)
	p.others = func() {
		_, err := other.WriteAt([]byte("second"), 5)
		must(t, err)
	}
	must(t, f.Sync())
	for _, want := range []string{"first", "firstsecond"} {
		if text, err := d.Durable("log"); string(text) != want || err != nil {
			t.Errorf("%q is durable, want %q: %v", text, want, err)
		}
		must(t, other.Sync())
	}
}
