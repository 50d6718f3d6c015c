package socket_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// TestClusterCrash has a program killed: its peers are told at once, its deferred calls
// have no effect, and boot runs again.
func TestClusterCrash(t *testing.T) {
	(&sim.Config{Exact: true}).Cluster(t, func(ctx context.Context, w *sim.World) {
		boots, cleaned := 0, 0
		h := w.Host("server", func(ctx context.Context) error {
			boots++
			l, err := socket.Listen(ctx, "tcp", ":7")
			if err != nil {
				return err
			}
			return socket.Serve(ctx, l, func(ctx context.Context, c net.Conn) error {
				defer func() {
					if sim.HostOf(ctx).Up() && boots == 1 {
						return
					}
					if _, err := io.WriteString(c, "last words"); err == nil {
						t.Error("a dead process wrote to a connection")
					}
					_ = rondo.Shield(ctx, func(ctx context.Context) error {
						if _, err := socket.Dial(ctx, "tcp", "test:7"); err == nil {
							t.Error("a dead process dialled")
						}
						return rondo.Sleep(ctx, time.Hour)
					})
					cleaned++
				}()
				_, err := io.Copy(c, c)
				return err
			})
		})
		c, err := dialRetry(ctx, "server:7")
		if err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(c)
		if got, err := askLine(c, in, "x"); got != "x" || err != nil {
			t.Fatalf("%q, %v", got, err)
		}
		h.Crash()
		if h.Up() {
			t.Error("it is up after the crash")
		}
		between(t, "to learn of the crash", after(ctx, func() {
			if _, err := in.ReadByte(); err != io.EOF && !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("after the crash: %v", err)
			}
		}), 0, 4*time.Second)
		_, err = socket.Dial(ctx, "tcp", "server:7")
		is(t, "while it is down", err, syscall.ECONNREFUSED)
		if cleaned != 1 {
			t.Errorf("%d deferred calls ran", cleaned)
		}
		h.Restart()
		if c, err = dialRetry(ctx, "server:7"); err != nil {
			t.Fatal(err)
		}
		if got, err := askLine(c, bufio.NewReader(c), "y"); got != "y" || err != nil || boots != 2 || !h.Up() {
			t.Errorf("%q, %v, %d boots", got, err, boots)
		}
	})
}

// TestClusterPowerFail has a machine vanish: nobody is told, until it is back and does
// not know the connection, or until the probes of an idle connection are given up.
func TestClusterPowerFail(t *testing.T) {
	(&sim.Config{Network: quick, Exact: true}).Cluster(t, func(ctx context.Context, w *sim.World) {
		h := w.Host("server", echoHost)
		connect := func() (net.Conn, *bufio.Reader) {
			c, err := dialRetry(ctx, "server:7")
			if err != nil {
				t.Fatal(err)
			}
			in := bufio.NewReader(c)
			if got, err := askLine(c, in, "x"); got != "x" || err != nil {
				t.Fatalf("%q, %v", got, err)
			}
			return c, in
		}
		c, in := connect()
		h.PowerFail()
		_ = c.SetReadDeadline(rondo.Now(ctx).Add(10 * time.Second))
		_, err := in.ReadByte()
		is(t, "nobody is told", err, os.ErrDeadlineExceeded)
		_ = c.SetReadDeadline(time.Time{})
		if _, err := c.Write([]byte("still here?\n")); err != nil {
			t.Errorf("a write into the void: %v", err)
		}
		h.Restart()
		_, err = in.ReadByte()
		is(t, "a restarted host knows nothing of it", err, syscall.ECONNRESET)

		_, in = connect()
		h.PowerFail()
		between(t, "the probes", after(ctx, func() {
			_, err = in.ReadByte()
			is(t, "an idle connection", err, syscall.ETIMEDOUT)
		}), 2*time.Minute, 3*time.Minute)
	})
}

