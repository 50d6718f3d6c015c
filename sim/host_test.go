package sim_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/sim"
)

// one returns a Config that tries one seed, a calm one.
func one() sim.Config { return sim.Config{Seeds: 1, SeedsShort: 1} }

// clusterFails runs a body that must fail on a cluster.
func clusterFails(t *testing.T, body func(t *tester, ctx context.Context, w *sim.World), want ...string) {
	t.Helper()
	text := failing(t, func(t *tester) {
		one().Cluster(t, func(ctx context.Context, w *sim.World) { body(t, ctx, w) })
	})
	contains(t, text, append(want, "replay: RONDO_SEED=")...)
}

// TestHosts holds what a host knows of itself.
func TestHosts(t *testing.T) {
	sim.Cluster(t, func(ctx context.Context, w *sim.World) {
		var inside *sim.Host
		h := w.Host("a", func(ctx context.Context) error {
			inside = sim.HostOf(ctx)
			return rondo.Sleep(ctx, time.Hour)
		})
		if me := sim.HostOf(ctx); me.Name() != "test" || !me.Up() || me.Addr() == h.Addr() || !h.Addr().Is4() {
			t.Errorf("%v at %v, %v at %v", me, me.Addr(), h, h.Addr())
		}
		if err := rondo.Sleep(ctx, time.Second); err != nil || inside != h || !h.Up() || h.Name() != "a" {
			t.Errorf("%v: the host is %v, up: %v", err, inside, h.Up())
		}
		h.Crash()
		h.Crash() // does nothing more
		if h.Up() {
			t.Error("up after a crash")
		}
	})
	if sim.HostOf(context.Background()) != nil {
		t.Error("a ctx of no cluster has a host")
	}
	sim.Test(t, func(ctx context.Context) {
		if sim.HostOf(ctx) != nil {
			t.Error("a single loop has a host")
		}
	})
}

// TestRestart: a program that runs ends before the host begins anew.
func TestRestart(t *testing.T) {
	sim.Config{Seeds: 20}.Cluster(t, func(ctx context.Context, w *sim.World) {
		boots := 0
		h := w.Host("a", func(ctx context.Context) error {
			boots++
			for me := boots; rondo.Sleep(ctx, time.Millisecond) == nil; {
				sim.Always(ctx, me == boots, "no program runs that has a successor")
			}
			return nil
		})
		for want := 1; want <= 3; want++ {
			if err := w.Eventually(ctx, time.Minute, func() bool { return boots == want }); err != nil {
				t.Error(err)
			}
			h.Restart()
			_ = rondo.Sleep(ctx, time.Second)
		}
	})
}

// TestHostEnds has boot return: the program has ended, and may be started again.
func TestHostEnds(t *testing.T) {
	sim.Cluster(t, func(ctx context.Context, w *sim.World) {
		boots := 0
		h := w.Host("a", func(ctx context.Context) error {
			boots++
			return nil
		})
		if err := w.Eventually(ctx, time.Minute, func() bool { return boots == 1 && !h.Up() }); err != nil {
			t.Error(err)
		}
		h.Restart()
		if err := w.Eventually(ctx, time.Minute, func() bool { return boots == 2 && !h.Up() }); err != nil {
			t.Error(err)
		}
	})
}

// TestHostLoops: the further loops of a program end with the first one, however that ends, and the
// tasks on them learn the cause, which is the first one. One that has ended before changes nothing.
func TestHostLoops(t *testing.T) {
	for cause, end := range map[string]func(h *sim.Host){
		"sim: the program has ended":   func(*sim.Host) {}, // by itself
		"sim: the host has crashed":    func(h *sim.Host) { h.Signal(os.Interrupt); h.PowerFail() },
		"sim: the host has lost power": (*sim.Host).PowerFail,
	} {
		sim.Cluster(t, func(ctx context.Context, w *sim.World) {
			var causes []string
			ended := 0
			h := w.Host("a", func(ctx context.Context) error {
				beside := func(ctx context.Context, name string) {
					driver.HostOf(kernel.Of(ctx).Driver()).RunBeside(name, func(ctx context.Context) error {
						causes = append(causes, fmt.Sprint(rondo.WaitCanceled(ctx)))
						return nil
					}, func() { ended++ })
				}
				gone := false
				driver.HostOf(kernel.Of(ctx).Driver()).RunBeside("gone", func(ctx context.Context) error {
					driver.HostOf(kernel.Of(ctx).Driver()).Notify(func(os.Signal) {}) // which ends with it
					beside(ctx, "1")
					return nil
				}, func() { gone = true })
				beside(ctx, "2")
				beside(ctx, "3")
				err := rondo.Sleep(ctx, time.Minute)
				if !gone {
					t.Error("a loop whose main has returned is there")
				}
				return err
			})
			_ = rondo.Sleep(ctx, 30*time.Second)
			if len(causes)+ended > 0 {
				t.Error("a loop has ended before the first one:", causes)
			}
			end(h)
			if err := w.Eventually(ctx, time.Hour, func() bool { return !h.Up() && ended == 3 }); err != nil {
				t.Errorf("%d of 3 loops have ended: %v", ended, err)
			}
			if got := fmt.Sprint(causes); got != fmt.Sprint([]string{cause, cause, cause}) {
				t.Errorf("the causes are %s, want %q", got, cause)
			}
		})
	}
}

