package mistakes

// Ten mistakes that databases have had, each in a small program under sim.DefaultFaults.
//
// A program without its mistake survives all of these faults: it waits until its disk is well
// again, and counts no time by a clock that may be set.

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// An answerer answers lines. An error ends the program, and "" the connection.
type answerer func(ctx context.Context, line string) (reply string, err error)

var errAgain = errors.New("the program has failed, and begins again")

// reliably serves the lines that open returns an answerer for. If that or open fails, as when the
// disk does, the program begins again.
func reliably(ctx context.Context, open func(ctx context.Context) (answerer, error)) error {
	for {
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			// What a Sync that failed has left is read and yet not certain.
			if err := sim.Disk(g).SyncDir("."); err != nil {
				return err
			}
			answer, err := open(g)
			if err != nil {
				return err
			}
			var failed rondo.Event
			g.Go(func(ctx context.Context) error {
				return serveLines(ctx, func(ctx context.Context, line string) string {
					if failed.IsSet() {
						return ""
					}
					reply, err := answer(ctx, line)
					if err != nil {
						failed.Set()
						return ""
					}
					return reply
				})
			})
			if err := failed.Wait(g); err != nil {
				return err
			}
			return errAgain
		})
		if err := rondo.Sleep(ctx, 200*ms); err != nil {
			return err
		}
	}
}

// A replica keeps the greatest number that it was sent: "put 5", and "get".
func replica(ctx context.Context) (answerer, error) {
	v, err := readFile(ctx, "v")
	return func(ctx context.Context, line string) (string, error) {
		if text, put := strings.CutPrefix(line, "put "); put {
			if n, _ := strconv.Atoi(text); n > v {
				if err := writeFile(ctx, "v", n); err != nil {
					return "", err
				}
				v = max(v, n)
			}
		}
		return strconv.Itoa(v), nil
	}, err
}

// majority sends a line to three replicas and returns the greatest number of the first two answers.
func majority(ctx context.Context, line string) (best int, err error) {
	got := 0
	var enough rondo.Event
	for i := range 3 {
		rondo.Go(ctx, func(ctx context.Context) error {
			reply, err := ask(ctx, fmt.Sprint("r", i, ":1"), 500*ms, line)
			if err == nil && got < 2 {
				v, _ := strconv.Atoi(reply)
				best = max(best, v)
				if got++; got == 2 {
					enough.Set()
				}
			}
			return nil
		})
	}
	err = rondo.Timeout(ctx, 600*ms, enough.Wait)
	return best, err
}

func writesBack(ctx context.Context, w *sim.World, fixed bool) {
	for i := range 3 {
		w.Host(fmt.Sprint("r", i), func(ctx context.Context) error { return reliably(ctx, replica) })
	}
	tasks(ctx, func(ctx context.Context) {
		for i := range 5 {
			_, _ = majority(ctx, fmt.Sprint("put ", i+1))
			napping(ctx, 300*ms)
		}
	}, func(ctx context.Context) {
		seen := 0
		for range 8 {
			v, err := majority(ctx, "get")
			if err == nil && fixed {
				_, err = majority(ctx, fmt.Sprint("put ", v))
			}
			if err == nil {
				sim.Always(ctx, v >= seen, "what was read is read again")
				seen = v
			}
			napping(ctx, 200*ms)
		}
	})
}

