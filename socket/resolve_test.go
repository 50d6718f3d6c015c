//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package socket

// The race of addresses needs no descriptors, so it runs in simulation,
// where time is exact.

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/kernel"
	"github.com/rondo-go/rondo/sim"
)

func addrs(list ...string) []netip.AddrPort {
	var all []netip.AddrPort
	for _, s := range list {
		all = append(all, netip.AddrPortFrom(netip.MustParseAddr(s), 80))
	}
	return all
}

// TestSuitable: families alternate, and addresses that the network or the local
// address does not allow are left out.
func TestSuitable(t *testing.T) {
	for _, c := range []struct {
		network, from string
		in, want      []string
	}{
		{"tcp", "", []string{"::1", "::2", "::3", "1.1.1.1", "2.2.2.2"}, []string{"::1", "1.1.1.1", "::2", "2.2.2.2", "::3"}},
		{"tcp", "", []string{"1.1.1.1", "::1", "::2"}, []string{"1.1.1.1", "::1", "::2"}},
		{"tcp", "", []string{"1.1.1.1"}, []string{"1.1.1.1"}},
		{"tcp4", "", []string{"::1", "1.1.1.1"}, []string{"1.1.1.1"}},
		{"tcp6", "", []string{"::1", "1.1.1.1"}, []string{"::1"}},
		{"tcp6", "", []string{"1.1.1.1"}, nil},
		{"tcp", "9.9.9.9", []string{"::1", "1.1.1.1"}, []string{"1.1.1.1"}},
		{"tcp", "::9", []string{"1.1.1.1"}, nil},
		{"tcp", "::", []string{"::1", "1.1.1.1"}, []string{"::1", "1.1.1.1"}},
	} {
		var from netip.AddrPort
		if c.from != "" {
			from = addrs(c.from)[0]
		}
		got, err := suitable(addrs(c.in...), c.network, from, "host:80")
		if !slices.Equal(got, addrs(c.want...)) || (err != nil) != (c.want == nil) {
			t.Errorf("%s from %q, of %v: %v, %v", c.network, c.from, c.in, got, err)
		}
	}
}

// A host is an address that answers after some time, with a connection or an
// error.
type host struct {
	after time.Duration
	ok    bool
}

// TestRace: which address wins, when, and in what order they were tried.
func TestRace(t *testing.T) {
	const delay = 300 * time.Millisecond
	for name, c := range map[string]struct {
		hosts  []host
		winner int // -1: none
		took   time.Duration
		tried  int
	}{
		"the first is quick":       {[]host{{10, true}, {0, true}}, 0, 10, 1},
		"the first is slow":        {[]host{{1000, true}, {10, true}, {0, true}}, 1, 310, 2},
		"the first wins late":      {[]host{{350, true}, {100, true}}, 0, 350, 2},
		"failures hurry":           {[]host{{10, false}, {20, false}, {30, true}}, 2, 60, 3},
		"a late failure":           {[]host{{400, false}, {1000, true}, {2000, true}}, 1, 1300, 3},
		"all fail":                 {[]host{{10, false}, {500, false}, {20, false}}, -1, 510, 3},
		"the last fails first":     {[]host{{1000, false}, {10, false}}, -1, 1000, 2},
		"the last fails, one wins": {[]host{{1000, true}, {10, false}}, 0, 1000, 2},
	} {
		t.Run(name, func(t *testing.T) {
			sim.Config{Exact: true}.Test(t, func(ctx context.Context) {
				var to []netip.AddrPort
				for i := range c.hosts {
					to = append(to, addrs(fmt.Sprintf("10.0.0.%d", i))...)
				}
				conns := make([]*Conn, len(to))
				tried, left := 0, 0
				start := rondo.Now(ctx)
				got, err := race(ctx, to, delay, func(ctx context.Context, a netip.AddrPort) (*Conn, error) {
					i := slices.Index(to, a)
					if i != tried {
						t.Errorf("address %d was tried as number %d", i, tried)
					}
					tried++
					left++
					defer func() { left-- }()
					if err := rondo.Sleep(ctx, c.hosts[i].after*time.Millisecond); err != nil {
						return nil, err
					}
					if !c.hosts[i].ok {
						return nil, fmt.Errorf("host %d", i)
					}
					conns[i] = new(Conn)
					return conns[i], nil
				})
				if took := rondo.Now(ctx).Sub(start); took != c.took*time.Millisecond {
					t.Errorf("it took %v", took)
				}
				if tried != c.tried || left != 0 {
					t.Errorf("%d were tried, %d go on", tried, left)
				}
				if c.winner < 0 {
					if err == nil || err.Error() != "host 0" {
						t.Errorf("the error is %v, not the first", err)
					}
				} else if err != nil || got != conns[c.winner] {
					t.Errorf("another one won: %v", err)
				}
			})
		})
	}
}

// TestRaceCancelled: cancelling ctx ends all attempts.
func TestRaceCancelled(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		left := 0
		err := rondo.Timeout(ctx, time.Second, func(ctx context.Context) error {
			_, err := race(ctx, addrs("1.1.1.1", "2.2.2.2", "3.3.3.3"), 300*time.Millisecond, func(ctx context.Context, a netip.AddrPort) (*Conn, error) {
				left++
				defer func() { left-- }()
				return nil, rondo.Sleep(ctx, time.Hour)
			})
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("race returned %v", err)
			}
			return err
		})
		if !errors.Is(err, context.DeadlineExceeded) || left != 0 {
			t.Errorf("%v, and %d attempts go on", err, left)
		}
	})
}

