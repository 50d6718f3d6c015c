package sim_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// TestSignalsThatDoNothing sends a program signals that it does not catch.
func TestSignalsThatDoNothing(t *testing.T) {
	one().Cluster(t, func(ctx context.Context, w *sim.World) {
		h := w.Host("a", rondo.WaitCanceled)
		_ = rondo.Sleep(ctx, time.Second)
		for _, s := range sim.Ignored {
			if h.Signal(s); !h.Up() {
				t.Errorf("%v has ended the program", s)
			}
		}
		if h.Signal(syscall.SIGTERM); h.Up() {
			t.Error("a signal that nobody catches has not ended the program")
		}
	})
}

// TestReadDirFolders lists what is below a folder.
func TestReadDirFolders(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		d := sim.Disk(ctx)
		for _, name := range []string{"/data/wal/1", "/data/wal/2", "/data/x", "/y", "z/1", "zz"} {
			if f, err := d.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600); err != nil || f.Close() != nil {
				t.Fatal(err)
			}
		}
		for dir, want := range map[string]string{
			"/": "[data/ y]", "/data": "[wal/ x]", "/data/wal/": "[1 2]", ".": "[z/ zz]", "z": "[1]", "/da": "[]",
		} {
			entries, err := d.ReadDir(dir)
			names := []string{}
			for _, e := range entries {
				info, err := e.Info()
				if err != nil || info.IsDir() != e.IsDir() || info.Name() != e.Name() {
					t.Error(info, err)
				}
				names = append(names, e.Name()+strings.Repeat("/", map[bool]int{true: 1}[e.IsDir()]))
			}
			if got := fmt.Sprint(names); err != nil || got != want {
				t.Errorf("%s has %s, %v; want %s", dir, got, err, want)
			}
		}
	})
}

// TestDeadHostsChangeNothing has the deferred call of a program that was killed change
// the network and add an invariant.
func TestDeadHostsChangeNothing(t *testing.T) {
	one().Cluster(t, func(ctx context.Context, w *sim.World) {
		var h *sim.Host
		h = w.Host("a", func(ctx context.Context) error {
			defer func() {
				w.Link(h, sim.HostOf(ctx)).SetLatency(time.Hour)
				w.Link(h, h).SetLoss(1)
				w.Invariant("none", func() error { return fmt.Errorf("it was asked") })
			}()
			return rondo.WaitCanceled(ctx)
		})
		_ = rondo.Sleep(ctx, time.Second)
		h.Crash()
		_ = rondo.Sleep(ctx, time.Second)
	})
}

// TestHangs has a body that waits for what does not come, although faults strike, or
// another host is busy.
func TestHangs(t *testing.T) {
	wait := func(ctx context.Context, w *sim.World) { _, _ = rondo.NewFuture[int](ctx).Wait(ctx) }
	text := failing(t, func(t *tester) {
		sim.Config{Seeds: 40, Faults: sim.Faults{Partition: 1}}.Cluster(t, func(ctx context.Context, w *sim.World) {
			for _, name := range []string{"a", "b"} {
				w.Host(name, rondo.WaitCanceled)
			}
			_ = rondo.Sleep(ctx, time.Second)
			for range 40 {
				_ = rondo.Sleep(ctx, time.Second)
			}
			if !w.Quiet() {
				wait(ctx, w)
			}
		})
	})
	contains(t, text, "deadlock: nothing can run on any host, and nothing but faults will happen:", "test: main is waiting for future", "a: main is waiting for cancellation")
	text = failing(t, func(t *tester) {
		sim.Cluster(t, func(ctx context.Context, w *sim.World) {
			w.Host("busy", func(ctx context.Context) error {
				for rondo.Sleep(ctx, time.Second) == nil {
				}
				return nil
			})
			wait(ctx, w)
		})
	})
	contains(t, text, "hang: the test has waited for 1h0m0s of virtual time", "test: main is waiting for future", "busy: main is waiting for sleep")
}

// TestNilBodies has a sentence for each body that is nil.
func TestNilBodies(t *testing.T) {
	for want, call := range map[string]func(){
		"sim: Test with a nil function":    func() { sim.Test(t, nil) },
		"sim: Explore with a nil function": func() { sim.Explore(t, nil) },
		"sim: Cluster with a nil function": func() { sim.Cluster(t, nil) },
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, want) {
					t.Errorf("%q, want %q", got, want)
				}
			}()
			call()
		}()
	}
	clusterFails(t, func(t *tester, ctx context.Context, w *sim.World) { w.Host("a", nil) }, `sim: World.Host("a") with a nil boot function`)
}