// TestClusterShieldedRead: a Read that nothing else can end fails when its program ends, however
// that ends, and on each of its loops.
func TestClusterShieldedRead(t *testing.T) {
	for name, end := range map[string]func(h *sim.Host){
		"end of the test": func(*sim.Host) {},
		"end of main":     func(*sim.Host) {},
		"crash":           (*sim.Host).Crash,
		"power failure":   (*sim.Host).PowerFail,
	} {
		t.Run(name, func(t *testing.T) {
			runs, failed := 0, 0
			(&sim.Config{Exact: true, MaxSteps: 100_000}).Cluster(t, func(ctx context.Context, w *sim.World) {
				runs++
				if _, err := socket.Listen(ctx, "tcp", ":7"); err != nil {
					t.Fatal(err)
				}
				read := func(ctx context.Context) error {
					c, err := dialRetry(ctx, "test:7")
					if err != nil {
						return err
					}
					err = rondo.Shield(ctx, func(context.Context) error {
						_, err := c.Read(make([]byte, 1))
						return err
					})
					if failed++; err == nil {
						t.Error("a Read of a program that has ended succeeded")
					}
					return nil
				}
				h := w.Host("a", func(ctx context.Context) error {
					driver.HostOf(kernel.Of(ctx).Driver()).RunBeside("beside", read, func() {})
					if name == "end of main" {
						return rondo.Sleep(ctx, time.Minute)
					}
					return read(ctx)
				})
				_ = rondo.Sleep(ctx, 30*time.Second)
				end(h)
				_ = rondo.Sleep(ctx, time.Minute)
			})
			if name != "end of main" {
				runs *= 2 // loops
			}
			if runs == 0 || failed != runs {
				t.Errorf("%d of %d loops have ended", failed, runs)
			}
		})
	}
}