// TestRaceBothConnect: if two attempts succeed at once, one wins and the other is
// closed.
func TestRaceBothConnect(t *testing.T) {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		l, err := Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer l.Close()
		var conns []*Conn
		var connected rondo.Event
		winner, err := race(ctx, addrs("10.0.0.1", "10.0.0.2"), time.Nanosecond, func(ctx context.Context, _ netip.AddrPort) (*Conn, error) {
			var mine *Conn
			err := rondo.Shield(ctx, func(ctx context.Context) error {
				c, err := Dial(ctx, "tcp", l.Addr().String())
				if err != nil {
					return err
				}
				mine = c.(*Conn)
				if conns = append(conns, mine); len(conns) == 2 {
					connected.Set()
				}
				return connected.Wait(ctx)
			})
			return mine, err
		})
		if err != nil {
			return err
		}
		for _, c := range conns {
			if err := c.SetDeadline(time.Time{}); (c == winner) != (err == nil) {
				t.Errorf("of the winner, %v: %v", c == winner, err)
			}
		}
		return winner.Close()
	})
	if err != nil {
		t.Error(err)
	}
}

// TestInTurn: one address after the other, each with a share of the time.
func TestInTurn(t *testing.T) {
	sim.Config{Exact: true}.Test(t, func(ctx context.Context) {
		var spans []time.Duration
		hang := func(ctx context.Context, a netip.AddrPort) (*Conn, error) {
			start := rondo.Now(ctx)
			err := rondo.Sleep(ctx, time.Hour)
			spans = append(spans, rondo.Now(ctx).Sub(start))
			return nil, err
		}
		err := rondo.Timeout(ctx, 9*time.Second, func(ctx context.Context) error {
			_, err := trySerial(ctx, addrs("1.1.1.1", "2.2.2.2", "3.3.3.3"), hang)
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the first address has not answered in its share: %v", err)
			}
			return err
		})
		if want := []time.Duration{3 * time.Second, 3 * time.Second, 3 * time.Second}; !slices.Equal(spans, want) || err == nil {
			t.Errorf("%v, %v", spans, err)
		}
		// As long as there are two, none gets less than two seconds.
		spans = nil
		_ = rondo.Timeout(ctx, 5*time.Second, func(ctx context.Context) error {
			_, err := trySerial(ctx, addrs("1.1.1.1", "2.2.2.2", "3.3.3.3", "4.4.4.4"), hang)
			return err
		})
		if want := []time.Duration{2 * time.Second, 2 * time.Second, time.Second}; !slices.Equal(spans, want) {
			t.Errorf("%v", spans)
		}
		refuses := errors.New("no")
		err = rondo.Timeout(ctx, 5*time.Second, func(ctx context.Context) error {
			_, err := trySerial(ctx, addrs("1.1.1.1", "2.2.2.2"), func(context.Context, netip.AddrPort) (*Conn, error) { return nil, refuses })
			return err
		})
		if err != refuses {
			t.Errorf("both refuse: %v", err)
		}
		c := new(Conn)
		got, err := trySerial(ctx, addrs("1.1.1.1", "2.2.2.2"), func(ctx context.Context, a netip.AddrPort) (*Conn, error) {
			if a.Addr().String() == "1.1.1.1" {
				return nil, refuses
			}
			return c, nil
		})
		if got != c || err != nil {
			t.Errorf("%v", err)
		}
	})
}

// opened counts how often it is closed.
type opened struct{ closes atomic.Int32 }

func (o *opened) Close() error { o.closes.Add(1); return nil }

// TestLookUpCancelled: what is open when the task that wanted it is cancelled is closed, once,
// whether the task or the goroutine that opened it comes last.
func TestLookUpCancelled(t *testing.T) {
	sim.Config{Seeds: 60, SeedsShort: 60}.Test(t, func(ctx context.Context) {
		var o, result *opened
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) (err error) {
				result, err = lookUp(ctx, kernel.Of(ctx), "name:80", func(context.Context) (*opened, error) {
					o = new(opened)
					return o, nil
				})
				return err
			})
			g.Go(func(ctx context.Context) error {
				for range sim.Choose(ctx, 8) {
					_ = rondo.Yield(ctx)
				}
				g.Cancel(nil)
				return nil
			})
			return nil
		})
		_ = rondo.Sleep(ctx, time.Second)
		dropped := result == nil && o != nil
		sim.Sometimes(ctx, dropped, "the task is cancelled when it is open")
		sim.Sometimes(ctx, result != nil, "the task gets it")
		if dropped && o.closes.Load() != 1 || result != nil && o.closes.Load() != 0 {
			t.Errorf("it was closed %d times, and the task has it: %v", o.closes.Load(), result != nil)
		}
	})
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		begun, release, o := make(chan bool), make(chan bool), new(opened)
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error {
				_, err := lookUp(ctx, kernel.Of(ctx), "name:80", func(context.Context) (*opened, error) {
					begun <- true
					<-release
					return o, nil
				})
				return err
			})
			_, _, err := rondo.Receive(ctx, begun)
			g.Cancel(nil)
			return err
		})
		close(release)
		for o.closes.Load() == 0 && err == nil {
			err = rondo.Sleep(ctx, 50*time.Microsecond)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