// twoPhases adds a number on two hosts or on none. A participant that has voted must be able to
// commit, whatever happens to it.
func twoPhases(ctx context.Context, w *sim.World, fixed bool) {
	for i := range 2 {
		w.Host(fmt.Sprint("p", i), func(ctx context.Context) error {
			return reliably(ctx, func(ctx context.Context) (answerer, error) {
				done, err := readFile(ctx, "done") // the last number, times 1000, and the sum
				if err != nil {
					return nil, err
				}
				prepared := 0
				if fixed {
					prepared, err = readFile(ctx, "prepared")
				}
				return func(ctx context.Context, line string) (string, error) {
					verb, text, _ := strings.Cut(line, " ")
					n, _ := strconv.Atoi(text)
					switch {
					case verb == "sum" || verb == "commit" && done/1000 >= n:
					case verb == "prepare" && n <= prepared: // it was on its way for long
					case verb == "prepare":
						if fixed {
							if err := writeFile(ctx, "prepared", n); err != nil {
								return "", err
							}
						}
						prepared = n
					case prepared == n:
						next := n*1000 + done%1000 + n
						if err := writeFile(ctx, "done", next); err != nil {
							return "", err
						}
						done = max(done, next)
					}
					return strconv.Itoa(done % 1000), nil
				}, err
			})
		})
	}
	want := 0
	for n := 1; n <= 5; n++ {
		votes := 0
		for i := range 2 {
			if _, err := ask(ctx, fmt.Sprint("p", i, ":1"), 500*ms, fmt.Sprint("prepare ", n)); err == nil {
				votes++
			}
		}
		napping(ctx, 300*ms)
		if votes == 2 {
			want += n
			for i := range 2 {
				persist(ctx, fmt.Sprint("p", i, ":1"), 500*ms, fmt.Sprint("commit ", n))
			}
		}
	}
	for i := range 2 {
		sum := persist(ctx, fmt.Sprint("p", i, ":1"), 500*ms, "sum")
		sim.Always(ctx, sum == strconv.Itoa(want), "what was committed is done by both")
	}
}

// leased has two hosts hold a lease in turn. The one that has it counts by its own clock, which
// runs at another rate than the arbiter's.
func leased(ctx context.Context, w *sim.World, fixed bool) {
	const lease = 10 * time.Second
	term := 0
	w.Host("arbiter", func(ctx context.Context) error {
		begun := rondo.Now(ctx) // before it was down it may have given a lease
		return serveLines(ctx, func(ctx context.Context, _ string) string {
			if left := lease - rondo.Now(ctx).Sub(begun); term > 0 && left > 0 {
				return fmt.Sprint("no ", int64(left))
			}
			begun = rondo.Now(ctx)
			term++
			return strconv.Itoa(term)
		})
	})
	for i := range 2 {
		w.Host(fmt.Sprint("n", i), func(ctx context.Context) error {
			for {
				asked := rondo.Now(ctx)
				reply, err := ask(ctx, "arbiter:1", time.Second, "lease")
				pause := 100 * ms
				if text, no := strings.CutPrefix(reply, "no "); err == nil && no {
					nanos, _ := strconv.ParseInt(text, 10, 64)
					pause = time.Duration(nanos)
				} else if err == nil {
					mine, _ := strconv.Atoi(reply)
					until := asked.Add(lease)
					if fixed {
						until = until.Add(-lease / 100)
					}
					_ = rondo.SleepUntil(ctx, until.Add(-10*ms))
					for rondo.Now(ctx).Before(until) {
						sim.Always(ctx, term == mine, "who has the lease has it alone")
						if err := rondo.Sleep(ctx, ms/2); err != nil {
							return err
						}
					}
				}
				if err := rondo.Sleep(ctx, max(pause, ms)); err != nil {
					return err
				}
			}
		})
	}
	_ = rondo.Sleep(ctx, 8*lease)
}

// chained has three hosts in a line. What the first one has may be lost as long as the last one
// does not have it.
func chained(ctx context.Context, w *sim.World, fixed bool) {
	for i := range 3 {
		w.Host(fmt.Sprint("r", i), func(ctx context.Context) error {
			return reliably(ctx, func(ctx context.Context) (answerer, error) {
				store, err := replica(ctx)
				return func(ctx context.Context, line string) (string, error) {
					if line == "get" && fixed && i < 2 {
						reply, err := ask(ctx, "r2:1", 500*ms, line)
						if err != nil {
							reply = "" // and this host is well
						}
						return reply, nil
					}
					reply, err := store(ctx, line)
					if err != nil || line == "get" || i == 2 {
						return reply, err
					}
					if _, err := ask(ctx, fmt.Sprint("r", i+1, ":1"), 500*ms, line); err != nil {
						return "", nil
					}
					return reply, nil
				}, err
			})
		})
	}
	tasks(ctx, func(ctx context.Context) {
		for i := range 6 {
			_, _ = ask(ctx, "r0:1", time.Second, fmt.Sprint("put ", i+1))
			napping(ctx, 300*ms)
		}
	}, func(ctx context.Context) {
		seen := 0
		for range 10 {
			if reply, err := ask(ctx, fmt.Sprint("r", sim.Choose(ctx, 3), ":1"), time.Second, "get"); err == nil {
				v, _ := strconv.Atoi(reply)
				sim.Always(ctx, v >= seen, "what was read is read again")
				seen = v
			}
			napping(ctx, 300*ms)
		}
	})
}