// TestHostLoopsNotBegun: a loop whose host goes down before it has begun, or is down, ends without
// having run.
func TestHostLoopsNotBegun(t *testing.T) {
	sim.Cluster(t, func(ctx context.Context, w *sim.World) {
		ended := 0
		var h *sim.Host
		h = w.Host("a", func(ctx context.Context) error {
			beside := func() {
				driver.HostOf(kernel.Of(ctx).Driver()).RunBeside("b", func(context.Context) error {
					t.Error("it ran")
					return nil
				}, func() { ended++ })
			}
			beside()
			h.Crash()
			beside()
			return nil
		})
		if err := w.Eventually(ctx, time.Minute, func() bool { return ended == 2 }); err != nil {
			t.Errorf("%d of 2 loops have ended: %v", ended, err)
		}
	})
}

// readiness is a function that is called when a socket is ready.
type readiness func()

func (r readiness) Ready(driver.Events) { r() }

// TestHostLoopAdopts: a socket that a further loop of a program adopts reports to that loop.
func TestHostLoopAdopts(t *testing.T) {
	sim.Cluster(t, func(ctx context.Context, w *sim.World) {
		reports := 0
		h := w.Host("a", func(ctx context.Context) error {
			host := driver.HostOf(kernel.Of(ctx).Driver())
			s, err := host.Socket("udp")
			if err == nil {
				err = s.Bind(driver.Peer{Addr: netip.AddrPortFrom(netip.IPv4Unspecified(), 53)}, false)
			}
			host.RunBeside("beside", func(ctx context.Context) error {
				beside := kernel.Of(ctx)
				driver.HostOf(beside.Driver()).Adopt(s)
				s.Arm(driver.Readable, readiness(func() {
					if reports++; !beside.Inside() {
						t.Error("it reports to another loop")
					}
				}))
				return rondo.WaitCanceled(ctx)
			}, func() {})
			return errors.Join(err, rondo.WaitCanceled(ctx))
		})
		_ = rondo.Sleep(ctx, time.Second)
		from, err := driver.HostOf(kernel.Of(ctx).Driver()).Socket("udp")
		if err != nil {
			t.Fatal(err)
		}
		for range 20 { // some are lost
			_, _ = from.Send([]byte("x"), driver.Peer{Addr: netip.AddrPortFrom(h.Addr(), 53)})
			_ = rondo.Sleep(ctx, time.Second)
		}
		if reports == 0 {
			t.Error("it reports nothing")
		}
	})
}

// TestHostsTogether has tasks of one host set Futures of another, post to it and wait
// for its tasks, and be woken by that.
func TestHostsTogether(t *testing.T) {
	sim.Cluster(t, func(ctx context.Context, w *sim.World) {
		f := rondo.NewFuture[int](ctx)
		posted := rondo.Event{}
		home := rondo.LoopOf(ctx)
		w.Host("a", func(ctx context.Context) error {
			if err := rondo.Sleep(ctx, time.Second); err != nil {
				return err
			}
			f.Set(42)
			return home.Post(func() { posted.Set() })
		})
		if v, err := f.Wait(ctx); v != 42 || err != nil {
			t.Error(v, err)
		}
		if err := posted.Wait(ctx); err != nil {
			t.Error(err)
		}
	})
}

// TestTestWaits: a test that has waited for another host, without a timer of its own, may sleep for
// longer than it may wait so.
func TestTestWaits(t *testing.T) {
	sim.Cluster(t, func(ctx context.Context, w *sim.World) {
		f := rondo.NewFuture[int](ctx)
		w.Host("a", func(ctx context.Context) error {
			err := rondo.Sleep(ctx, 59*time.Minute)
			f.Set(42)
			return err
		})
		if _, err := f.Wait(ctx); err != nil {
			t.Error(err)
		}
		if err := rondo.Sleep(ctx, 24*time.Hour); err != nil {
			t.Error(err)
		}
	})
}

// TestPauseOfReadyHosts: a pause also stops what has just become ready and has not run.
func TestPauseOfReadyHosts(t *testing.T) {
	(&sim.Config{Exact: true}).Cluster(t, func(ctx context.Context, w *sim.World) {
		began := rondo.Now(ctx)
		var ran []time.Duration
		for i := range 3 {
			var inside context.Context
			h := w.Host(fmt.Sprint(i), func(ctx context.Context) error {
				inside = ctx
				return rondo.WaitCanceled(ctx)
			})
			_ = rondo.SleepUntil(ctx, began.Add(time.Duration(i+1)*time.Second))
			if err := rondo.LoopOf(inside).Post(func() { ran = append(ran, rondo.Now(inside).Sub(began)) }); err != nil {
				t.Error(err)
			}
			h.Pause(time.Minute)
		}
		_ = rondo.Sleep(ctx, time.Hour)
		if got := fmt.Sprint(ran); got != "[1m1s 1m2s 1m3s]" {
			t.Errorf("what came before a pause of a minute ran after %s", got)
		}
	})
}

