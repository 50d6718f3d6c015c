package sim_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// A test in two parts: faults strike while work is done, and then it demands progress.
func ExampleWorld() {
	TestProgress := func(t *testing.T) {
		c := sim.Config{Seeds: 20, Faults: sim.Faults{Crash: 1, Pause: 1}}
		c.Cluster(t, func(ctx context.Context, w *sim.World) {
			done := 0
			w.Host("worker", func(ctx context.Context) error {
				for {
					if err := rondo.Sleep(ctx, 100*time.Millisecond); err != nil {
						return err
					}
					done++
				}
			})
			_ = rondo.Sleep(ctx, 10*time.Second)
			w.Calm()
			before := done
			if err := w.Eventually(ctx, time.Minute, func() bool { return done > before+10 }); err != nil {
				t.Error(err)
			}
		})
	}
	fmt.Println(passes("TestProgress", TestProgress))
	// Output: true
}

// What is looked at after each event: here that two hosts never lead at once.
func ExampleWorld_Invariant() {
	TestOneLeads := func(t *testing.T) {
		sim.Cluster(t, func(ctx context.Context, w *sim.World) {
			leaders := map[string]bool{}
			w.Invariant("one leads", func() error {
				if len(leaders) > 1 {
					return errors.New("two lead")
				}
				return nil
			})
			w.Host("a", func(ctx context.Context) error {
				leaders["a"] = true
				return rondo.WaitCanceled(ctx)
			})
			_ = rondo.Sleep(ctx, time.Minute)
		})
	}
	fmt.Println(passes("TestOneLeads", TestOneLeads))
	// Output: true
}

// A Host loses power: what was not synced may be gone, and what was is there.
func ExampleHost() {
	TestPower := func(t *testing.T) {
		sim.Cluster(t, func(ctx context.Context, w *sim.World) {
			confirmed, found := false, false
			h := w.Host("db", func(ctx context.Context) error {
				d := sim.Disk(ctx)
				if f, err := d.OpenFile("log", os.O_RDONLY, 0); err == nil {
					text, err := io.ReadAll(f)
					found = string(text) == "record"
					return errors.Join(err, f.Close())
				}
				f, err := d.OpenFile("log", os.O_RDWR|os.O_CREATE, 0o600)
				if err != nil {
					return err
				}
				_, err = io.WriteString(f, "record")
				if err = errors.Join(err, f.Sync(), d.SyncDir(".")); err != nil {
					return err
				}
				confirmed = true
				return rondo.WaitCanceled(ctx)
			})
			_ = w.Eventually(ctx, time.Minute, func() bool { return confirmed })
			h.PowerFail()
			h.Restart()
			if err := w.Eventually(ctx, time.Minute, func() bool { return found }); err != nil {
				t.Error(err)
			}
		})
	}
	fmt.Println(passes("TestPower", TestPower))
	// Output: true
}

// A Link is changed in one direction.
func ExampleLink() {
	TestSlowLink := func(t *testing.T) {
		sim.Cluster(t, func(ctx context.Context, w *sim.World) {
			h := w.Host("far", rondo.WaitCanceled)
			w.Link(sim.HostOf(ctx), h).SetLatency(300 * time.Millisecond)
			w.Cut(h, sim.HostOf(ctx)) // nothing comes back
			_ = rondo.Sleep(ctx, time.Second)
			w.Heal()
		})
	}
	fmt.Println(passes("TestSlowLink", TestSlowLink))
	// Output: true
}

// A History has the numbers of the events at which operations began and ended, for a
// checker. One that timed out may have happened.
func ExampleHistory() {
	TestHistory := func(t *testing.T) {
		sim.Test(t, func(ctx context.Context) {
			var h sim.History[string, int]
			o := h.Begin(ctx, "read")
			_ = rondo.Yield(ctx) // it is asked
			o.End(7)
			h.Begin(ctx, "write").Unknown()
			for o := range h.All() {
				if o.Called >= o.Returned {
					t.Error("an operation ended before it began")
				}
			}
			if h.Len() != 2 {
				t.Error("there are", h.Len(), "operations")
			}
		})
	}
	fmt.Println(passes("TestHistory", TestHistory))
	// Output: true
}