// recordSize is some sectors, so that one in the middle of a record may not be there.
const recordSize = 1500

// A record is a length, a sum, and as many bytes that are all the number of the record.
func record(n int) []byte {
	b := append(make([]byte, 6), strings.Repeat(string(rune(n)), recordSize)...)
	binary.BigEndian.PutUint16(b, recordSize)
	binary.BigEndian.PutUint32(b[2:], crc32.ChecksumIEEE(b[6:]))
	return b
}

// records returns how many records a log has, and where the next one goes. broken is one that was
// taken for whole.
func records(log []byte, sums bool) (n, end int, broken bool) {
	for len(log)-end >= 6+recordSize && binary.BigEndian.Uint16(log[end:]) == recordSize {
		one := log[end+6:][:recordSize]
		if sums && crc32.ChecksumIEEE(one) != binary.BigEndian.Uint32(log[end+2:]) {
			break
		}
		n++
		broken = broken || strings.Count(string(one), string(rune(n))) != recordSize
		end += 6 + recordSize
	}
	return n, end, broken
}

func summed(ctx context.Context, w *sim.World, fixed bool) {
	confirmed := 0
	server := w.Host("server", func(ctx context.Context) error {
		return reliably(ctx, func(ctx context.Context) (answerer, error) {
			f, err := sim.Disk(ctx).OpenFile("log", os.O_RDWR|os.O_CREATE, 0o600)
			if err != nil {
				return nil, err
			}
			log, err := io.ReadAll(f)
			if err != nil {
				return nil, err
			}
			n, end, broken := records(log, fixed)
			sim.Always(ctx, !broken, "a record is whole")
			sim.Always(ctx, n >= confirmed, "what was confirmed is there")
			_, err = f.WriteAt(log[:end], 0) // a Sync of it may have failed
			if err := errors.Join(err, f.Truncate(int64(end)), f.Sync(), sim.Disk(ctx).SyncDir(".")); err != nil {
				return nil, err
			}
			return func(ctx context.Context, _ string) (string, error) {
				at, one := int64(end), record(n+1)
				n, end = n+1, end+len(one)
				if _, err := f.WriteAt(one, at); err != nil {
					return "", err
				}
				if err := f.Sync(); err != nil {
					return "", err
				}
				return strconv.Itoa(n), nil
			}, nil
		})
	})
	for range 12 {
		if reply, err := ask(ctx, "server:1", 500*ms, "add"); err == nil {
			n, _ := strconv.Atoi(reply)
			confirmed = max(confirmed, n)
		}
		napping(ctx, 200*ms)
	}
	w.Calm()
	server.Restart()
	persist(ctx, "server:1", time.Second, "add")
}