// TestPauseAfterRestart: a restart ends a pause, and the next pause is not as long as that one. One
// that comes during a pause prolongs it.
func TestPauseAfterRestart(t *testing.T) {
	(&sim.Config{Exact: true}).Cluster(t, func(ctx context.Context, w *sim.World) {
		beats := 0
		h := w.Host("a", func(ctx context.Context) error {
			for range rondo.Every(ctx, time.Second) {
				beats++
			}
			return nil
		})
		_ = rondo.Sleep(ctx, time.Minute)
		h.Pause(time.Hour)
		_ = rondo.Sleep(ctx, time.Minute)
		h.Restart()
		_ = rondo.Sleep(ctx, time.Minute)
		h.Pause(time.Minute)
		before := beats
		if err := w.Eventually(ctx, 2*time.Minute, func() bool { return beats > before+1 }); err != nil {
			t.Errorf("a minute after a pause of a minute: %v", err)
		}
		h.Pause(time.Minute)
		_ = rondo.Sleep(ctx, 30*time.Second)
		h.Pause(10 * time.Minute)
		before = beats
		if _ = rondo.Sleep(ctx, 9*time.Minute); beats != before {
			t.Errorf("it ran %d times in a pause", beats-before)
		}
		if err := w.Eventually(ctx, 2*time.Minute, func() bool { return beats > before+1 }); err != nil {
			t.Errorf("a minute after a pause that was prolonged: %v", err)
		}
	})
}

// TestSlowAndBusy: a slow host is slow also if its program never waits.
func TestSlowAndBusy(t *testing.T) {
	(&sim.Config{Exact: true}).Cluster(t, func(ctx context.Context, w *sim.World) {
		took := map[time.Duration]time.Duration{}
		for _, each := range []time.Duration{0, time.Second} {
			h := w.Host(each.String(), func(ctx context.Context) error {
				if err := rondo.Sleep(ctx, time.Second); err != nil {
					return err
				}
				began := rondo.Now(ctx)
				for range 1000 {
					if err := rondo.Yield(ctx); err != nil {
						return err
					}
				}
				took[each] = rondo.Now(ctx).Sub(began)
				return nil
			})
			h.Slow(each)
			_ = rondo.Sleep(ctx, time.Hour)
		}
		if took[0] != 0 || took[time.Second] < 5*time.Second {
			t.Errorf("1000 turns took %v, and with a second for whatever it has to do %v", took[0], took[time.Second])
		}
	})
}

// TestSlowAndCalled: what comes while a slow host has yet to begin does not make it later.
func TestSlowAndCalled(t *testing.T) {
	(&sim.Config{Exact: true}).Cluster(t, func(ctx context.Context, w *sim.World) {
		var ran []time.Duration
		var began time.Time
		h := w.Host("a", func(host context.Context) error {
			driver.HostOf(kernel.Of(host).Driver()).Notify(func(os.Signal) { ran = append(ran, rondo.Now(ctx).Sub(began)) })
			return rondo.WaitCanceled(host)
		})
		_ = rondo.Sleep(ctx, time.Second)
		h.Slow(time.Second)
		began = rondo.Now(ctx)
		for range 3 {
			h.Signal(os.Interrupt)
			_ = rondo.Sleep(ctx, 400*time.Millisecond)
		}
		if fmt.Sprint(ran) != "[1s 1s 1s]" {
			t.Errorf("a host that is slow by a second got the signals of 0.0, 0.4 and 0.8 s after %v", ran)
		}
	})
}

// TestHostsAreLate: in some seeds timers of a host that are due one after the other fire at one
// instant, and in some a task is late by about as long as its host sleeps, or by up to a second.
func TestHostsAreLate(t *testing.T) {
	sim.Config{Seeds: 100, SeedsShort: 100}.Cluster(t, func(ctx context.Context, w *sim.World) {
		together := 0
		for range 5 {
			var woke [2]time.Time
			began := rondo.Now(ctx)
			_ = rondo.Group(ctx, func(g *rondo.Scope) error {
				for i := range woke {
					g.Go(func(ctx context.Context) error {
						err := rondo.Sleep(ctx, time.Millisecond+time.Duration(i))
						woke[i] = rondo.Now(ctx)
						return err
					})
				}
				return nil
			})
			if woke[0].Equal(woke[1]) {
				together++
			}
			if d := rondo.Now(ctx).Sub(began); d > 10*time.Second {
				t.Errorf("two sleeps of a millisecond took %v", d)
			}
		}
		sim.Sometimes(ctx, together == 5, "timers of two instants fire at one")
		for range 10 {
			began := rondo.Now(ctx)
			_ = rondo.Sleep(ctx, time.Minute)
			sim.Sometimes(ctx, rondo.Now(ctx).Sub(began) > 70*time.Second, "a sleep of a minute lasts 10 s longer")
		}
	})
}