// TestClusterPartition has messages lost in both directions, and in one, and come late
// after Heal.
func TestClusterPartition(t *testing.T) {
	(&sim.Config{Network: quick, Exact: true}).Cluster(t, func(ctx context.Context, w *sim.World) {
		got := map[string]int{}
		serve := answering(":7", func(_ context.Context, c net.Conn) error {
			for in := bufio.NewScanner(c); in.Scan(); {
				got[in.Text()]++
				if _, err := fmt.Fprintln(c, "ok"); err != nil {
					return err
				}
			}
			return nil
		})
		h := w.Host("server", serve)
		other := w.Host("other", serve)
		me := sim.HostOf(ctx)
		c, err := dialRetry(ctx, "server:7")
		if err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(c)
		expect := func(line string, arrives, answered bool) {
			t.Helper()
			_ = c.SetReadDeadline(rondo.Now(ctx).Add(2 * time.Second))
			_, err := askLine(c, in, line)
			if (err == nil) != answered || (got[line] == 1) != arrives {
				t.Errorf("%s: answered with %v, arrived %d times", line, err, got[line])
			}
		}
		expect("before", true, true)
		w.Partition([]*sim.Host{me}, []*sim.Host{h})
		expect("apart", false, false)
		if o, err := dialRetry(ctx, "other:7"); err != nil {
			t.Error("the other host:", err)
		} else {
			o.Close()
		}
		w.Heal()
		_ = c.SetReadDeadline(time.Time{})
		if _, err := in.ReadString('\n'); err != nil || got["apart"] != 1 {
			t.Errorf("after Heal: %v", err)
		}
		w.Cut(h, me)
		expect("one way", true, false)
		w.Heal()
		_ = c.SetReadDeadline(time.Time{})
		if _, err := in.ReadString('\n'); err != nil {
			t.Errorf("after Heal: %v", err)
		}
		link := w.Link(me, h)
		link.Hold()
		expect("held", false, false)
		link.Release()
		_ = c.SetReadDeadline(time.Time{})
		if _, err := in.ReadString('\n'); err != nil || got["held"] != 1 {
			t.Errorf("after Release: %v", err)
		}
		link.SetLatency(time.Second)
		between(t, "a slow link", after(ctx, func() {
			if _, err := askLine(c, in, "slow"); err != nil {
				t.Error(err)
			}
		}), time.Second, 1100*time.Millisecond)
		link.Reset()
		_, err = in.ReadByte()
		is(t, "Reset", err, syscall.ECONNRESET)
		w.Partition([]*sim.Host{h, other}, nil)
		_, err = (&socket.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", "other:7")
		is(t, "cut off", err, os.ErrDeadlineExceeded)
	})
}

// TestClusterClock has the clocks of hosts differ, run at other rates, and go on in a
// pause.
func TestClusterClock(t *testing.T) {
	(&sim.Config{Exact: true}).Cluster(t, func(ctx context.Context, w *sim.World) {
		type reading struct {
			wall  time.Time
			ticks int
		}
		var hosts [3]*sim.Host
		var read [3]reading
		for i := range hosts {
			hosts[i] = w.Host(fmt.Sprint("host", i), func(ctx context.Context) error {
				for {
					if err := rondo.Sleep(ctx, time.Second); err != nil {
						return err
					}
					read[i].wall = rondo.Now(ctx)
					read[i].ticks++
				}
			})
		}
		hosts[1].SetClock(time.Hour, 0)
		hosts[2].SetClock(0, 100_000) // a tenth faster
		_ = rondo.Sleep(ctx, 100*time.Second+time.Millisecond)
		if read[0].ticks != 100 || read[1].ticks != 100 || read[2].ticks != 110 {
			t.Errorf("%d, %d and %d ticks, want 100, 100 and 110", read[0].ticks, read[1].ticks, read[2].ticks)
		}
		if d := read[1].wall.Round(0).Sub(read[0].wall.Round(0)); d != time.Hour {
			t.Errorf("the wall clock is %v ahead, want an hour", d)
		}
		hosts[0].Pause(10 * time.Second)
		_ = rondo.Sleep(ctx, 9*time.Second)
		if read[0].ticks != 100 {
			t.Errorf("%d ticks in a pause", read[0].ticks-100)
		}
		_ = rondo.Sleep(ctx, 2*time.Second)
		if n := read[0].ticks; n != 101 && n != 102 {
			t.Errorf("%d ticks after a pause of 10 s, want 101 or 102", n)
		}
	})
}

// TestClusterCalm has faults strike, and end for good.
func TestClusterCalm(t *testing.T) {
	downs, struck := 0, 0
	config := sim.Config{Seeds: 40, SeedsShort: 40, Faults: sim.Faults{Partition: 0.5, Crash: 0.5, PowerFail: 0.5, Pause: 0.5, ClockSkew: 0.5, Disk: 0.5}}
	config.Cluster(t, func(ctx context.Context, w *sim.World) {
		var hosts []*sim.Host
		boots := 0
		for i := range 5 {
			hosts = append(hosts, w.Host(fmt.Sprint("host", i), func(ctx context.Context) error {
				boots++
				return echoHost(ctx)
			}))
		}
		for range 60 {
			_ = rondo.Sleep(ctx, 500*time.Millisecond)
			down := 0
			for _, h := range hosts {
				if !h.Up() {
					down++
				}
			}
			if down > 2 {
				t.Errorf("%d of 5 hosts are down at once", down)
			}
			downs += down
		}
		if boots > 5 {
			struck++
		}
		w.Calm()
		before := boots
		if err := w.Eventually(ctx, time.Minute, func() bool {
			up := 0
			for _, h := range hosts {
				if h.Up() {
					up++
				}
			}
			return up == 5
		}); err != nil {
			t.Error(err)
		}
		for _, h := range hosts {
			c, err := dialRetry(ctx, h.Name()+":7")
			if err != nil {
				t.Error(err)
				continue
			}
			if got, err := askLine(c, bufio.NewReader(c), "x"); got != "x" || err != nil {
				t.Errorf("%s: %q, %v", h.Name(), got, err)
			}
		}
		_ = rondo.Sleep(ctx, time.Minute)
		if boots > before+5 {
			t.Error("a fault struck after Calm")
		}
	})
	if downs == 0 || struck < 10 || struck == 40 {
		t.Errorf("in %d of 40 seeds hosts were restarted", struck)
	}
}

// TestClusterEventually returns when the condition holds, and says when it does not.
func TestClusterEventually(t *testing.T) {
	(&sim.Config{Exact: true}).Cluster(t, func(ctx context.Context, w *sim.World) {
		n := 0
		if err := w.Eventually(ctx, time.Second, func() bool { n++; return n == 10 }); err != nil || n != 10 {
			t.Error(n, err)
		}
		between(t, "Eventually", after(ctx, func() {
			is(t, "never", w.Eventually(ctx, time.Second, func() bool { return false }), context.DeadlineExceeded)
		}), time.Second, time.Second)
	})
}

// TestClusterDescriptors: a program that may have no socket more gets EMFILE, and its server goes
// on when it has some again.
func TestClusterDescriptors(t *testing.T) {
	sim.Cluster(t, func(ctx context.Context, w *sim.World) {
		server := w.Host("server", func(ctx context.Context) error {
			l, err := socket.Listen(ctx, "tcp", ":1")
			if err != nil {
				return err
			}
			if _, err := socket.Dial(ctx, "tcp", "server:1"); !errors.Is(err, syscall.EMFILE) {
				t.Errorf("Dial: %v", err)
			}
			_, err = l.Accept()
			if !errors.Is(err, syscall.EMFILE) {
				t.Errorf("Accept: %v", err)
			}
			sim.HostOf(ctx).SetDescriptors(0)
			c, err := l.Accept()
			if err != nil {
				return err
			}
			_, err = io.WriteString(c, "x")
			return err
		})
		server.SetDescriptors(1)
		_ = rondo.Sleep(ctx, time.Second)
		c, err := socket.Dial(ctx, "tcp", "server:1")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			t.Error(err)
		}
	})
}