// merged has three hosts set one value each and take those of the others. In the end all must have
// the same, in whichever order they took them.
func merged(ctx context.Context, w *sim.World, fixed bool) {
	var values [3]int
	for i := range 3 {
		w.Host(fmt.Sprint("r", i), func(ctx context.Context) error {
			return reliably(ctx, func(ctx context.Context) (answerer, error) {
				made, err := readFile(ctx, "made") // how many values the host has set
				if err != nil {
					return nil, err
				}
				var seen [3]int
				values[i] = 0
				take := func(from, count int) {
					if count > seen[from] {
						seen[from] = count
						// The number of a value, and then that of its host, say which is later.
						if one := count*10 + from; !fixed || one > values[i] {
							values[i] = one
						}
					}
				}
				take(i, made)
				for j := range 3 {
					if j != i {
						rondo.Go(ctx, func(ctx context.Context) error {
							for {
								if reply, err := ask(ctx, fmt.Sprint("r", j, ":1"), 500*ms, "made"); err == nil {
									count, _ := strconv.Atoi(reply)
									take(j, count)
								}
								if err := rondo.Sleep(ctx, 500*ms); err != nil {
									return err
								}
							}
						})
					}
				}
				return func(ctx context.Context, line string) (string, error) {
					if line == "set" {
						next := max(made, values[i]/10) + 1
						if err := writeFile(ctx, "made", next); err != nil {
							return "", err
						}
						made = max(made, next)
						take(i, made)
					}
					return strconv.Itoa(made), nil
				}, nil
			})
		})
	}
	for range 3 {
		for i := range 3 {
			_, _ = ask(ctx, fmt.Sprint("r", i, ":1"), 300*ms, "set")
			napping(ctx, 500*ms)
		}
	}
	w.Calm()
	_ = rondo.Sleep(ctx, 5*time.Second)
	sim.Always(ctx, values[0] == values[1] && values[1] == values[2], "all have the same value")
}

// failingOver has a backup take over if it has heard nothing for three seconds. The primary acts
// only while the backup confirms what it says, and not while it hears something else of it.
func failingOver(ctx context.Context, w *sim.World, fixed bool) {
	var hosts [2]*sim.Host
	took, lives := false, 0
	talk := func(i int, tick func(ctx context.Context, send func(string)) error, came func(ctx context.Context, text string, send func(string))) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			c, err := socket.ListenPacket(ctx, "udp", ":1")
			if err != nil {
				return err
			}
			send := func(text string) {
				_, _ = c.WriteTo([]byte(text), &net.UDPAddr{IP: hosts[1-i].Addr().AsSlice(), Port: 1})
			}
			rondo.Go(ctx, func(ctx context.Context) error {
				for {
					if err := errors.Join(rondo.Sleep(ctx, 200*ms), rondo.Check(ctx)); err != nil {
						return err
					}
					if err := tick(ctx, send); err != nil {
						return err
					}
				}
			})
			b := make([]byte, 20)
			for {
				n, _, err := c.ReadFrom(b)
				if err != nil {
					return err
				}
				came(ctx, string(b[:n]), send)
			}
		}
	}
	hosts[0] = w.Host("primary", func(ctx context.Context) error {
		lives++ // a confirmation of an earlier life is none of this one
		life := lives
		sent, beats, sign := map[string]time.Time{}, 0, rondo.Now(ctx).Add(-time.Hour)
		return talk(0, func(ctx context.Context, send func(string)) error {
			if rondo.Now(ctx).Sub(sign) < time.Second {
				sim.Always(ctx, !took, "one of them is the primary")
			}
			beats++
			text := fmt.Sprint(life, ".", beats)
			sent[text] = rondo.Now(ctx)
			send(text)
			return nil
		}, func(ctx context.Context, text string, _ func(string)) {
			if at, ok := sent[strings.TrimPrefix(text, "ack ")]; ok && fixed && at.After(sign) {
				sign = at
			} else if !fixed {
				sign = rondo.Now(ctx)
			}
		})(ctx)
	})
	hosts[1] = w.Host("backup", func(ctx context.Context) error {
		heard := rondo.Now(ctx)
		return talk(1, func(ctx context.Context, send func(string)) error {
			took = took || rondo.Now(ctx).Sub(heard) > 3*time.Second
			send("here")
			return nil
		}, func(ctx context.Context, text string, send func(string)) {
			if heard = rondo.Now(ctx); !took {
				send("ack " + text)
			}
		})(ctx)
	})
	_ = rondo.Sleep(ctx, 15*time.Second)
}

