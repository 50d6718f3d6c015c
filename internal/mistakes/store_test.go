package mistakes

// Mistakes of hosts that store things together.

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

var stores = []mistake{
	{name: "13 acknowledged before fsync", budget: 400, config: sim.Config{Faults: sim.Faults{PowerFail: 1}}, cluster: logged(func(ctx context.Context, f sim.File, fixed bool) string {
		if fixed {
			must(f.Sync())
			return "ok"
		}
		rondo.Go(ctx, func(ctx context.Context) error { _ = f.Sync(); return nil })
		return "ok"
	})},
	{name: "14 commit not ordered after data", budget: 100, config: sim.Config{Faults: sim.Faults{PowerFail: 1}}, cluster: func(ctx context.Context, w *sim.World, fixed bool) {
		torn := ""
		w.Host("db", func(ctx context.Context) error {
			f, err := sim.Disk(ctx).OpenFile("db", os.O_RDWR|os.O_CREATE, 0o600)
			must(err)
			must(sim.Disk(ctx).SyncDir("."))
			one := make([]byte, 1)
			if n, _ := f.ReadAt(one, 0); n == 1 && one[0] > 0 {
				record := make([]byte, 1)
				if n, _ := f.ReadAt(record, int64(one[0])*512); n != 1 || record[0] != one[0] {
					torn = fmt.Sprintf("record %d is %d", one[0], record[0])
				}
			}
			for i := one[0] + 1; i < 100; i++ {
				_, err := f.WriteAt([]byte{i}, int64(i)*512)
				must(err)
				if fixed {
					must(f.Sync())
				}
				_, err = f.WriteAt([]byte{i}, 0)
				must(err)
				must(f.Sync())
				if err := rondo.Sleep(ctx, 20*ms); err != nil {
					return err
				}
			}
			return nil
		})
		_ = rondo.Sleep(ctx, 5*time.Second)
		w.Calm()
		_ = rondo.Sleep(ctx, 5*time.Second)
		sim.Always(ctx, torn == "", "what is committed is there")
	}},
}

// logged is a server that writes each request to a log and confirms it. What was
// confirmed must be in the log in the end.
func logged(sync func(ctx context.Context, f sim.File, fixed bool) (reply string)) func(ctx context.Context, w *sim.World, fixed bool) {
	return func(ctx context.Context, w *sim.World, fixed bool) {
		have := map[string]bool{}
		booted := 0
		server := w.Host("server", func(ctx context.Context) error {
			var f sim.File
			var text []byte
			for {
				var err error
				if f, err = sim.Disk(ctx).OpenFile("log", os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600); err == nil {
					if text, err = io.ReadAll(f); err == nil {
						if err = sim.Disk(ctx).SyncDir("."); err == nil {
							break
						}
					}
				}
				if err := rondo.Sleep(ctx, 100*ms); err != nil {
					return err
				}
			}
			clear(have)
			for _, line := range strings.Split(string(text), "\n") {
				have[line] = true
			}
			booted++
			return serveLines(ctx, func(ctx context.Context, line string) string {
				if _, err := io.WriteString(f, "\n"+line+"\n"); err != nil {
					return ""
				}
				return sync(ctx, f, fixed)
			})
		})
		var confirmed []string
		for i := range 20 {
			if reply, err := ask(ctx, "server:1", time.Second, fmt.Sprint("record ", i)); err == nil && reply == "ok" {
				confirmed = append(confirmed, fmt.Sprint("record ", i))
			}
			napping(ctx, 100*ms)
		}
		w.Calm()
		_ = rondo.Sleep(ctx, 10*time.Second)
		before := booted
		server.Restart()
		_ = w.Eventually(ctx, time.Minute, func() bool { return booted > before })
		for _, c := range confirmed {
			sim.Always(ctx, have[c], "what was confirmed is in the log")
		}
	}
}
