package mistakes

// Mistakes that show only when the network is cut, a clock is wrong, a host pauses, or
// half of a message arrives.

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// dial tries until there is a connection.
func dial(ctx context.Context, address string) net.Conn {
	for {
		if c, err := socket.Dial(ctx, "tcp", address); err == nil {
			return c
		}
		if rondo.Sleep(ctx, 50*ms) != nil {
			return nil
		}
	}
}

var clusters = []mistake{
	{name: "22 half a header", budget: 500, cluster: func(ctx context.Context, w *sim.World, fixed bool) {
		w.Host("server", func(ctx context.Context) error {
			return serve(ctx, func(ctx context.Context, c net.Conn) error {
				for {
					var head [4]byte
					var err error
					if fixed {
						_, err = io.ReadFull(c, head[:])
					} else {
						_, err = c.Read(head[:])
					}
					if err != nil {
						return err
					}
					body := make([]byte, binary.BigEndian.Uint32(head[:])&0xffff)
					if _, err := io.ReadFull(c, body); err != nil {
						return err
					}
					if _, err := c.Write(body[:1]); err != nil {
						return err
					}
				}
			})
		})
		c := dial(ctx, "server:1")
		for i := range 10 {
			message := append(binary.BigEndian.AppendUint32(nil, 100), make([]byte, 100)...)
			message[4] = byte(i)
			_, _ = c.Write(message)
			var got [1]byte
			err := rondo.Timeout(ctx, time.Minute, func(ctx context.Context) error {
				_ = c.SetReadDeadline(rondo.Now(ctx).Add(time.Minute))
				_, err := io.ReadFull(c, got[:])
				return err
			})
			sim.Always(ctx, err == nil && got[0] == byte(i), "each message is answered")
		}
	}},
	{name: "24 lease by the wall clock", budget: 2000, config: sim.Config{Exact: true, Faults: sim.Faults{ClockSkew: 1}}, cluster: func(ctx context.Context, w *sim.World, fixed bool) {
		// The leader compares the end of its lease with its own clock. It should count
		// from before it asked.
		both := false
		leads := map[string]bool{}
		ticking := func(ctx context.Context) *int {
			ticks := new(int)
			rondo.Go(ctx, func(ctx context.Context) error {
				for rondo.Sleep(ctx, 10*ms) == nil {
					*ticks++
				}
				return nil
			})
			return ticks
		}
		w.Host("arbiter", func(ctx context.Context) error {
			ticks, holder, until := ticking(ctx), "", 0
			return serveLines(ctx, func(ctx context.Context, who string) string {
				if holder != who && *ticks < until {
					return "no"
				}
				holder, until = who, *ticks+200
				return strconv.FormatInt(rondo.Now(ctx).Add(2*time.Second).UnixNano(), 10)
			})
		})
		for _, name := range []string{"a", "b"} {
			w.Host(name, func(ctx context.Context) error {
				ticks := ticking(ctx)
				for {
					asked := *ticks
					reply, err := ask(ctx, "arbiter:1", time.Second, name)
					if err == nil && reply != "no" {
						nanos, _ := strconv.ParseInt(reply, 10, 64)
						for fixed && *ticks < asked+150 || !fixed && rondo.Now(ctx).Before(time.Unix(0, nanos-5e8)) {
							leads[name] = true
							both = both || leads["a"] && leads["b"]
							if err := rondo.Sleep(ctx, 100*ms); err != nil {
								return err
							}
						}
						leads[name] = false
					}
					if err := rondo.Sleep(ctx, time.Duration(sim.Choose(ctx, 10)+1)*100*ms); err != nil {
						return err
					}
				}
			})
		}
		_ = rondo.Sleep(ctx, 20*time.Second)
		sim.Always(ctx, !both, "one leads")
	}},
	{name: "25 what was done is forgotten", budget: 2000, config: sim.Config{Faults: sim.Faults{Crash: 1}}, cluster: func(ctx context.Context, w *sim.World, fixed bool) {
		w.Host("bank", func(ctx context.Context) error {
			done := map[string]bool{}
			return serveLines(ctx, func(ctx context.Context, line string) string {
				if line == "read" {
					v, err := readFile(ctx, "balance")
					must(err)
					return strconv.Itoa(v % 1000)
				}
				v, err := readFile(ctx, "balance")
				must(err)
				n, _ := strconv.Atoi(line)
				if fixed && v/1000 >= n || !fixed && done[line] {
					return "ok"
				}
				v = v%1000 + 1
				if fixed {
					v += n * 1000
				}
				must(writeFile(ctx, "balance", v))
				done[line] = true
				return "ok"
			})
		})
		for i := range 10 {
			persist(ctx, "bank:1", 500*ms, strconv.Itoa(i+1))
			napping(ctx, 300*ms)
		}
		w.Calm()
		sim.Always(ctx, persist(ctx, "bank:1", 5*time.Second, "read") == "10", "each request is done once")
	}},
	{name: "29 a paused leader answers", heavy: true, budget: 2000, config: sim.Config{Faults: sim.Faults{Pause: 1}}, cluster: func(ctx context.Context, w *sim.World, fixed bool) {
		// A timer ends the leader's lease. After a pause a request may come before it.
		value, epoch := 0, 0
		for i := range 2 {
			w.Host(fmt.Sprint("n", i), func(ctx context.Context) error {
				var until time.Time
				leads, have, terms := false, 0, 0
				rondo.Go(ctx, func(ctx context.Context) error {
					for {
						asked := rondo.Now(ctx)
						if reply, err := ask(ctx, "arbiter:1", 500*ms, fmt.Sprint(i)); err == nil && reply == strconv.Itoa(epoch) {
							until, leads, have = asked.Add(600*ms), true, value
							terms++
							term := terms
							rondo.Go(ctx, func(ctx context.Context) error {
								if err := rondo.SleepUntil(ctx, until); err == nil && term == terms {
									leads = false
								}
								return nil
							})
						}
						if err := rondo.Sleep(ctx, 100*ms); err != nil {
							return err
						}
					}
				})
				return serveLines(ctx, func(ctx context.Context, line string) string {
					if !leads || fixed && rondo.Now(ctx).After(until) {
						return "no"
					}
					if line == "get" {
						return strconv.Itoa(have)
					}
					value++
					have = value
					return strconv.Itoa(have)
				})
			})
		}
		w.Host("arbiter", func(ctx context.Context) error {
			holder, until := "", time.Time{}
			return serveLines(ctx, func(ctx context.Context, who string) string {
				if who != holder {
					if rondo.Now(ctx).Before(until) {
						return "no"
					}
					holder = who
					epoch++
				}
				until = rondo.Now(ctx).Add(time.Second)
				return strconv.Itoa(epoch)
			})
		})
		last := 0
		client := func(ctx context.Context) error {
			for range 20 {
				to := fmt.Sprint("n", sim.Choose(ctx, 2), ":1")
				what := "get"
				if sim.Choose(ctx, 2) == 0 {
					what = "put"
				}
				before := last
				if reply, err := ask(ctx, to, 5*time.Second, what); err == nil && reply != "no" {
					v, _ := strconv.Atoi(reply)
					sim.Always(ctx, v >= before, "what was written is read")
					last = max(last, v)
				}
				napping(ctx, 200*ms)
			}
			return nil
		}
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			for range 3 {
				g.Go(client)
			}
			return client(g)
		})
	}},
	{name: "32 a Sync that failed is tried again", budget: 2000, config: sim.Config{Faults: sim.Faults{Disk: 2, PowerFail: 0.5}}, cluster: logged(func(ctx context.Context, f sim.File, fixed bool) string {
		for f.Sync() != nil {
			if fixed {
				return ""
			}
			if rondo.Sleep(ctx, 100*ms) != nil {
				return ""
			}
		}
		return "ok"
	})},
}
