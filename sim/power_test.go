package sim_test

import (
	"context"
	"io"
	"os"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// TestPowerFailsInSync has the power fail while a Sync is under way: the process waits in
// it with all its tasks, and what it was to make certain may be there or not.
func TestPowerFailsInSync(t *testing.T) {
	sim.Config{Seeds: 300}.Cluster(t, func(ctx context.Context, w *sim.World) {
		var err error
		syncing, synced := false, false
		h := w.Host("db", func(ctx context.Context) error {
			d := sim.Disk(ctx)
			f, e := d.OpenFile("log", os.O_RDWR|os.O_CREATE, 0o600)
			if e != nil || d.SyncDir(".") != nil {
				return rondo.Sleep(ctx, time.Hour)
			}
			if b, _ := io.ReadAll(f); len(b) > 0 {
				sim.Sometimes(ctx, err != nil, "it was written before Sync returned")
				return rondo.Sleep(ctx, time.Hour)
			}
			sim.Sometimes(ctx, syncing, "it was not written in a Sync")
			rondo.Go(ctx, func(ctx context.Context) error {
				sim.Sometimes(ctx, synced, "another task runs after the Sync")
				sim.Always(ctx, !syncing || synced, "no other task runs during the Sync")
				return nil
			})
			if _, err := io.WriteString(f, "data"); err != nil {
				return err
			}
			syncing = true
			err = f.Sync()
			synced = true
			return rondo.Sleep(ctx, time.Hour)
		})
		_ = w.Eventually(ctx, time.Second, func() bool { return syncing })
		sim.Sometimes(ctx, !synced, "the test sees it in Sync")
		during := syncing && !synced
		h.PowerFail()
		_ = rondo.Sleep(ctx, time.Second)
		if during && err == nil {
			t.Error("a Sync succeeded although the power failed before it returned")
		}
		h.Restart()
		_ = rondo.Sleep(ctx, time.Second)
	})
}

// TestSyncOfADeadProcess has a process that was killed call Sync in a deferred call: it fails
// and changes nothing, so the next process can make certain what was written.
func TestSyncOfADeadProcess(t *testing.T) {
	sim.Config{Seeds: 30, SeedsShort: 30}.Cluster(t, func(ctx context.Context, w *sim.World) {
		boot, got := 0, ""
		h := w.Host("db", func(ctx context.Context) error {
			boot++
			f, err := sim.Disk(ctx).OpenFile("log", os.O_RDWR|os.O_CREATE, 0o600)
			if err != nil {
				return err
			}
			switch boot {
			case 1:
				defer f.Sync()
				if _, err := io.WriteString(f, "data"); err != nil {
					return err
				}
			case 2:
				if err := f.Sync(); err != nil {
					return err
				}
				if err := sim.Disk(ctx).SyncDir("."); err != nil {
					return err
				}
			default:
				all, err := io.ReadAll(f)
				got = string(all)
				return err
			}
			return rondo.Sleep(ctx, time.Hour)
		})
		_ = rondo.Sleep(ctx, 100*time.Second)
		h.Crash()
		_ = rondo.Sleep(ctx, time.Second)
		h.Restart()
		_ = rondo.Sleep(ctx, 100*time.Second)
		h.PowerFail()
		h.Restart()
		_ = rondo.Sleep(ctx, 100*time.Second)
		if boot != 3 || got != "data" {
			t.Errorf("boot %d: %q is there, want what Sync has confirmed", boot, got)
		}
	})
}

// TestFaultsStrikeAtDisk has hosts crash between two writes that nothing separates.
func TestFaultsStrikeAtDisk(t *testing.T) {
	c := sim.Config{Seeds: 100, Faults: sim.Faults{Crash: 1}}
	c.Cluster(t, func(ctx context.Context, w *sim.World) {
		w.Host("db", func(ctx context.Context) error {
			f, err := sim.Disk(ctx).OpenFile("log", os.O_RDWR|os.O_CREATE, 0o600)
			if err != nil {
				return err
			}
			have, _ := io.ReadAll(f)
			sim.Sometimes(ctx, len(have)%2 == 1, "one of the two was written")
			for rondo.Sleep(ctx, 100*time.Millisecond) == nil {
				_, _ = f.Write([]byte("a"))
				_, _ = f.Write([]byte("b"))
			}
			return nil
		})
		_ = rondo.Sleep(ctx, 5*time.Second)
	})
}

// TestCalmIsOnTime has nothing late after Calm, also on a host that begins then.
func TestCalmIsOnTime(t *testing.T) {
	sim.Config{Seeds: 100, SeedsShort: 100}.Cluster(t, func(ctx context.Context, w *sim.World) {
		late := func(ctx context.Context) bool {
			start := rondo.Now(ctx)
			for range 20 {
				_ = rondo.Sleep(ctx, time.Millisecond)
			}
			return rondo.Now(ctx).Sub(start) != 20*time.Millisecond
		}
		sim.Sometimes(ctx, late(ctx), "sleeps are late before Calm")
		w.Calm()
		_ = rondo.Yield(ctx) // it may still be put off
		sim.Always(ctx, !late(ctx), "sleeps are on time after Calm")
		h := w.Host("a", func(ctx context.Context) error {
			sim.Always(ctx, !late(ctx), "sleeps are on time on a host that begins after Calm")
			return nil
		})
		_ = w.Eventually(ctx, time.Minute, func() bool { return !h.Up() })
	})
}

// TestCalmWakesTheLate has a task that is late when Calm is called run at once.
func TestCalmWakesTheLate(t *testing.T) {
	sim.Config{Seeds: 500, SeedsShort: 500}.Cluster(t, func(ctx context.Context, w *sim.World) {
		n := 0
		w.Host("a", func(ctx context.Context) error {
			for rondo.Sleep(ctx, 10*time.Second) == nil {
				n++
			}
			return nil
		})
		_ = rondo.Sleep(ctx, 65*time.Second)
		w.Calm()
		_ = rondo.Sleep(ctx, 10*time.Second)
		before := n
		_ = rondo.Sleep(ctx, 10*time.Second)
		sim.Always(ctx, n > before, "it runs after Calm")
	})
}

// TestCalmEndsFaults: Calm starts the hosts that a fault has struck, and not one whose program has
// ended; no fault strikes later, and what the test does to a host from then on lasts.
func TestCalmEndsFaults(t *testing.T) {
	sim.Config{Seeds: 20, SeedsShort: 20, Faults: sim.Faults{Crash: 1, PowerFail: 1}}.Cluster(t, func(ctx context.Context, w *sim.World) {
		boots, ends := 0, 0
		h := w.Host("a", func(ctx context.Context) error {
			boots++
			return rondo.WaitCanceled(ctx)
		})
		crashed := w.Host("crashed", rondo.WaitCanceled)
		w.Host("short", func(context.Context) error { ends++; return nil }).Spare()
		_ = rondo.Sleep(ctx, 10*time.Second)
		h.PowerFail()
		w.Calm()
		crashed.Crash()
		_ = rondo.Sleep(ctx, time.Second)
		before := boots
		_ = rondo.Sleep(ctx, time.Minute)
		if crashed.Up() {
			t.Error("a host that the test has crashed after Calm was restarted")
		}
		if !h.Up() || boots != before || ends != 1 {
			t.Errorf("a is up: %v; after Calm it began %d times; short ran %d times", h.Up(), boots-before, ends)
		}
	})
}

// TestCrashEndsBusyPrograms crashes a program that ignores that its waits fail.
func TestCrashEndsBusyPrograms(t *testing.T) {
	sim.Config{Seeds: 20}.Cluster(t, func(ctx context.Context, w *sim.World) {
		boots := 0
		h := w.Host("a", func(ctx context.Context) error {
			boots++
			for boots < 10 {
				_ = rondo.Sleep(ctx, time.Millisecond)
			}
			return nil
		})
		for want := 1; want <= 2; want++ {
			if err := w.Eventually(ctx, time.Minute, func() bool { return boots == want }); err != nil {
				t.Error(err)
			}
			h.Crash()
			_ = rondo.Sleep(ctx, time.Second)
			h.Restart()
		}
	})
}
