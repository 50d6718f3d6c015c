package sim_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// saveText stores a text so that a power failure leaves either the old one or the new one.
func saveText(disk sim.FS, text string) error {
	f, err := disk.OpenFile("state.new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := disk.Rename("state.new", "state"); err != nil {
		return err
	}
	return disk.SyncDir(".")
}

// loadText returns what was stored last, or "".
func loadText(disk sim.FS) (string, error) {
	f, err := disk.OpenFile("state", os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	text, err := io.ReadAll(f)
	return string(text), errors.Join(err, f.Close())
}

// A host counts on its disk, while it crashes, loses power and stands still some times in 10
// seconds, as the seed says. What it has confirmed is never lost.
func ExampleFaults() {
	TestCount := func(t *testing.T) {
		c := sim.Config{Seeds: 20, Faults: sim.Faults{Crash: 0.3, PowerFail: 0.3, Pause: 0.2}}
		c.Cluster(t, func(ctx context.Context, w *sim.World) {
			confirmed := 0
			w.Host("counter", func(ctx context.Context) error {
				for {
					text, err := loadText(sim.Disk(ctx))
					if err != nil {
						return err
					}
					n, _ := strconv.Atoi(text)
					if n < confirmed {
						t.Errorf("%d was confirmed, and the disk has %d", confirmed, n)
					}
					if err := saveText(sim.Disk(ctx), strconv.Itoa(n+1)); err != nil {
						return err
					}
					confirmed = n + 1
					if err := rondo.Sleep(ctx, 100*time.Millisecond); err != nil {
						return err
					}
				}
			})
			_ = rondo.Sleep(ctx, 10*time.Second)
			w.Calm() // and then it must go on
			before := confirmed
			if err := w.Eventually(ctx, time.Minute, func() bool { return confirmed > before }); err != nil {
				t.Error(err)
			}
		})
	}
	fmt.Println(passes("TestCount", TestCount))
	// Output: true
}

// What a host has synced is on its disk in the end, whatever a seed does to it, and the test
// looks at that disk.
func ExampleDefaultFaults() {
	TestCount := func(t *testing.T) {
		faults := sim.DefaultFaults()
		faults.Disk = 0 // the program ends when its disk fails
		faults.Longest.Down = time.Second
		sim.Config{Seeds: 20, Faults: faults}.Cluster(t, func(ctx context.Context, w *sim.World) {
			h := w.Host("counter", func(ctx context.Context) error {
				return errors.Join(saveText(sim.Disk(ctx), "1"), rondo.Sleep(ctx, time.Hour))
			})
			_ = rondo.Sleep(ctx, 10*time.Second)
			w.Calm()
			err := w.Eventually(ctx, time.Minute, func() bool {
				text, err := h.Disk().Durable(h.Disk().Files()[0])
				return err == nil && string(text) == "1"
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	fmt.Println(passes("TestCount", TestCount))
	// Output: true
}
