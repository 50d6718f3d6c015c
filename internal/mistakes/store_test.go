package mistakes

// Mistakes of hosts that store things together.

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

var stores = []mistake{
	{name: "10 a retry writes twice", budget: 600, config: sim.Config{Network: sim.Network{PacketLoss: 0.01}}, cluster: func(ctx context.Context, w *sim.World, fixed bool) {
		n, done := 0, map[string]bool{}
		w.Host("server", func(ctx context.Context) error {
			return serveLines(ctx, ":1", func(ctx context.Context, line string) string {
				if !fixed || !done[line] {
					n++
				}
				done[line] = true
				return "ok"
			})
		})
		persist(ctx, "server:1", 5*time.Second, "0")
		for i := range 3 {
			persist(ctx, "server:1", 400*ms, strconv.Itoa(i+1))
		}
		sim.Always(ctx, n <= 4, "each request counts once")
	}},
	{name: "11 stale read of a follower", budget: 50, config: sim.Config{Faults: sim.Faults{Partition: 1}}, cluster: func(ctx context.Context, w *sim.World, fixed bool) {
		values := make([]int, 3)
		for i := range 3 {
			w.Host(fmt.Sprint("r", i), func(ctx context.Context) error {
				return serveLines(ctx, ":1", func(ctx context.Context, line string) string {
					what, arg, _ := strings.Cut(line, " ")
					v, _ := strconv.Atoi(arg)
					switch what {
					case "copy":
						values[i] = max(values[i], v)
					case "put":
						values[i] = max(values[i], v)
						for j := range 3 {
							if j != i {
								send := func(ctx context.Context) error {
									persist(ctx, fmt.Sprint("r", j, ":1"), 200*ms, fmt.Sprint("copy ", v))
									return nil
								}
								if fixed {
									_ = send(ctx)
								} else {
									rondo.Go(ctx, send)
								}
							}
						}
					case "get":
						return strconv.Itoa(values[i])
					}
					return "ok"
				})
			})
		}
		acked := 0
		for i := range 10 {
			if _, err := ask(ctx, "r0:1", time.Second, fmt.Sprint("put ", i)); err == nil {
				acked = i
			}
			napping(ctx, 300*ms)
			if got, err := ask(ctx, fmt.Sprint("r", sim.Choose(ctx, 3), ":1"), time.Second, "get"); err == nil {
				v, _ := strconv.Atoi(got)
				sim.Always(ctx, v >= acked, "what was confirmed is read")
			}
		}
	}},
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
	{name: "17 quorums that do not overlap", budget: 100, config: sim.Config{Faults: sim.Faults{Partition: 1, Crash: 0.5}}, cluster: func(ctx context.Context, w *sim.World, fixed bool) {
		for i := range 3 {
			w.Host(fmt.Sprint("r", i), func(ctx context.Context) error {
				v, err := readFile(ctx, "v")
				must(err)
				return serveLines(ctx, ":1", func(ctx context.Context, line string) string {
					if n, err := strconv.Atoi(line); err == nil && n > v {
						v = n
						must(writeFile(ctx, "v", v))
					}
					return strconv.Itoa(v)
				})
			})
		}
		quorum := func(ctx context.Context, need int, line string) (best int, err error) {
			got := 0
			var enough rondo.Event
			for i := range 3 {
				rondo.Go(ctx, func(ctx context.Context) error {
					if reply, err := ask(ctx, fmt.Sprint("r", i, ":1"), 500*ms, line); err == nil {
						v, _ := strconv.Atoi(reply)
						best = max(best, v)
						if got++; got >= need {
							enough.Set()
						}
					}
					return nil
				})
			}
			err = rondo.Timeout(ctx, 500*ms, enough.Wait)
			return best, err
		}
		reads := 1
		if fixed {
			reads = 2
		}
		acked := 0
		for i := 1; i <= 10; i++ {
			if _, err := quorum(ctx, 2, strconv.Itoa(i)); err == nil {
				acked = i
			}
			napping(ctx, 200*ms)
			if v, err := quorum(ctx, reads, "read"); err == nil {
				sim.Always(ctx, v >= acked, "what was confirmed is read")
			}
		}
	}},
	{name: "21 split votes for ever", budget: 50, config: sim.Config{}, cluster: func(ctx context.Context, w *sim.World, fixed bool) {
		const nodes = 3
		leaders := 0
		for i := range nodes {
			w.Host(fmt.Sprint("n", i), func(ctx context.Context) error {
				term, voted, leader := 0, false, false
				rondo.Go(ctx, func(ctx context.Context) error {
					for !leader {
						wait := 150 * ms
						if fixed {
							wait += time.Duration(sim.Rand(ctx).IntN(1500)) * ms
						}
						if err := rondo.Sleep(ctx, wait); err != nil {
							return err
						}
						if leaders > 0 {
							return nil
						}
						term, voted = term+1, true
						votes, now := 1, term
						for j := range nodes {
							if j != i {
								rondo.Go(ctx, func(ctx context.Context) error {
									if r, _ := ask(ctx, fmt.Sprint("n", j, ":1"), 100*ms, strconv.Itoa(now)); r == "yes" && term == now {
										if votes++; votes > nodes/2 && !leader {
											leader = true
											leaders++
										}
									}
									return nil
								})
							}
						}
					}
					return nil
				})
				return serveLines(ctx, ":1", func(ctx context.Context, line string) string {
					t, _ := strconv.Atoi(line)
					if t > term {
						term, voted = t, false
					}
					if t == term && !voted {
						voted = true
						return "yes"
					}
					return "no"
				})
			})
		}
		w.Calm()
		sim.Always(ctx, w.Eventually(ctx, 30*time.Second, func() bool { return leaders > 0 }) == nil, "a leader is elected")
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
			return serveLines(ctx, ":1", func(ctx context.Context, line string) string {
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