// forwarded has a server ask another one, for at most two of its clients at once.
func forwarded(ctx context.Context, w *sim.World, fixed bool) {
	w.Host("backend", func(ctx context.Context) error {
		return serveLines(ctx, func(_ context.Context, line string) string { return line })
	})
	w.Host("proxy", func(ctx context.Context) error {
		slots := 2
		return serveLines(ctx, func(ctx context.Context, line string) string {
			if slots == 0 {
				return "busy"
			}
			slots--
			reply, err := ask(ctx, "backend:1", 300*ms, line)
			if err == nil || fixed {
				slots++
			}
			return reply
		})
	})
	for range 15 {
		_, _ = ask(ctx, "proxy:1", 500*ms, "ok")
		napping(ctx, 300*ms)
	}
	w.Calm()
	for range 20 {
		if reply, _ := ask(ctx, "proxy:1", time.Second, "ok"); reply == "ok" {
			return
		}
		_ = rondo.Sleep(ctx, time.Second)
	}
	sim.Always(ctx, false, "when all is well the proxy serves")
}

// upgraded has two hosts send each other numbers while one after the other is restarted with a new
// version, which also sends a sum. The old one takes the whole line for the number.
func upgraded(ctx context.Context, w *sim.World, fixed bool) {
	newest, sent, truth := 1, 0, map[string]int{}
	var hosts []*sim.Host
	for i := range 2 {
		hosts = append(hosts, w.Host(fmt.Sprint("n", i), func(ctx context.Context) error {
			own := newest
			peer := fmt.Sprint("n", 1-i, ":1")
			rondo.Go(ctx, func(ctx context.Context) error {
				for {
					if err := rondo.Sleep(ctx, time.Duration(200+sim.Choose(ctx, 800))*ms); err != nil {
						return err
					}
					speaks := own
					if fixed {
						reply, err := ask(ctx, peer, 300*ms, "version")
						if speaks, _ = strconv.Atoi(reply); err != nil {
							continue
						}
					}
					sent++
					line := fmt.Sprint("set ", sent)
					if min(speaks, own) == 2 {
						line += fmt.Sprint(" ", sent%7)
					}
					truth[line] = sent
					_, _ = ask(ctx, peer, 300*ms, line)
				}
			})
			return serveLines(ctx, func(ctx context.Context, line string) string {
				if line == "version" {
					return strconv.Itoa(own)
				}
				text := strings.TrimPrefix(line, "set ")
				if own == 2 {
					text, _, _ = strings.Cut(text, " ")
				}
				n, _ := strconv.Atoi(text)
				sim.Always(ctx, n == truth[line], "what was sent is stored")
				return "ok"
			})
		}))
	}
	napping(ctx, 2*time.Second)
	newest = 2
	for _, h := range hosts {
		napping(ctx, 300*ms)
		h.Restart()
	}
	_ = rondo.Sleep(ctx, 2*time.Second)
}

// nemeses are programs that sim.DefaultFaults strike.
var nemeses = underFaults([]mistake{
	{name: "35 acknowledged before fsync, all faults", cluster: logged(func(ctx context.Context, f sim.File, fixed bool) string {
		if !fixed {
			rondo.Go(ctx, func(ctx context.Context) error { _ = f.Sync(); return nil })
		} else if f.Sync() != nil {
			return ""
		}
		return "ok"
	})},
	{name: "36 a read does not write back", cluster: writesBack},
	{name: "37 what was prepared is forgotten", cluster: twoPhases},
	{name: "38 a lease without a margin for drift", cluster: leased},
	{name: "39 a dirty read in a chain", cluster: chained},
	{name: "40 a log without checksums", cluster: summed},
	{name: "41 values that do not commute", cluster: merged},
	{name: "42 two primaries after a cut of one way", cluster: failingOver},
	{name: "43 a leak that only progress shows", cluster: forwarded},
	{name: "44 two versions on the wire", cluster: upgraded},
}...)

// underFaults returns programs with their faults, and within how many seeds each must be found.
func underFaults(all ...mistake) []mistake {
	for i := range all {
		all[i].budget, all[i].config.Faults = 1000, sim.DefaultFaults()
	}
	return all
}