// TestClusterCorrupt: with Network.Corrupt what is sent arrives with a wrong bit now and then, by
// TCP and by UDP, and without it or after Calm never.
func TestClusterCorrupt(t *testing.T) {
	for _, part := range []float64{0, 0.2} {
		wrong, wrongCalm := map[string]int{}, 0
		sim.Config{Seeds: 10, Network: sim.Network{Corrupt: part}}.Cluster(t, func(ctx context.Context, w *sim.World) {
			const text = "0123456789"
			for _, network := range []string{"tcp", "udp"} {
				w.Host(network, func(ctx context.Context) error {
					if network == "udp" {
						c, err := socket.ListenPacket(ctx, "udp", ":1")
						if err != nil {
							return err
						}
						b := make([]byte, 20)
						for {
							n, from, err := c.ReadFrom(b)
							if err != nil {
								return err
							}
							_, _ = c.WriteTo(b[:n], from)
						}
					}
					l, err := socket.Listen(ctx, "tcp", ":1")
					if err != nil {
						return err
					}
					return socket.Serve(ctx, l, func(_ context.Context, c net.Conn) error {
						_, err := io.Copy(c, c)
						return err
					})
				})
				_ = rondo.Sleep(ctx, time.Minute)
				c, err := socket.Dial(ctx, network, network+":1")
				if err != nil {
					t.Fatal(err)
				}
				echo := func() bool {
					got := make([]byte, len(text))
					_, _ = io.WriteString(c, text)
					_, err := io.ReadFull(c, got)
					return err == nil && string(got) == text
				}
				for range 20 {
					if !echo() {
						wrong[network]++
					}
				}
			}
			w.Calm()
			c, err := socket.Dial(ctx, "tcp", "tcp:1")
			if err != nil {
				t.Fatal(err)
			}
			for range 20 {
				got := make([]byte, len(text))
				_, _ = io.WriteString(c, text)
				if _, err := io.ReadFull(c, got); err != nil || string(got) != text {
					wrongCalm++
				}
			}
		})
		if (wrong["tcp"] > 0 && wrong["udp"] > 0) != (part > 0) || wrongCalm > 0 {
			t.Errorf("with Corrupt %v, of 200 each %v were wrong, and after Calm %d", part, wrong, wrongCalm)
		}
	}
}

// TestForEver: the longest of all durations is one that does not end, also late in a run, and
// not one that is over at once.
func TestForEver(t *testing.T) {
	const forEver = time.Duration(math.MaxInt64)
	for name, stop := range map[string]func(w *sim.World, from, to *sim.Host){
		"Pause":      func(_ *sim.World, _, to *sim.Host) { to.Pause(forEver) },
		"Slow":       func(_ *sim.World, _, to *sim.Host) { to.Slow(forEver) },
		"Disk":       func(_ *sim.World, _, to *sim.Host) { to.Disk().SetFaults(sim.DiskFaults{Slow: forEver}) },
		"SetLatency": func(w *sim.World, from, to *sim.Host) { w.Link(from, to).SetLatency(forEver) },
	} {
		sim.Config{Exact: true, Limit: forEver}.Cluster(t, func(ctx context.Context, w *sim.World) {
			h := w.Host("a", func(ctx context.Context) error {
				l, err := socket.Listen(ctx, "tcp", ":1")
				if err != nil {
					return err
				}
				f, err := sim.Disk(ctx).OpenFile("/a", os.O_RDWR|os.O_CREATE, 0o600)
				if err != nil {
					return err
				}
				for {
					c, err := l.Accept()
					if err != nil {
						return err
					}
					_, err = f.Write([]byte("called"))
					if err = errors.Join(err, c.Close()); err != nil {
						return err
					}
				}
			})
			call := func() error {
				return rondo.Timeout(ctx, 2*time.Hour, func(ctx context.Context) error {
					c, err := socket.Dial(ctx, "tcp", netip.AddrPortFrom(h.Addr(), 1).String())
					if err != nil {
						return err
					}
					_, err = io.ReadAll(c)
					return errors.Join(err, c.Close())
				})
			}
			if err := call(); err != nil {
				t.Errorf("%s: before it began: %v", name, err)
			}
			if stop(w, sim.HostOf(ctx), h); call() == nil {
				t.Errorf("%s: what is to take for ever was over within two hours", name)
			}
		})
	}
}
