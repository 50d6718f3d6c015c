package sim_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// sectors returns a text for each letter, a sector long.
func sectors(letters string) string {
	var b strings.Builder
	for _, letter := range letters {
		b.WriteString(strings.Repeat(string(letter), 512))
	}
	return b.String()
}

// TestDamage plants each fault of a disk: what the program is told, what it reads, and what would
// survive a loss of power.
func TestDamage(t *testing.T) {
	for _, c := range []struct {
		name    string
		faults  sim.DiskFaults
		write   string // at the begin of a file with two sectors, a and b
		at      int64
		wrote   int
		err     error
		reads   string
		durable string
	}{
		{"none", sim.DiskFaults{}, sectors("c"), 0, 512, nil, sectors("cb"), sectors("cb")},
		{"lost", sim.DiskFaults{LostWrites: 1}, sectors("c"), 0, 512, nil, sectors("ab"), sectors("ab")},
		{"lost at the end", sim.DiskFaults{LostWrites: 1}, "c", 1024, 1, nil, sectors("ab") + "\x00", sectors("ab") + "\x00"},
		{"misdirected", sim.DiskFaults{MisdirectedWrites: 1}, sectors("c"), 0, 512, nil, sectors("ac"), sectors("ac")},
		{"a lie", sim.DiskFaults{LyingSync: true}, sectors("c"), 0, 512, nil, sectors("cb"), sectors("ab")},
		{"full", sim.DiskFaults{Full: true, Room: 100}, "c", 0, 1, nil, "c" + sectors("ab")[1:], "c" + sectors("ab")[1:]},
		{"full in the middle", sim.DiskFaults{Full: true, Room: 1}, "cc", 0, 1, syscall.ENOSPC, "c" + sectors("ab")[1:], sectors("ab")},
		{"full at once", sim.DiskFaults{Full: true}, "cc", 0, 0, syscall.ENOSPC, sectors("ab"), sectors("ab")},
		{"fails", sim.DiskFaults{Fails: true}, "cc", 0, 0, syscall.EIO, sectors("ab"), sectors("ab")},
	} {
		t.Run(c.name, func(t *testing.T) {
			sim.Config{Seeds: 4}.Cluster(t, func(ctx context.Context, w *sim.World) {
				own, disk := sim.HostOf(ctx).Disk(), sim.Disk(ctx)
				if err := store(disk, "/", "a", sectors("ab")); err != nil {
					t.Fatal(err)
				}
				f, err := disk.OpenFile("/a", os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				own.SetFaults(c.faults)
				if n, err := f.WriteAt([]byte(c.write), c.at); n != c.wrote || !errors.Is(err, c.err) {
					t.Errorf("WriteAt: %d, %v; want %d, %v", n, err, c.wrote, c.err)
				}
				if err := f.Sync(); !errors.Is(err, c.err) {
					t.Errorf("Sync: %v", err)
				}
				own.SetFaults(sim.DiskFaults{})
				if got, err := load(disk, "/a"); got != c.reads || err != nil {
					t.Errorf("there is %q, %v; want %q", got, err, c.reads)
				}
				if got, err := own.Durable("/a"); string(got) != c.durable || err != nil {
					t.Errorf("a loss of power leaves %q, %v; want %q", got, err, c.durable)
				}
			})
		})
	}
}

// TestDiskOfHost has the test read and plant what a host that is down has stored.
func TestDiskOfHost(t *testing.T) {
	sim.Cluster(t, func(ctx context.Context, w *sim.World) {
		var got string
		h := w.Host("a", func(ctx context.Context) error {
			var err error
			if got, err = load(sim.Disk(ctx), "/a"); got == "" && err == nil {
				err = store(sim.Disk(ctx), "/", "a", "text")
			}
			return err
		})
		if err := w.Eventually(ctx, time.Minute, func() bool { return !h.Up() }); err != nil {
			t.Fatal(err)
		}
		d := h.Disk()
		if text, err := d.ReadFile("/a"); string(text) != "text" || err != nil || fmt.Sprint(d.Files()) != "[/a]" {
			t.Errorf("%q, %v, of %v", text, err, d.Files())
		}
		for _, read := range []func(string) ([]byte, error){d.ReadFile, d.Durable} {
			if _, err := read("/b"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a file that is not there: %v", err)
			}
		}
		d.WriteFile("/a", []byte("tixt"))
		h.PowerFail()
		h.Restart()
		if err := w.Eventually(ctx, time.Minute, func() bool { return got == "tixt" }); err != nil {
			t.Errorf("%q: %v", got, err)
		}
	})
}

// TestWriteFileAfterRename: a file that the test makes under the name that a rename has left stays
// there, whether SyncDir or a loss of power comes next.
func TestWriteFileAfterRename(t *testing.T) {
	sim.Config{Seeds: 20, SeedsShort: 20}.Cluster(t, func(ctx context.Context, w *sim.World) {
		for _, sync := range []bool{true, false} {
			h := w.Host(fmt.Sprint("syncs ", sync), func(ctx context.Context) error {
				disk := sim.Disk(ctx)
				if err := store(disk, "/", "a", "text"); err != nil {
					return err
				}
				if err := disk.Rename("/a", "/b"); err != nil {
					return err
				}
				sim.HostOf(ctx).Disk().WriteFile("/a", []byte("planted"))
				if sync {
					return disk.SyncDir("/")
				}
				return rondo.Sleep(ctx, time.Hour)
			})
			_ = rondo.Sleep(ctx, time.Minute)
			h.PowerFail()
			if text, err := h.Disk().Durable("/a"); string(text) != "planted" || err != nil {
				t.Errorf("with SyncDir: %v: %q, %v", sync, text, err)
			}
		}
	})
}

// TestNegativeDiskFaults: SetFaults panics if a number is negative.
func TestNegativeDiskFaults(t *testing.T) {
	sim.Config{Seeds: 1}.Cluster(t, func(ctx context.Context, w *sim.World) {
		for want, f := range map[string]sim.DiskFaults{
			"Room = -1:":              {Full: true, Room: -1},
			"LostWrites = -1:":        {LostWrites: -1},
			"MisdirectedWrites = -1:": {MisdirectedWrites: -1},
			"Slow = -1ns:":            {Slow: -1},
		} {
			func() {
				defer func() { contains(t, fmt.Sprint(recover()), "sim: SetFaults with DiskFaults."+want) }()
				sim.HostOf(ctx).Disk().SetFaults(f)
			}()
		}
	})
}

// TestTornRename: a rename survives whole or not at all, but on a disk that tears names.
func TestTornRename(t *testing.T) {
	for torn, want := range map[bool]string{
		false: "map[new:true old:true]", true: "map[both:true neither:true new:true old:true]",
	} {
		outcomes := map[string]bool{}
		sim.Config{Seeds: 60, SeedsShort: 60}.Cluster(t, func(ctx context.Context, w *sim.World) {
			h := w.Host("a", func(ctx context.Context) error {
				disk := sim.Disk(ctx)
				if err := store(disk, "/", "old", "text"); err != nil {
					return err
				}
				if err := disk.Rename("/old", "/new"); err != nil {
					return err
				}
				return rondo.Sleep(ctx, time.Hour)
			})
			h.Disk().SetFaults(sim.DiskFaults{TornNames: torn})
			_ = rondo.Sleep(ctx, time.Minute)
			h.PowerFail()
			_, noOld := h.Disk().Durable("/old")
			_, noNew := h.Disk().Durable("/new")
			outcomes[map[[2]bool]string{{false, false}: "both", {true, true}: "neither", {true, false}: "new", {false, true}: "old"}[[2]bool{noOld != nil, noNew != nil}]] = true
		})
		if got := fmt.Sprint(outcomes); got != want {
			t.Errorf("torn is %v: %s, want %s", torn, got, want)
		}
	}
}

// TestReadErrors: some reads fail and others do not, until the disk is well again.
func TestReadErrors(t *testing.T) {
	sim.Cluster(t, func(ctx context.Context, w *sim.World) {
		disk := sim.Disk(ctx)
		if err := store(disk, "/", "a", "text"); err != nil {
			t.Fatal(err)
		}
		sim.HostOf(ctx).Disk().SetFaults(sim.DiskFaults{ReadErrors: 1})
		failed := 0
		for range 100 {
			if _, err := load(disk, "/a"); errors.Is(err, syscall.EIO) {
				failed++
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if failed == 0 || failed == 100 {
			t.Errorf("of 100 reads %d failed", failed)
		}
		if w.Calm(); failed > 0 {
			for range 20 {
				if _, err := load(disk, "/a"); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

// TestSlow: a slow disk keeps the whole program, and a slow processor each of its steps.
func TestSlow(t *testing.T) {
	sim.Config{Exact: true}.Cluster(t, func(ctx context.Context, w *sim.World) {
		sim.HostOf(ctx).Disk().SetFaults(sim.DiskFaults{Slow: time.Second})
		f, err := sim.Disk(ctx).OpenFile("/a", os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		begin := rondo.Now(ctx)
		_, _ = f.Write([]byte("text"))
		_, _ = f.ReadAt(make([]byte, 4), 0)
		if took := rondo.Now(ctx).Sub(begin); took != 2*time.Second {
			t.Errorf("a write and a read took %v", took)
		}
		ticks := 0
		h := w.Host("a", func(ctx context.Context) error {
			for rondo.Sleep(ctx, time.Second) == nil {
				ticks++
			}
			return nil
		})
		h.Slow(time.Second)
		if _ = rondo.Sleep(ctx, 20500*time.Millisecond); ticks < 9 || ticks > 11 {
			t.Errorf("of 20 ticks of a second, each a second late, %d came", ticks)
		}
		w.Calm()
		before := ticks
		if _ = rondo.Sleep(ctx, 20500*time.Millisecond); ticks-before < 19 {
			t.Errorf("of 20 ticks %d came", ticks-before)
		}
	})
}

// TestFaultsOfDisks: each rate damages what was confirmed, on the lesser half of the hosts, and on
// none that is spared. Without damage all is there that was confirmed.
func TestFaultsOfDisks(t *testing.T) {
	text := sectors("abcdefgh")
	for name, faults := range map[string]sim.Faults{
		"rot":         {BitRot: 2},
		"lost":        {LostWrite: 2},
		"misdirected": {MisdirectedWrite: 2},
		"lies":        {LyingSync: 2, PowerFail: 1},
		"nothing":     {PowerFail: 1, Crash: 1, Outage: 0.2, Slow: 1},
	} {
		most, damaged := 0, [3]int{}
		sim.Config{Seeds: 24, SeedsShort: 24, Faults: faults}.Cluster(t, func(ctx context.Context, w *sim.World) {
			bad, confirmed := [3]bool{}, [3]bool{}
			for i := range 3 {
				h := w.Host(fmt.Sprint("n", i), func(ctx context.Context) error {
					for {
						got, err := load(sim.Disk(ctx), "/a")
						bad[i] = bad[i] || err == nil && confirmed[i] && got != text
						if err := store(sim.Disk(ctx), "/", "a", text); err != nil {
							return err
						}
						confirmed[i] = true
						if err := rondo.Sleep(ctx, 500*time.Millisecond); err != nil {
							return err
						}
					}
				})
				if i == 2 {
					h.Spare()
				}
			}
			_ = rondo.Sleep(ctx, 10*time.Second)
			n := 0
			for i := range bad {
				if bad[i] {
					damaged[i]++
					n++
				}
			}
			most = max(most, n)
		})
		if any := damaged[0]+damaged[1] > 0; any != (name != "nothing") || damaged[2] > 0 || most > 1 {
			t.Errorf("%s: the hosts had damage in %v of 24 seeds, and up to %d in one", name, damaged, most)
		}
	}
}
