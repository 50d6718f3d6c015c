package kerneltest_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// A naiveCond is a Cond, and beside it the list of the tasks that wait. A wait
// that was woken returns nil, a wait that was cancelled before that returns the
// cause, and both hold the lock when they return.
type naiveCond struct {
	mu     rondo.Mutex
	cond   rondo.Cond
	list   []*condWait
	all    []*condWait
	holder *condWait
	woken  int
}

type condWait struct {
	woken, cancelled bool
	scope            *rondo.Scope
}

func newNaiveCond() *naiveCond {
	n := new(naiveCond)
	n.cond.L = &n.mu
	return n
}

// wait locks, waits once, and keeps the lock for one turn after that.
func (n *naiveCond) wait(t testing.TB, ctx context.Context) error {
	if err := n.mu.Lock(ctx); err != nil {
		return err
	}
	w := new(condWait)
	var got error
	_ = rondo.Group(ctx, func(s *rondo.Scope) error {
		w.scope = s
		n.list, n.all = append(n.list, w), append(n.all, w)
		got = n.cond.Wait(s)
		return nil
	})
	n.all = slices.DeleteFunc(n.all, func(o *condWait) bool { return o == w })
	if (got == nil) != w.woken || w.cancelled && !w.woken && got != errStop {
		t.Errorf("Wait returned %v; it was woken: %v, cancelled: %v", got, w.woken, w.cancelled)
	}
	if got == nil {
		n.woken++
	}
	if n.holder != nil {
		t.Error("Wait returned while another task held L")
	}
	n.holder = w
	err := rondo.Yield(ctx)
	if n.holder != w {
		t.Error("Wait returned without L")
	}
	n.holder = nil
	n.mu.Unlock()
	return err
}

func (n *naiveCond) signal() int {
	for i, w := range n.list {
		if !w.cancelled {
			w.woken = true
			n.list = n.list[i+1:]
			n.cond.Signal()
			return 1
		}
	}
	n.list = nil
	n.cond.Signal()
	return 0
}

func (n *naiveCond) broadcast() (woken int) {
	for _, w := range n.list {
		if !w.cancelled {
			w.woken = true
			woken++
		}
	}
	n.list = nil
	n.cond.Broadcast()
	return woken
}

func (n *naiveCond) cancel(w *condWait) {
	w.cancelled = true
	w.scope.Cancel(errStop)
}

// TestCondInEveryOrder: one or two tasks wait, one signals, one cancels a waiting
// task before or after the signal, and at the end all are woken.
func TestCondInEveryOrder(t *testing.T) {
	for _, c := range []struct{ waiting, signals, cancelled, late int }{
		{1, 1, 0, 0}, {1, 1, 0, 1}, {2, 1, 0, 0}, {2, 1, 1, 0}, {2, 1, 0, 1}, {2, 2, 0, 0}, {2, 1, 0, 2},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			sim.Explore(t, func(ctx context.Context) {
				n := newNaiveCond()
				want, left := 0, c.waiting
				err := rondo.Group(ctx, func(s *rondo.Scope) error {
					for range c.waiting {
						s.Go(func(ctx context.Context) error {
							defer func() { left-- }()
							return n.wait(t, ctx)
						})
					}
					s.Go(func(ctx context.Context) error {
						for range c.signals {
							want += n.signal()
						}
						return nil
					})
					s.Go(func(ctx context.Context) error {
						for range c.late {
							if err := rondo.Yield(ctx); err != nil {
								return err
							}
						}
						if len(n.all) > c.cancelled {
							n.cancel(n.all[c.cancelled])
						}
						return nil
					})
					for left > 0 {
						if err := rondo.Sleep(s, 1); err != nil {
							return err
						}
						want += n.broadcast()
					}
					return nil
				})
				if err != nil || n.woken != want || !n.mu.TryLock() {
					t.Errorf("Group returned %v; %d waits were woken, want %d", err, n.woken, want)
				}
			})
		})
	}
}

// TestCondAtRandom mixes waits, signals, broadcasts and cancellations.
func TestCondAtRandom(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		n := newNaiveCond()
		r := sim.Rand(ctx)
		left, want := 6, 0
		err := rondo.Group(ctx, func(s *rondo.Scope) error {
			for range left {
				s.Go(func(ctx context.Context) error {
					defer func() { left-- }()
					for range 40 {
						switch k := r.IntN(8); {
						case k == 0:
							want += n.broadcast()
						case k == 1:
							want += n.signal()
						case k == 2 && len(n.all) > 0:
							n.cancel(n.all[r.IntN(len(n.all))])
						default:
							if err := n.wait(t, ctx); err != nil {
								return err
							}
						}
						if err := rondo.Yield(ctx); err != nil {
							return err
						}
					}
					return nil
				})
			}
			for left > 0 {
				if err := rondo.Sleep(s, 1); err != nil {
					return err
				}
				want += n.signal()
			}
			return nil
		})
		if err != nil || n.woken != want {
			t.Errorf("Group returned %v; %d waits were woken, want %d", err, n.woken, want)
		}
	})
}