// TestBusyHosts: hosts whose tasks never wait let each other go on, and come to an end.
func TestBusyHosts(t *testing.T) {
	sim.Config{Seeds: 20, SeedsShort: 20, MaxSteps: 100_000}.Cluster(t, func(ctx context.Context, w *sim.World) {
		counted := 0
		for i := range 3 {
			w.Host(fmt.Sprint(i), func(ctx context.Context) error {
				q := rondo.NewQueue[int](1)
				for range 100 {
					before := counted
					if err := q.Put(ctx, 1); err != nil {
						return err
					}
					sim.Sometimes(ctx, counted != before, "others go first at an operation that need not wait")
					if _, err := q.Get(ctx); err != nil {
						return err
					}
					counted++
				}
				return nil
			})
		}
		_ = rondo.Sleep(ctx, time.Hour)
		if counted != 300 {
			t.Error("the hosts counted to", counted)
		}
	})
}

// TestHostTasksShare: in some seeds a task of a host gives the others a turn at an operation that
// need not wait.
func TestHostTasksShare(t *testing.T) {
	sim.Config{Seeds: 20, SeedsShort: 20}.Cluster(t, func(ctx context.Context, w *sim.World) {
		counted, q := 0, rondo.NewQueue[int](100)
		rondo.Go(ctx, func(ctx context.Context) error {
			for rondo.Yield(ctx) == nil {
				counted++
			}
			return nil
		})
		for i := range 100 {
			_ = rondo.Yield(ctx) // from here on it has a whole share
			before := counted
			_ = q.Put(ctx, i)
			sim.Sometimes(ctx, counted != before, "the other task ran in a Put with room")
		}
	})
}

// TestHostsShare: where a task has used its share, mostly other hosts go on as well as the other
// tasks of its own host.
func TestHostsShare(t *testing.T) {
	given, seen := 0, 0
	sim.Config{Seeds: 20, SeedsShort: 20}.Cluster(t, func(ctx context.Context, w *sim.World) {
		over, here, there := false, 0, 0
		count := func(n *int) func(ctx context.Context) error {
			return func(ctx context.Context) error {
				for !over {
					_ = rondo.Yield(ctx)
					*n++
				}
				return nil
			}
		}
		w.Host("other", count(&there))
		rondo.Go(ctx, count(&here))
		q := rondo.NewQueue[int](500)
		for i := range 500 {
			wasHere, wasThere := here, there
			if _ = q.Put(ctx, i); here != wasHere {
				given++
				if there != wasThere {
					seen++
				}
			}
		}
		over = true
		_ = rondo.Sleep(ctx, time.Second)
	})
	if given == 0 || seen < given/2 {
		t.Errorf("at %d of %d operations at which another task ran, so did another host", seen, given)
	}
}

// TestHostOffload has the clock of all hosts stand still while a goroutine works.
func TestHostOffload(t *testing.T) {
	sim.Cluster(t, func(ctx context.Context, w *sim.World) {
		ticks := 0
		w.Host("clock", func(ctx context.Context) error {
			for ; ; ticks++ {
				if err := rondo.Sleep(ctx, time.Second); err != nil {
					return err
				}
			}
		})
		before := ticks
		v, err := rondo.Offload(ctx, func(context.Context) (int, error) {
			s := 0
			for i := range 1_000_000 {
				s ^= i
			}
			return s | 1, nil
		})
		if v == 0 || err != nil || ticks != before {
			t.Errorf("%v, %v, and %d seconds passed meanwhile", v, err, ticks-before)
		}
	})
}

// TestHostReceives: what a goroutine brings to a host is taken when no host has anything to do.
func TestHostReceives(t *testing.T) {
	(&sim.Config{Exact: true}).Cluster(t, func(ctx context.Context, w *sim.World) {
		ch, turns, had, begun := make(chan int, 1), 0, -1, false
		w.Host("a", func(ctx context.Context) error {
			begun = true
			_, _, err := rondo.Receive(ctx, ch)
			had = turns
			return err
		})
		w.Host("b", func(ctx context.Context) error {
			for !begun {
				_ = rondo.Yield(ctx)
			}
			ch <- 1
			for range 1000 {
				if err := rondo.Yield(ctx); err != nil {
					return err
				}
				runtime.Gosched()
				turns++
			}
			return nil
		})
		_ = rondo.Sleep(ctx, time.Hour)
		if had != 1000 {
			t.Errorf("what a goroutine brought came to a after %d of 1000 turns of b", had)
		}
	})
}

