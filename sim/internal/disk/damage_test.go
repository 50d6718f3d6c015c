package disk

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo/sim/internal/choice"
)

// synced returns a disk with files that are certain, by their texts.
func synced(t *testing.T, texts ...string) (*Disk, Mount, *program) {
	t.Helper()
	d, p := Of(choice.New(1), 1, true), &program{}
	m := d.Mount(p)
	for i, text := range texts {
		f := open(t, m, fmt.Sprintf("/%c", 'a'+i))
		_, err := f.Write([]byte(text))
		must(t, err)
		must(t, f.Sync())
	}
	must(t, m.SyncDir("/"))
	return d, m, p
}

// TestRot: any bit of what has been synced may rot, and no other one. Programs see it unless the
// file is shorter for them.
func TestRot(t *testing.T) {
	seen := map[string]int{}
	for where := uint64(0); where < 1<<16; where += 1 << 12 {
		for bit := range uint64(8) {
			d, m, _ := synced(t, "12", "", "3456", "78")
			must(t, open(t, m, "/d").Truncate(1))
			name, at := d.Rot(where, bit)
			for name, before := range map[string]string{"/a": "12", "/b": "", "/c": "3456", "/d": "78"} {
				durable, _ := d.Durable(name)
				read, _ := d.Read(name)
				if !bytes.Equal(read, durable[:len(read)]) {
					t.Fatalf("%s: programs see %q of %q", name, read, durable)
				}
				for i := range durable {
					if wrong := durable[i] ^ before[i]; wrong != 0 {
						seen[fmt.Sprint(name, i, bits.TrailingZeros8(wrong))]++
						name1, at1 := d.Rot(where, bit)
						if bits.OnesCount8(wrong) != 1 || name1 != name || at1 != int64(i) {
							t.Fatalf("bit %b of byte %d of %s, and it says byte %d of %s", wrong, i, name, at1, name1)
						}
					}
				}
			}
			if name == "" || at < 0 {
				t.Fatal("nothing rots")
			}
		}
	}
	if len(seen) != 8*8 {
		t.Errorf("of 64 bits %d rot", len(seen))
	}
	if name, at := New().Rot(0, 0); name != "" || at != 0 {
		t.Error("of an empty disk", name, "rots")
	}
}

// TestAstray: so many writes go astray as the faults say, to another sector of any file, and the
// next one is as it should be.
func TestAstray(t *testing.T) {
	text := strings.Repeat("a", 2*sector)
	places := map[string]bool{}
	for n := range 40 {
		d, m, p := synced(t, text, text)
		d.Faults.MisdirectedWrites, d.Faults.LostWrites = 1, 1
		f := open(t, m, "/a")
		for _, letter := range []string{"b", "c", "d"} {
			_, err := f.WriteAt(bytes.Repeat([]byte(letter), 1+n), sector)
			must(t, err)
		}
		certain, _ := d.Durable("/b")
		must(t, f.Sync())
		b, _ := d.Read("/b")
		if !bytes.Equal(b, certain) {
			t.Errorf("%d: of the other file %q is certain", n, certain)
		}
		a, _ := d.Read("/a")
		want := strings.Repeat("d", 1+n)
		all := string(a) + string(b)
		at := strings.Index(all, "c")
		places[fmt.Sprint(at)] = true
		if strings.Contains(all, "b") || strings.Count(all, "c") != 1+n || at%sector != 0 || string(a[sector:sector+1+n]) != want {
			t.Errorf("%d: %q, %d", n, all, at)
		}
		if got := fmt.Sprint(p.said); got != fmt.Sprintf("[lost write %d misdirected write %d]", 1+n, 1+n) {
			t.Error(got)
		}
	}
	if fmt.Sprint(places) != "map[0:true 1024:true 1536:true]" {
		t.Errorf("they go to %v", places)
	}
}

// TestReadsFail: while read errors come and go one read in four fails.
func TestReadsFail(t *testing.T) {
	for number := uint64(1); number < 20; number++ {
		d, m, _ := synced(t, "text")
		d.Faults.ReadErrors = number
		f, failed := open(t, m, "/a"), 0
		for range 1000 {
			if _, err := f.ReadAt(make([]byte, 1), 0); err != nil {
				failed++
			}
		}
		if failed < 150 || failed > 350 {
			t.Errorf("%d: of 1000 reads %d failed", number, failed)
		}
	}
}

// TestPowerFailEnds: a disk is well after a loss of power, but for faults of the disk itself.
func TestPowerFailEnds(t *testing.T) {
	d, _, _ := synced(t)
	d.Faults = Faults{Fails: true, Full: true, Room: 3, ReadErrors: 1, LostWrites: 2, LyingSync: true, Slow: 1}
	d.PowerFail()
	if want := (Faults{Room: 3, LostWrites: 2, LyingSync: true, Slow: 1}); d.Faults != want {
		t.Errorf("%+v, want %+v", d.Faults, want)
	}
}

