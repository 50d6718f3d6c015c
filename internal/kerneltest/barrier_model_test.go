package kerneltest_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// A naiveBarrier is a Barrier, and beside it the list of the tasks that wait at
// it.
type naiveBarrier struct {
	n      int
	real   *rondo.Barrier
	broken bool
	now    *naiveRound
	open   []*barrierWait // those that may be cancelled
	passed int
}

// A naiveRound has the tasks that go on together, and the indices they were
// given.
type naiveRound struct {
	list    []*barrierWait
	indices []int
}

type barrierWait struct {
	want  error
	woken bool
	scope *rondo.Scope
}

func newNaiveBarrier(n int) *naiveBarrier {
	return &naiveBarrier{n: n, real: rondo.NewBarrier(n), now: new(naiveRound)}
}

func (n *naiveBarrier) wait(t testing.TB, ctx context.Context) {
	w := &barrierWait{}
	r := n.now
	var index int
	var got error
	_ = rondo.Group(ctx, func(s *rondo.Scope) error {
		w.scope = s
		n.open = append(n.open, w)
		if n.broken {
			w.want, w.woken = rondo.ErrBrokenBarrier, true
		} else if r.list = append(r.list, w); len(r.list) == n.n {
			n.wake(nil)
		}
		index, got = n.real.Wait(s)
		return nil
	})
	n.open = slices.DeleteFunc(n.open, func(o *barrierWait) bool { return o == w })
	if !w.woken || got != w.want {
		t.Errorf("Wait returned %v, want %v; it was woken: %v", got, w.want, w.woken)
	}
	if got != nil && index != -1 {
		t.Errorf("Wait returned the index %d with an error", index)
	}
	if got == nil {
		n.passed++
		if index < 0 || index >= n.n || slices.Contains(r.indices, index) || w == r.list[n.n-1] && index != n.n-1 {
			t.Errorf("the index is %d, after %v", index, r.indices)
		}
		r.indices = append(r.indices, index)
	}
}

func (n *naiveBarrier) wake(err error) {
	for _, w := range n.now.list {
		w.want, w.woken = err, true
	}
	n.now = new(naiveRound)
}

func (n *naiveBarrier) cancel(w *barrierWait) {
	if !w.woken {
		n.now.list = slices.DeleteFunc(n.now.list, func(o *barrierWait) bool { return o == w })
		w.want, w.woken = errStop, true
	}
	w.scope.Cancel(errStop)
}

func (n *naiveBarrier) abort() {
	n.wake(rondo.ErrBrokenBarrier)
	n.broken = true
	n.real.Abort()
}

func (n *naiveBarrier) reset() {
	n.wake(rondo.ErrBrokenBarrier)
	n.broken = false
	n.real.Reset()
}

// TestBarrierInEveryOrder: three tasks come to a Barrier for one to three tasks,
// one of them twice, while another cancels, aborts or resets.
func TestBarrierInEveryOrder(t *testing.T) {
	acts := map[string]func(n *naiveBarrier){
		"nothing": func(n *naiveBarrier) {},
		"abort":   (*naiveBarrier).abort,
		"reset":   (*naiveBarrier).reset,
		"renew":   func(n *naiveBarrier) { n.abort(); n.reset() },
		"cancel": func(n *naiveBarrier) {
			if len(n.open) > 0 {
				n.cancel(n.open[0])
			}
		},
		"cancel all": func(n *naiveBarrier) {
			for _, w := range slices.Clone(n.open) {
				n.cancel(w)
			}
		},
	}
	for name, act := range acts {
		for parties := 1; parties <= 3; parties++ {
			t.Run(fmt.Sprint(name, parties), func(t *testing.T) {
				sim.Explore(t, func(ctx context.Context) {
					n := newNaiveBarrier(parties)
					left := 3
					err := rondo.Group(ctx, func(s *rondo.Scope) error {
						for i := range left {
							s.Go(func(ctx context.Context) error {
								defer func() { left-- }()
								n.wait(t, ctx)
								if i == 0 {
									n.wait(t, ctx)
								}
								return nil
							})
						}
						s.Go(func(ctx context.Context) error { act(n); return nil })
						for left > 0 {
							if err := rondo.Sleep(s, 1); err != nil {
								return err
							}
							for len(n.open) > 0 && left > 0 {
								n.cancel(n.open[0])
								if err := rondo.Sleep(s, 1); err != nil {
									return err
								}
							}
						}
						return nil
					})
					if err != nil || n.passed%parties != 0 {
						t.Errorf("Group returned %v; %d waits succeeded", err, n.passed)
					}
				})
			})
		}
	}
}