// TestHostKilledInOffload has a host crash while goroutines work for it and deferred
// calls wait behind a Shield: it ends all the same.
func TestHostKilledInOffload(t *testing.T) {
	(&sim.Config{Exact: true}).Cluster(t, func(ctx context.Context, w *sim.World) {
		go2 := make(chan struct{})
		var ran []string
		h := w.Host("a", func(ctx context.Context) error {
			rondo.Go(ctx, func(ctx context.Context) error {
				defer func() {
					_ = rondo.Shield(ctx, func(ctx context.Context) error {
						err := rondo.Sleep(ctx, 1000*time.Hour)
						ran = append(ran, fmt.Sprint("slept: ", err))
						return new(rondo.Event).Wait(ctx) // for ever
					})
					ran = append(ran, "ended")
				}()
				return rondo.Sleep(ctx, time.Hour)
			})
			return rondo.OffloadFunc(ctx, func(context.Context) error {
				<-go2
				return nil
			})
		})
		w.Host("killer", func(ctx context.Context) error {
			h.PowerFail()
			close(go2)
			return nil
		})
		began := rondo.Now(ctx)
		if err := rondo.Sleep(ctx, time.Second); err != nil || h.Up() {
			t.Error(err, h.Up())
		}
		if d := rondo.Now(ctx).Sub(began); d > time.Minute {
			t.Errorf("%v passed on the other hosts", d)
		}
		if got := strings.Join(ran, ", "); got != "" && got != "slept: <nil>, ended" {
			t.Errorf("the deferred calls: %s", got)
		}
	})
}

// TestHostKilledAndAwaited: a program that was killed ends although a deferred call of it waits
// behind a Shield until the host ends, which it has.
func TestHostKilledAndAwaited(t *testing.T) {
	one().Cluster(t, func(ctx context.Context, w *sim.World) {
		ended := false
		h := w.Host("a", func(ctx context.Context) error {
			defer func() {
				_ = rondo.Shield(ctx, rondo.WaitCanceled)
				ended = true
			}()
			return rondo.WaitCanceled(ctx)
		})
		_ = rondo.Sleep(ctx, time.Second)
		h.Crash()
		if _ = rondo.Sleep(ctx, time.Second); !ended {
			t.Error("it has not ended")
		}
	})
}

// TestHostSignals holds what a signal does that nobody catches.
func TestHostSignals(t *testing.T) {
	sim.Cluster(t, func(ctx context.Context, w *sim.World) {
		h := w.Host("a", func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) })
		_ = rondo.Sleep(ctx, time.Second)
		h.Signal(os.Interrupt)
		if h.Up() {
			t.Error("the signal did not end it")
		}
		h.Signal(os.Kill) // nobody is there
		h.Restart()
		h.Signal(os.Kill)
		if h.Up() {
			t.Error("it caught a signal that cannot be caught")
		}
	})
	sim.Cluster(t, func(ctx context.Context, w *sim.World) {
		heard := 0
		h := w.Host("a", func(ctx context.Context) error {
			host := driver.HostOf(kernel.Of(ctx).Driver())
			stop := host.Notify(func(os.Signal) { t.Error("it was told after its end") }, os.Interrupt)
			host.Notify(func(os.Signal) { heard++ }, os.Interrupt)
			host.Notify(func(os.Signal) { heard++ }) // of each signal
			host.Notify(func(s os.Signal) { t.Errorf("it was told of %v, and asked for os.Kill alone", s) }, os.Kill)
			stop()
			return rondo.Sleep(ctx, time.Hour)
		})
		dead := w.Host("dead", func(ctx context.Context) error {
			defer h.Signal(os.Interrupt) // without effect, as it is dead then
			return rondo.WaitCanceled(ctx)
		})
		_ = rondo.Sleep(ctx, time.Second)
		h.Signal(os.Interrupt)
		dead.Crash()
		_ = rondo.Sleep(ctx, time.Second)
		if heard != 2 || !h.Up() {
			t.Errorf("of two handlers that were not stopped %d were called; up: %v", heard, h.Up())
		}
	})
}