// TestTornNames: of changes of names any may survive, and of a rename either half, which the words
// for the failure say.
func TestTornNames(t *testing.T) {
	seen, said := map[string]bool{}, 0
	for seed := range uint64(400) {
		c := choice.New(seed)
		c.Says = func(words choice.Words) {
			said++
			if text := words(func(number uint64) string { return fmt.Sprint("host ", number) }); text != "the power failure tore the names on the disk of host 3" {
				t.Error(text)
			}
		}
		d := Of(c, 3, true)
		m := d.Mount(&program{})
		open(t, m, "/old")
		must(t, m.SyncDir("/"))
		open(t, m, "/made")
		must(t, m.Rename("/old", "/new"))
		d.Faults.TornNames = true
		d.PowerFail()
		names := fmt.Sprint(d.Names())
		seen[names] = true
		d.Faults.TornNames = false
		must(t, m.SyncDir("/"))
		if d.PowerFail(); fmt.Sprint(d.Names()) != names {
			t.Errorf("there were %s, and later %s", names, d.Names())
		}
	}
	if len(seen) != 8 || said < 350 {
		t.Errorf("%d of 8 outcomes: %v; said %d times", len(seen), seen, said)
	}
}

// TestPlant: a file that a test makes has its bytes whatever was under way, and other names are
// what they would be.
func TestPlant(t *testing.T) {
	for name, before := range map[string]func(m Mount) error{
		"nothing":           func(Mount) error { return nil },
		"a new file":        func(m Mount) error { _, err := m.OpenFile("/x", os.O_CREATE, 0); return err },
		"removed":           func(m Mount) error { return m.Remove("/a") },
		"renamed to it":     func(m Mount) error { return m.Rename("/b", "/a") },
		"renamed, and gone": func(m Mount) error { return errors.Join(m.Rename("/b", "/a"), m.Remove("/a")) },
		"renamed from it":   func(m Mount) error { return m.Rename("/a", "/c") },
		"written and cut": func(m Mount) error {
			f := File{access: m.access, inode: m.disk.files["/a"], flag: os.O_RDWR}
			return f.Truncate(1)
		},
		"renamed to another": func(m Mount) error { return m.Rename("/b", "/d") },
	} {
		for _, syncs := range []bool{false, true} {
			d, m, _ := synced(t, "old", "other")
			must(t, before(m))
			names := d.Names()
			d.Plant("/a", []byte("planted"), time.Unix(1, 0))
			if f := open(t, m, "/a"); f.inode.changed != time.Unix(1, 0) {
				t.Error(name, "it is of", f.inode.changed)
			}
			if syncs {
				must(t, m.SyncDir("/"))
			}
			d.draws = choice.New(1).At(choice.ForDisk, 1)
			d.PowerFail()
			if text, err := d.Durable("/a"); string(text) != "planted" || err != nil {
				t.Errorf("%s, synced: %v: %q, %v", name, syncs, text, err)
			}
			want := slices.Compact(slices.Sorted(slices.Values(append(names, "/a"))))
			if got := d.Names(); syncs && !slices.Equal(got, want) {
				t.Errorf("%s: there are %v, want %v", name, got, want)
			}
		}
	}
}

// TestShortWrite: a disk that becomes full takes the beginning of a write, and says so.
func TestShortWrite(t *testing.T) {
	d, m, p := synced(t, "old")
	d.Faults.Full, d.Faults.Room = true, 5
	f := open(t, m, "/a")
	n, err := f.Write([]byte("new text"))
	if n != 5 || err == nil || fmt.Sprint(p.said) != "[short write 5]" {
		t.Errorf("%d, %v, %q", n, err, p.said)
	}
	if _, err := f.Write([]byte("x")); !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	d.Faults.Full = false
	if _, err := f.Write([]byte("ext")); err != nil {
		t.Error(err)
	}
	if text, _ := d.Read("/a"); string(text) != "new text" {
		t.Errorf("%q", text)
	}
	if err := f.Truncate(-1); err == nil || !strings.Contains(err.Error(), syscall.EINVAL.Error()) {
		t.Error(err)
	}
	if err := f.Truncate(1 << 60); !errors.Is(err, syscall.EFBIG) {
		t.Error(err)
	}
	for _, at := range []int64{1 << 60, math.MaxInt64} {
		if _, err := f.WriteAt([]byte("x"), at); !errors.Is(err, syscall.EFBIG) {
			t.Error(err)
		}
	}
	must(t, f.Truncate(0))
}

// TestLies: a Sync that lies says so, and makes nothing certain.
func TestLies(t *testing.T) {
	d, m, p := synced(t, "old")
	f := open(t, m, "/a")
	_, err := f.Write([]byte("new"))
	must(t, err)
	open(t, m, "/b")
	d.Faults.LyingSync = true
	must(t, f.Sync())
	must(t, m.SyncDir("/"))
	text, _ := d.Durable("/a")
	_, err = d.Durable("/b")
	if got := fmt.Sprint(p.said); string(text) != "old" || err == nil || got != "[a Sync that lies 1 a SyncDir that lies 1]" {
		t.Errorf("%q, %v, %s", text, err, got)
	}
}
