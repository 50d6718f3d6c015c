package sim_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// store replaces a file by one with the text, so that it has the old or the new text
// whatever happens.
func store(fs sim.FS, dir, name, text string) error {
	f, err := fs.OpenFile(dir+"/"+name+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := fs.Rename(dir+"/"+name+".new", dir+"/"+name); err != nil {
		return err
	}
	return fs.SyncDir(dir)
}

// load returns the text of a file, "" if it is not there.
func load(fs sim.FS, name string) (string, error) {
	f, err := fs.OpenFile(name, os.O_RDONLY, 0)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	return string(text), err
}

// files does the same on any FS, and checks what it finds.
func files(t *testing.T, disk sim.FS, dir string) {
	t.Helper()
	if err := store(disk, dir, "a", "first"); err != nil {
		t.Error(err)
	}
	if err := store(disk, dir, "a", "second"); err != nil {
		t.Error(err)
	}
	if text, err := load(disk, dir+"/a"); text != "second" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if err := disk.Rename(dir+"/a", dir+"/a"); err != nil {
		t.Error(err)
	}
	if text, err := load(disk, dir+"/a"); text != "second" || err != nil {
		t.Errorf("renamed to its own name: %q, %v", text, err)
	}
	f, err := disk.OpenFile(dir+"/b", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := disk.OpenFile(dir+"/b", os.O_CREATE|os.O_EXCL, 0o600); !errors.Is(err, fs.ErrExist) || runtime.GOOS != "windows" && !errors.Is(err, syscall.EEXIST) {
		t.Errorf("O_EXCL: %v", err)
	}
	if _, err := f.WriteAt([]byte("xyz"), 5); err != nil {
		t.Error(err)
	}
	p := make([]byte, 10)
	if n, err := f.ReadAt(p, 4); string(p[:n]) != "\x00xyz" || err != io.EOF {
		t.Errorf("ReadAt: %q, %v", p[:n], err)
	}
	if n, err := f.Read(p[:6]); string(p[:n]) != "\x00\x00\x00\x00\x00x" || err != nil {
		t.Errorf("Read: %q, %v", p[:n], err)
	}
	if n, err := f.WriteAt(nil, 100); n != 0 || err != nil {
		t.Errorf("WriteAt of nothing: %d, %v", n, err)
	}
	if n, err := f.ReadAt(nil, 100); n != 0 || err != nil {
		t.Errorf("ReadAt of nothing: %d, %v", n, err)
	}
	before, err := f.Stat()
	if err != nil || before.Size() != 8 {
		t.Errorf("after a write of nothing behind the end: %v, %v", before, err)
	}
	if err := f.Truncate(6); err != nil {
		t.Error(err)
	}
	if before.Size() != 8 {
		t.Errorf("what Stat has returned became %d bytes", before.Size())
	}
	if info, err := f.Stat(); err != nil || info.Size() != 6 || info.Name() != "b" || info.IsDir() {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := f.Read(p); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := f.Write(p); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	all, err := disk.ReadDir(dir)
	if err != nil || len(all) != 2 || all[0].Name() != "a" || all[1].Name() != "b" {
		t.Errorf("%v, %v", all, err)
	}
	if f, err = disk.OpenFile(dir+"/b", os.O_WRONLY|os.O_APPEND, 0); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(f, "end")
	if _, err := f.Read(p); err == nil {
		t.Error("a file that is open for writing alone was read")
	}
	if _, err := f.WriteAt([]byte("x"), 0); err == nil {
		t.Error("WriteAt of a file that is open for appending succeeded")
	}
	f.Close()
	if text, _ := load(disk, dir+"/b"); !strings.HasSuffix(text, "xend") {
		t.Errorf("appended: %q", text)
	}
	flag := os.O_RDONLY | os.O_TRUNC
	if runtime.GOOS == "windows" { // whose own disk cuts only what it may write
		flag = os.O_RDWR | os.O_TRUNC
	}
	if f, err = disk.OpenFile(dir+"/b", flag, 0); err != nil {
		t.Fatal(err)
	}
	if info, err := f.Stat(); err != nil || info.Size() != 0 {
		t.Errorf("O_TRUNC: %v, %v", info, err)
	}
	f.Close()
	if err := disk.Remove(dir + "/b"); err != nil {
		t.Error(err)
	}
	_, err = disk.OpenFile(dir+"/b", os.O_RDWR, 0)
	for _, err := range []error{err, disk.Remove(dir + "/b"), disk.Rename(dir+"/b", dir+"/c")} {
		if !errors.Is(err, fs.ErrNotExist) || !errors.Is(err, syscall.ENOENT) {
			t.Errorf("of a file that is not there: %v", err)
		}
	}
}

// TestDisk does the same on the disk of a host, of a single loop, and of the machine.
func TestDisk(t *testing.T) {
	files(t, sim.Disk(context.Background()), filepath.ToSlash(t.TempDir()))
	sim.Test(t, func(ctx context.Context) { files(t, sim.Disk(ctx), "data") })
	sim.Cluster(t, func(ctx context.Context, w *sim.World) { files(t, sim.Disk(ctx), "/data") })
}

// TestDiskModTime has writes and Truncate change the time of a file.
func TestDiskModTime(t *testing.T) {
	sim.Cluster(t, func(ctx context.Context, w *sim.World) {
		f, err := sim.Disk(ctx).OpenFile("a", os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		for _, change := range []func() error{
			func() error { _, err := f.Write([]byte("text")); return err },
			func() error { return f.Truncate(1) },
		} {
			_ = rondo.Sleep(ctx, time.Second)
			if err := change(); err != nil {
				t.Fatal(err)
			}
			if info, err := f.Stat(); err != nil || !info.ModTime().Equal(rondo.Now(ctx)) {
				t.Errorf("changed at %v: %v, %v", rondo.Now(ctx), info.ModTime(), err)
			}
		}
	})
}

// TestDiskPowerFail has a host lose power at any moment of a life of writes. What was
// synced is there, and what was not is partly there.
func TestDiskPowerFail(t *testing.T) {
	outcomes := map[string]int{}
	config := sim.Config{Seeds: 200, SeedsShort: 200}
	config.Cluster(t, func(ctx context.Context, w *sim.World) {
		synced, tried, loose, failed := 0, 0, "", false
		h := w.Host("a", func(ctx context.Context) error {
			disk := sim.Disk(ctx)
			if failed {
				text, err := load(disk, "/a")
				if err != nil {
					return err
				}
				if synced > 0 && text != fmt.Sprint(synced) && text != fmt.Sprint(tried) {
					t.Errorf("%q is there, of %d that were synced and %d that were tried", text, synced, tried)
				}
				loose, err = load(disk, "/log")
				return err
			}
			f, err := disk.OpenFile("/log", os.O_RDWR|os.O_CREATE, 0o600)
			if err != nil {
				return err
			}
			if err := disk.SyncDir("/"); err != nil {
				return err
			}
			for {
				tried++
				if err := store(disk, "/", "a", fmt.Sprint(tried)); err != nil {
					return err
				}
				synced = tried
				if _, err := f.Write(bytes.Repeat([]byte("x"), 1000)); err != nil {
					return err
				}
				if err := rondo.Sleep(ctx, time.Millisecond); err != nil {
					return err
				}
			}
		})
		_ = rondo.Sleep(ctx, 10500*time.Microsecond)
		written := synced * 1000
		failed = true
		h.PowerFail()
		h.Restart()
		if err := w.Eventually(ctx, time.Minute, func() bool { return !h.Up() }); err != nil {
			t.Error(err)
		}
		switch {
		case loose == "":
			outcomes["nothing"]++
		case len(loose) == written && strings.Count(loose, "x") == written:
			outcomes["all"]++
		case strings.Contains(loose, "\x00"):
			outcomes["holes"]++
		default:
			outcomes["a part"]++
		}
	})
	for _, what := range []string{"holes", "a part"} {
		if outcomes[what] == 0 {
			t.Errorf("what was not synced was never there as %q: %v", what, outcomes)
		}
	}
}

// TestDiskCrash has a program crash: what it wrote is there.
func TestDiskCrash(t *testing.T) {
	sim.Cluster(t, func(ctx context.Context, w *sim.World) {
		var text string
		h := w.Host("a", func(ctx context.Context) error {
			disk := sim.Disk(ctx)
			var err error
			if text, err = load(disk, "/log"); text != "" || err != nil {
				return err
			}
			f, err := disk.OpenFile("/log", os.O_RDWR|os.O_CREATE, 0o600)
			if err != nil {
				return err
			}
			defer func() {
				if _, err := io.WriteString(f, "from a dead process"); err == nil {
					t.Error("a dead process wrote to its disk")
				}
				if _, err := disk.ReadDir("/"); err == nil {
					t.Error("a dead process read its disk")
				}
			}()
			if _, err := io.WriteString(f, "written"); err != nil {
				return err
			}
			return rondo.Sleep(ctx, time.Hour)
		})
		_ = rondo.Sleep(ctx, 30*time.Second)
		h.Crash()
		h.Restart()
		if err := w.Eventually(ctx, time.Minute, func() bool { return text == "written" }); err != nil {
			t.Errorf("%q, %v", text, err)
		}
	})
}

// TestDiskFaults has disks fail and be full for a while.
func TestDiskFaults(t *testing.T) {
	failed, full := 0, 0
	config := sim.Config{Seeds: 40, Faults: sim.Faults{Disk: 1}}
	config.Cluster(t, func(ctx context.Context, w *sim.World) {
		w.Host("a", func(ctx context.Context) error {
			for {
				switch err := store(sim.Disk(ctx), "/", "a", "text"); {
				case errors.Is(err, syscall.EIO):
					failed++
				case errors.Is(err, syscall.ENOSPC):
					full++
				case err != nil:
					return err
				}
				if err := rondo.Sleep(ctx, 10*time.Millisecond); err != nil {
					return err
				}
			}
		})
		_ = rondo.Sleep(ctx, 10*time.Second)
		w.Calm()
		if err := store(sim.Disk(ctx), "/", "a", "text"); err != nil {
			t.Error(err)
		}
	})
	if failed == 0 || full == 0 {
		t.Errorf("the disks failed %d times and were full %d times", failed, full)
	}
}

// TestSyncAfterFailure writes again what a failed Sync has left uncertain: once Sync
// has confirmed that, a power failure does not bring the earlier bytes back.
func TestSyncAfterFailure(t *testing.T) {
	failures := 0
	config := sim.Config{Seeds: 60, SeedsShort: 60, Faults: sim.Faults{Disk: 4}}
	config.Cluster(t, func(ctx context.Context, w *sim.World) {
		var want, got string
		h := w.Host("a", func(ctx context.Context) error {
			if want != "" {
				text, err := load(sim.Disk(ctx), "x")
				got = text
				return err
			}
			var f sim.File
			for f == nil {
				_ = rondo.Sleep(ctx, 100*time.Millisecond)
				if file, err := sim.Disk(ctx).OpenFile("x", os.O_RDWR|os.O_CREATE, 0o600); err == nil {
					f = file
				}
			}
			for i := byte('A'); i <= 'Z'; i++ {
				_ = rondo.Sleep(ctx, 100*time.Millisecond)
				if _, err := f.WriteAt(bytes.Repeat([]byte{i}, 8), 0); err == nil {
					_ = rondo.Sleep(ctx, 100*time.Millisecond)
					if f.Sync() != nil {
						failures++
					}
				}
			}
			for want == "" {
				_ = rondo.Sleep(ctx, 100*time.Millisecond)
				if _, err := f.WriteAt([]byte("last one"), 0); err == nil && f.Sync() == nil && sim.Disk(ctx).SyncDir(".") == nil {
					want = "last one"
				}
			}
			return rondo.Sleep(ctx, time.Hour)
		})
		_ = rondo.Sleep(ctx, 10*time.Second)
		w.Calm()
		_ = rondo.Sleep(ctx, time.Second)
		h.PowerFail()
		h.Restart()
		if err := w.Eventually(ctx, time.Minute, func() bool { return got == want }); err != nil {
			t.Errorf("%q was confirmed, and after a power failure there is %q", want, got)
		}
	})
	if failures == 0 {
		t.Error("no Sync has failed")
	}
}

// TestSyncTime: in some seeds a Sync takes time, and the program waits in it. None does after Calm,
// nor one of a goroutine around the host, which may call it while the loop is about to take a step.
func TestSyncTime(t *testing.T) {
	c := sim.Config{Seeds: 40, SeedsShort: 40, Goroutines: true, Exact: true}
	c.Cluster(t, func(ctx context.Context, w *sim.World) {
		f, err := sim.Disk(ctx).OpenFile("a", os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		took := func(what func()) time.Duration {
			start := rondo.Now(ctx)
			what()
			return rondo.Now(ctx).Sub(start)
		}
		sync := func() {
			for range 10 {
				if err := f.Sync(); err != nil {
					t.Error(err)
				}
			}
		}
		sim.Sometimes(ctx, took(sync) > 0, "a Sync takes time")
		if d := took(func() {
			synced := make(chan int, 1)
			go func() { sync(); synced <- 1 }()
			_ = rondo.Yield(ctx)
			_, _, _ = rondo.Receive(ctx, synced)
		}); d > 0 {
			t.Errorf("those of a goroutine took %v", d)
		}
		w.Calm()
		if d := took(sync); d > 0 {
			t.Errorf("after Calm they took %v", d)
		}
	})
}

// TestSyncDirOfMachine: SyncDir of the machine's own file system says if the folder is not there,
// and does not keep it open.
func TestSyncDirOfMachine(t *testing.T) {
	d, dir := sim.Disk(t.Context()), t.TempDir()
	if err := d.SyncDir(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of a folder that is not there: %v", err)
	}
	if err := d.SyncDir(dir); err != nil {
		t.Error(err)
	}
	open, _ := filepath.Glob("/proc/self/fd/*") // none on other systems than Linux
	for _, name := range open {
		if to, _ := os.Readlink(name); to == dir {
			t.Errorf("%s is still open", dir)
		}
	}
}