// TestClusterFailures holds what a failure on a host looks like.
func TestClusterFailures(t *testing.T) {
	clusterFails(t, func(t *tester, ctx context.Context, w *sim.World) {
		w.Host("a", func(context.Context) error { return errors.New("so it is") })
		_ = rondo.Sleep(ctx, time.Hour)
	}, "host a: so it is")
	clusterFails(t, func(t *tester, ctx context.Context, w *sim.World) {
		w.Host("a", func(context.Context) error { panic("so it is") })
		_ = rondo.Sleep(ctx, time.Hour)
	}, "so it is", "host_test.go")
	clusterFails(t, func(t *tester, ctx context.Context, w *sim.World) {
		w.Host("a", func(context.Context) error {
			t.Fatal("so it is")
			return nil
		})
		w.Host("b", func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) })
		_ = rondo.Sleep(ctx, time.Hour)
	}, "so it is")
	clusterFails(t, func(t *tester, ctx context.Context, w *sim.World) {
		f := rondo.NewFuture[int](ctx)
		w.Host("a", func(ctx context.Context) error {
			_, err := f.Wait(ctx)
			return err
		})
		_, _ = f.Wait(ctx)
	}, "deadlock", "test: main is waiting for future", "a: main is waiting")
	clusterFails(t, func(t *tester, ctx context.Context, w *sim.World) {
		f := rondo.NewFuture[int](ctx)
		w.Host("a", func(ctx context.Context) error {
			defer f.Set(1)
			return rondo.Sleep(ctx, time.Second)
		})
		_ = rondo.Timeout(ctx, time.Hour, func(ctx context.Context) error {
			_, err := f.Wait(ctx)
			return err
		})
		_, _ = rondo.NewFuture[int](ctx).Wait(ctx)
	}, "deadlock", "after 1s of virtual time") // not after the hour, for which nobody waits
	clusterFails(t, func(t *tester, ctx context.Context, w *sim.World) {
		w.Host("a", func(ctx context.Context) error {
			rondo.Go(ctx, func(context.Context) error { return errors.New("so it is") })
			return rondo.Sleep(ctx, time.Second)
		})
		_ = rondo.Sleep(ctx, time.Hour)
	}, "host a", "failed and nobody waited for it: so it is")
	clusterFails(t, func(t *tester, ctx context.Context, w *sim.World) {
		w.Host("a", func(context.Context) error { runtime.Goexit(); return nil })
		_ = rondo.Sleep(ctx, time.Hour)
	}, "runtime.Goexit was called")
	clusterFails(t, func(t *tester, ctx context.Context, w *sim.World) {
		w.Host("a", func(ctx context.Context) error {
			defer t.Error("so it is")
			return rondo.Sleep(ctx, time.Second)
		})
		_ = rondo.Sleep(ctx, time.Hour)
	}, "so it is", "after 1s of virtual time", ", in main of a\n")
	clusterFails(t, func(t *tester, ctx context.Context, w *sim.World) {
		h := w.Host("a", func(ctx context.Context) error {
			defer runtime.Goexit()
			return rondo.WaitCanceled(ctx)
		})
		_ = rondo.Sleep(ctx, time.Second)
		h.Crash()
		_ = rondo.Sleep(ctx, time.Hour)
	}, "runtime.Goexit was called", "after 1s of virtual time")
	clusterFails(t, func(t *tester, ctx context.Context, w *sim.World) {
		w.Host("a", func(ctx context.Context) error {
			var m rondo.Mutex
			_ = m.Lock(ctx)
			if m.Lock(ctx) != nil {
				t.FailNow() // it does not hide why
			}
			return nil
		})
		_ = rondo.Sleep(ctx, time.Hour)
	}, "rondo: deadlock", "after 0s of virtual time")
	clusterFails(t, func(t *tester, ctx context.Context, w *sim.World) {
		rondo.Go(ctx, func(context.Context) error { return errors.New("so it is") }).SetName("culprit")
		_ = rondo.Yield(ctx)
	}, "seed 1: culprit failed and nobody waited for it: so it is")
	text := failing(t, func(t *tester) {
		one().Cluster(t, func(ctx context.Context, w *sim.World) {
			broken := false
			w.Host("a", func(ctx context.Context) error { broken = true; return errors.New("so it is") })
			w.Invariant("whole", func() error {
				if broken {
					return errors.New("a consequence")
				}
				return nil
			})
			_ = rondo.Sleep(ctx, time.Hour)
		})
	})
	if contains(t, text, "host a: so it is"); strings.Contains(text, "a consequence") {
		t.Errorf("not the first failure is reported:\n%s", text)
	}
	text = failing(t, func(t *tester) {
		c := one()
		c.Limit = time.Minute
		c.Cluster(t, func(ctx context.Context, w *sim.World) { _ = rondo.Sleep(ctx, time.Hour) })
	})
	contains(t, text, "no end after 1m0s of virtual time", "test: main is waiting for sleep")
	sim.Config{Limit: time.Minute, Exact: true}.Cluster(t, func(ctx context.Context, w *sim.World) {
		_ = rondo.Sleep(ctx, time.Minute)
	})
	clusterFails(t, func(t *tester, ctx context.Context, w *sim.World) {
		_ = rondo.Sleep(ctx, time.Hour)
		t.Fatal("so it is")
	}, "after 1h0m0s of virtual time")
	clusterFails(t, func(t *tester, ctx context.Context, w *sim.World) {
		for range 25 {
			rondo.Go(ctx, func(ctx context.Context) error { return new(rondo.Event).Wait(ctx) })
		}
		_, _ = rondo.NewFuture[int](ctx).Wait(ctx)
	}, "deadlock", "test: task-2 is waiting for event", "\n\tand more")
	handed := 0
	clusterFails(t, func(t *tester, ctx context.Context, w *sim.World) {
		handed++
		_ = rondo.NewQueue[int](1).Put(ctx, handed)
	}, "seed 1 is not deterministic", "a value was put into a queue")
	order := 0
	clusterFails(t, func(t *tester, ctx context.Context, w *sim.World) {
		order++
		w.Host("a", func(ctx context.Context) error {
			for range order {
				_ = rondo.Yield(ctx)
			}
			return nil
		})
		_ = rondo.Sleep(ctx, time.Second)
	}, "seed 1 is not deterministic")
}

