package mistakes

// Mistakes that show only when the network is cut, a clock is wrong, a host pauses, or
// half of a message arrives.

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// serve accepts connections at :1 for a handler.
func serve(ctx context.Context, handle func(ctx context.Context, c net.Conn) error) error {
	l, err := socket.Listen(ctx, "tcp", ":1")
	if err != nil {
		return err
	}
	return socket.Serve(ctx, l, func(ctx context.Context, c net.Conn) error {
		_ = handle(ctx, c)
		return nil
	})
}

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
	{name: "23 both write first", budget: 50, cluster: func(ctx context.Context, w *sim.World, fixed bool) {
		talk := func(ctx context.Context, c net.Conn) error {
			send := func(ctx context.Context) error { _, err := c.Write(make([]byte, 1<<20)); return err }
			if !fixed {
				if err := send(ctx); err != nil {
					return err
				}
				_, err := io.ReadFull(c, make([]byte, 1<<20))
				return err
			}
			sending := rondo.Go(ctx, send)
			if _, err := io.ReadFull(c, make([]byte, 1<<20)); err != nil {
				return err
			}
			return sending.Wait(ctx)
		}
		w.Host("server", func(ctx context.Context) error { return serve(ctx, talk) })
		c := dial(ctx, "server:1")
		sim.Always(ctx, rondo.Timeout(ctx, time.Hour, func(ctx context.Context) error { return talk(ctx, c) }) == nil, "both get all")
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
			return serveLines(ctx, ":1", func(ctx context.Context, who string) string {
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
			return serveLines(ctx, ":1", func(ctx context.Context, line string) string {
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
	{name: "26 a leader that hears nobody", budget: 50, cluster: func(ctx context.Context, w *sim.World, fixed bool) {
		// A leader whose heartbeats arrive, and to which nobody can answer, leads for ever.
		leader, heard := 0, [2]time.Time{}
		cut, taken := false, false
		var hosts []*sim.Host
		for i := range 2 {
			hosts = append(hosts, w.Host(fmt.Sprint("n", i), func(ctx context.Context) error {
				l, err := socket.ListenPacket(ctx, "udp", ":1")
				if err != nil {
					return err
				}
				heard[i] = rondo.Now(ctx)
				acked := rondo.Now(ctx)
				rondo.Go(ctx, func(ctx context.Context) error {
					for {
						if err := rondo.Sleep(ctx, 100*ms); err != nil {
							return err
						}
						peer, _ := net.ResolveUDPAddr("udp", fmt.Sprint(hosts[1-i].Addr(), ":1"))
						switch {
						case leader == i:
							if fixed && rondo.Now(ctx).Sub(acked) > 2*time.Second {
								continue // it steps down: it says nothing
							}
							_, _ = l.WriteTo([]byte("beat"), peer)
						case rondo.Now(ctx).Sub(heard[i]) > time.Second:
							leader = i
							taken = taken || cut
							acked = rondo.Now(ctx)
						}
					}
				})
				b := make([]byte, 10)
				for {
					n, from, err := l.ReadFrom(b)
					if err != nil {
						return err
					}
					if string(b[:n]) == "beat" {
						heard[i] = rondo.Now(ctx)
						_, _ = l.WriteTo([]byte("ack"), from)
					} else {
						acked = rondo.Now(ctx)
					}
				}
			}))
		}
		_ = rondo.Sleep(ctx, 2*time.Second)
		w.Calm()
		leader, cut = 0, true
		w.Cut(hosts[1], hosts[0])
		_ = rondo.Sleep(ctx, 30*time.Second)
		sim.Always(ctx, taken, "the other takes over")
	}},
	{name: "27 dial without a limit", budget: 50, cluster: func(ctx context.Context, w *sim.World, fixed bool) {
		var servers []*sim.Host
		for i := range 2 {
			servers = append(servers, w.Host(fmt.Sprint("server", i), func(ctx context.Context) error {
				return serveLines(ctx, ":1", func(ctx context.Context, line string) string { return line })
			}))
		}
		_ = rondo.Sleep(ctx, time.Duration(sim.Choose(ctx, 100))*ms)
		servers[0].PowerFail()
		patience := time.Hour
		if fixed {
			patience = 5 * time.Second
		}
		start := rondo.Now(ctx)
		for i := 0; ; i++ {
			if _, err := ask(ctx, fmt.Sprint("server", i%2, ":1"), patience, "x"); err == nil {
				break
			}
		}
		sim.Always(ctx, rondo.Now(ctx).Sub(start) < time.Minute, "the other server is asked")
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
				return serveLines(ctx, ":1", func(ctx context.Context, line string) string {
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
			return serveLines(ctx, ":1", func(ctx context.Context, who string) string {
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
	{name: "30 the end of the request is no error", budget: 50, cluster: func(ctx context.Context, w *sim.World, fixed bool) {
		w.Host("server", func(ctx context.Context) error {
			return serve(ctx, func(ctx context.Context, c net.Conn) error {
				in := bufio.NewReader(c)
				for {
					line, err := in.ReadString('\n')
					if errors.Is(err, io.EOF) {
						if fixed {
							_, err = io.WriteString(c, "end\n")
						}
						return err
					}
					if err != nil {
						return err
					}
					if _, err := io.WriteString(c, line); err != nil {
						return err
					}
				}
			})
		})
		c := dial(ctx, "server:1")
		_, _ = io.WriteString(c, "a\n")
		_ = c.(interface{ CloseWrite() error }).CloseWrite()
		all, err := io.ReadAll(c)
		sim.Always(ctx, err == nil && strings.HasSuffix(string(all), "end\n"), "all of the answer comes")
	}},
	{name: "31 numbers used again after a restart", budget: 500, config: sim.Config{Faults: sim.Faults{Crash: 1}}, cluster: func(ctx context.Context, w *sim.World, fixed bool) {
		stored := map[string]bool{}
		answers := map[string]string{}
		w.Host("server", func(ctx context.Context) error {
			return serveLines(ctx, ":1", func(ctx context.Context, line string) string {
				id, value, _ := strings.Cut(line, " ")
				if answers[id] == "" {
					stored[value] = true
					answers[id] = "ok"
				}
				return answers[id]
			})
		})
		acked, life := []string{}, 0
		w.Host("client", func(ctx context.Context) error {
			life++
			prefix := "0."
			if fixed {
				prefix = fmt.Sprint(life, ".")
			}
			mine := life
			for i := range 20 {
				value := fmt.Sprint(mine, "-", i)
				if persist(ctx, "server:1", time.Second, fmt.Sprint(prefix, i, " ", value)) == "ok" && life == mine {
					acked = append(acked, value)
				}
				if err := rondo.Sleep(ctx, 100*ms); err != nil {
					return err
				}
			}
			return nil
		})
		_ = rondo.Sleep(ctx, 20*time.Second)
		for _, v := range acked {
			sim.Always(ctx, stored[v], "what was confirmed is stored")
		}
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
	{name: "33 all come back at once", budget: 50, cluster: func(ctx context.Context, w *sim.World, fixed bool) {
		// A server that has too much to do answers nobody.
		w.Host("server", func(ctx context.Context) error {
			inside, failures := 0, 0
			return serveLines(ctx, ":1", func(ctx context.Context, line string) string {
				at := failures
				if inside++; inside > 6 {
					failures++
				}
				_ = rondo.Sleep(ctx, 20*ms)
				if inside--; at != failures {
					return ""
				}
				return "ok"
			})
		})
		done := 0
		for i := range 20 {
			w.Host(fmt.Sprint("c", i), func(ctx context.Context) error {
				for {
					if reply, _ := ask(ctx, "server:1", 2*time.Second, "x"); reply == "ok" {
						done++
						return nil
					}
					pause := time.Second
					if fixed {
						pause = time.Duration(1+sim.Choose(ctx, 4000)) * ms
					}
					if err := rondo.Sleep(ctx, pause); err != nil {
						return err
					}
				}
			})
		}
		w.Calm()
		sim.Always(ctx, w.Eventually(ctx, 2*time.Minute, func() bool { return done == 20 }) == nil, "all are served")
	}},
	// The search ends after 500 runs, in the middle of the many messages that are late.
	{name: "34 votes twice", budget: 2000, left: 30, config: sim.Config{Faults: sim.Faults{Crash: 2}}, cluster: func(ctx context.Context, w *sim.World, fixed bool) {
		leaders := map[int]string{}
		both := false
		for i := range 3 {
			name := fmt.Sprint("n", i)
			w.Host(name, func(ctx context.Context) error {
				voted := 0
				if fixed {
					v, err := readFile(ctx, "voted")
					must(err)
					voted = v
				}
				vote := func(ctx context.Context, term int) bool {
					if term <= voted {
						return false
					}
					voted = term
					if fixed {
						must(writeFile(ctx, "voted", term))
					}
					return true
				}
				rondo.Go(ctx, func(ctx context.Context) error {
					for {
						if err := rondo.Sleep(ctx, time.Duration(100+sim.Choose(ctx, 400))*ms); err != nil {
							return err
						}
						term, votes := len(leaders)+1, 0
						if vote(ctx, term) {
							votes++
						}
						for j := range 3 {
							if j != i {
								if r, _ := ask(ctx, fmt.Sprint("n", j, ":1"), 300*ms, strconv.Itoa(term)); r == "yes" {
									votes++
								}
							}
						}
						if votes >= 2 && rondo.Check(ctx) == nil {
							both = both || leaders[term] != "" && leaders[term] != name
							leaders[term] = name
						}
					}
				})
				return serveLines(ctx, ":1", func(ctx context.Context, line string) string {
					term, _ := strconv.Atoi(line)
					if vote(ctx, term) {
						return "yes"
					}
					return "no"
				})
			})
		}
		_ = rondo.Sleep(ctx, 10*time.Second)
		sim.Always(ctx, !both, "one leads in a term")
	}},
}