// TestClusterEnd has the test's body, and a program that was killed, go on after their
// end: what they do to the cluster has no effect, and nothing is left behind.
func TestClusterEnd(t *testing.T) {
	sim.Cluster(t, func(ctx context.Context, w *sim.World) {
		boots := 0
		other := w.Host("other", func(ctx context.Context) error {
			boots++
			return rondo.Sleep(ctx, time.Hour)
		})
		h := w.Host("a", func(ctx context.Context) error {
			defer other.Crash()
			return rondo.Sleep(ctx, time.Hour)
		})
		_ = rondo.Sleep(ctx, 30*time.Second)
		h.Crash()
		_ = rondo.Sleep(ctx, 30*time.Second)
		if !other.Up() {
			t.Error("a dead program has crashed another host")
		}
		other.Crash()
		rondo.Go(ctx, func(ctx context.Context) error {
			_ = rondo.Sleep(ctx, time.Hour)
			other.Restart()
			w.Calm()
			w.Host("late", func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) })
			return nil
		})
		_ = rondo.Yield(ctx)
	})
}

// TestHostsThatExit: at the end of a test the deferred calls of every host run, although their
// waits fail, and also if those of another one end its goroutine.
func TestHostsThatExit(t *testing.T) {
	runs, cleaned := 0, 0
	one().Cluster(t, func(ctx context.Context, w *sim.World) {
		runs++
		for i := range 3 {
			w.Host(fmt.Sprint(i), func(ctx context.Context) error {
				defer runtime.Goexit()
				defer func() {
					for range 10 {
						_ = rondo.Sleep(ctx, time.Second)
					}
					cleaned++
				}()
				return rondo.WaitCanceled(ctx)
			})
		}
		_ = rondo.Sleep(ctx, time.Second)
	})
	if cleaned != 3*runs {
		t.Errorf("the deferred calls of %d hosts ran, of 3 in each of %d runs", cleaned, runs)
	}
}

// TestClusterMisuse holds what calls say that make no sense.
func TestClusterMisuse(t *testing.T) {
	for _, test := range []struct {
		what string
		body func(ctx context.Context, w *sim.World)
	}{
		{"with a nil boot function: it needs", func(_ context.Context, w *sim.World) { w.Host("a", nil) }},
		{`World.Host("test"): use a name that no other host has`, func(_ context.Context, w *sim.World) {
			w.Host("test", func(context.Context) error { return nil })
		}},
		{`Host.Crash of the host "test", which never fails`, func(ctx context.Context, _ *sim.World) { sim.HostOf(ctx).Crash() }},
		{"Host.SetClock with a rate of -1000000 ppm", func(ctx context.Context, _ *sim.World) { sim.HostOf(ctx).SetClock(0, -1e6) }},
		{`World.Invariant("x") with a nil function`, func(_ context.Context, w *sim.World) { w.Invariant("x", nil) }},
		{"runtime.Goexit was called", func(ctx context.Context, w *sim.World) {
			w.Invariant("x", func() error { runtime.Goexit(); return nil })
			_ = rondo.Yield(ctx)
		}},
		{`invariant "x": so it is`, func(ctx context.Context, w *sim.World) {
			w.Invariant("x", func() error { return errors.New("so it is") })
			w.Invariant("y", func() error { return nil })
			_ = rondo.Sleep(ctx, time.Second)
		}},
		{`invariant "y": so it is`, func(ctx context.Context, w *sim.World) {
			w.Invariant("x", func() error { return nil })
			w.Invariant("y", func() error { return errors.New("so it is") })
			_ = rondo.Sleep(ctx, time.Second)
		}},
		{"an invariant panicked: why", func(ctx context.Context, w *sim.World) {
			w.Invariant("x", func() error { panic("why") })
			_ = rondo.Sleep(ctx, time.Second)
		}},
		{"a History that has operations of another run", func(ctx context.Context, _ *sim.World) { outlives(t).Begin(ctx, 1) }},
		{"World.Cut with a host that is nil", func(ctx context.Context, w *sim.World) { w.Cut(nil, sim.HostOf(ctx)) }},
		{"World.Link with a host that is nil", func(ctx context.Context, w *sim.World) { w.Link(sim.HostOf(ctx), nil) }},
		{"World.Partition with a host that is nil", func(_ context.Context, w *sim.World) { w.Partition([]*sim.Host{nil}, nil) }},
		{`Host.Signal of the host "test", which never fails`, func(ctx context.Context, _ *sim.World) { sim.HostOf(ctx).Signal(os.Interrupt) }},
		{"World.Eventually with a nil function", func(ctx context.Context, w *sim.World) { _ = w.Eventually(ctx, 1, nil) }},
	} {
		clusterFails(t, func(_ *tester, ctx context.Context, w *sim.World) { test.body(ctx, w) }, test.what)
	}
	for _, row := range []struct {
		want string
		c    sim.Config
	}{
		{"Faults.Crash = -1", sim.Config{Faults: sim.Faults{Crash: -1}}},
		{"Faults.Crash = 1001", sim.Config{Faults: sim.Faults{Crash: 1001}}},
		{"Faults.Longest of -1ns for Pause", sim.Config{Faults: sim.Faults{Pause: 1, Longest: sim.Longest{Pause: -1}}}},
		{"PacketLoss = 2", sim.Config{Network: sim.Network{PacketLoss: 2}}},
		{"a negative field", sim.Config{Network: sim.Network{Latency: -1}}},
		{"a negative field", sim.Config{Limit: -1}},
	} {
		want, c := row.want, row.c
		for _, cluster := range []func(t testing.TB, body func(ctx context.Context, w *sim.World)){c.Cluster, c.ExploreCluster} {
			func() {
				defer func() {
					if v := fmt.Sprint(recover()); !strings.Contains(v, "Cluster with ") || !strings.Contains(v, want) {
						t.Errorf("%+v: %v", c, v)
					}
				}()
				cluster(t, func(context.Context, *sim.World) { t.Error("it ran") })
			}()
		}
	}
}

// TestNoHost: each method says what is wrong with the nil that HostOf returns outside a cluster,
// and with a Host that World.Host has not made.
func TestNoHost(t *testing.T) {
	for call, f := range map[string]func(h *sim.Host){
		"Name": func(h *sim.Host) { _ = h.Name() }, "Addr": func(h *sim.Host) { h.Addr() }, "Up": func(h *sim.Host) { h.Up() },
		"String": func(h *sim.Host) { _ = h.String() }, "Crash": (*sim.Host).Crash, "PowerFail": (*sim.Host).PowerFail,
		"Restart": (*sim.Host).Restart, "Pause": func(h *sim.Host) { h.Pause(1) }, "Slow": func(h *sim.Host) { h.Slow(1) },
		"SetDescriptors": func(h *sim.Host) { h.SetDescriptors(1) }, "Spare": (*sim.Host).Spare,
		"SetClock": func(h *sim.Host) { h.SetClock(1, 1) }, "Signal": func(h *sim.Host) { h.Signal(os.Interrupt) }, "Disk": func(h *sim.Host) { h.Disk() },
	} {
		for _, h := range []*sim.Host{sim.HostOf(t.Context()), new(sim.Host)} {
			func() {
				defer func() {
					if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "sim: Host."+call+" of nil, which HostOf returns") || !strings.HasSuffix(got, "use what World.Host has returned") {
						t.Errorf("%s: %s", call, got)
					}
				}()
				f(h)
			}()
		}
	}
	if n := reflect.TypeFor[*sim.Host]().NumMethod(); n != 14 {
		t.Errorf("Host has %d methods, of which 14 are tried", n)
	}
}

// outlives returns a History with an operation of a run that has ended.
func outlives(t *testing.T) *sim.History[int, int] {
	var h sim.History[int, int]
	sim.Config{Seeds: 1, SeedsShort: 1}.Test(t, func(ctx context.Context) {
		h = sim.History[int, int]{}
		h.Begin(ctx, 1).End(2)
	})
	return &h
}

// TestMostFaults: a thousand faults a second are as many as there may be.
func TestMostFaults(t *testing.T) {
	crashes := 0
	sim.Config{Seeds: 20, SeedsShort: 20, Faults: sim.Faults{Crash: 1000}}.Cluster(t, func(ctx context.Context, w *sim.World) {
		h := w.Host("a", rondo.WaitCanceled)
		_ = w.Eventually(ctx, time.Second, func() bool { return !h.Up() })
		if !h.Up() {
			crashes++
		}
	})
	if crashes == 0 {
		t.Error("no host has crashed")
	}
}

// TestFewHosts has faults strike in clusters that have no lesser half.
func TestFewHosts(t *testing.T) {
	for hosts := 1; hosts <= 2; hosts++ {
		boots := 0
		sim.Config{Seeds: 20, SeedsShort: 20, Faults: sim.Faults{Crash: 1}}.Cluster(t, func(ctx context.Context, w *sim.World) {
			for i := range hosts {
				w.Host(fmt.Sprint(i), func(ctx context.Context) error {
					boots++
					return rondo.Sleep(ctx, time.Hour)
				})
			}
			_ = rondo.Sleep(ctx, 10*time.Second)
		})
		if boots == 40*hosts { // each seed runs twice
			t.Errorf("no crash of %d hosts in 20 seeds", hosts)
		}
	}
}
