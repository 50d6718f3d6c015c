package kerneltest_test

// Mutex, RWMutex and Semaphore beside one naive model of a gate:
// a list of the tasks that ask, in their order. Each task asks the model and the
// real gate at the same moment, and compares when it is back.

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/pace"
	"github.com/rondo-go/rondo/sim"
)

// A gate is a Mutex, an RWMutex or a Semaphore.
type gate struct {
	enter  func(ctx context.Context, write bool) error
	try    func(write bool) bool
	leave  func(write bool)
	resize func(n int) // nil if it has no size
}

func mutexGate() (gate, *naiveGate) {
	var m rondo.Mutex
	return gate{
		enter: func(ctx context.Context, _ bool) error { return m.Lock(ctx) },
		try:   func(bool) bool { return m.TryLock() },
		leave: func(bool) { m.Unlock() },
	}, &naiveGate{size: 1}
}

func semaphoreGate() (gate, *naiveGate) {
	s := rondo.NewSemaphore(2)
	return gate{
		enter:  func(ctx context.Context, _ bool) error { return s.Acquire(ctx) },
		try:    func(bool) bool { return s.TryAcquire() },
		leave:  func(bool) { s.Release() },
		resize: s.Resize,
	}, &naiveGate{size: 2}
}

func rwGate() (gate, *naiveGate) {
	var m rondo.RWMutex
	return gate{
		enter: func(ctx context.Context, write bool) error {
			if write {
				return m.Lock(ctx)
			}
			return m.RLock(ctx)
		},
		try: func(write bool) bool {
			if write {
				return m.TryLock()
			}
			return m.TryRLock()
		},
		leave: func(write bool) {
			if write {
				m.Unlock()
			} else {
				m.RUnlock()
			}
		},
	}, &naiveGate{size: 1 << 30, writes: true}
}

var gates = map[string]func() (gate, *naiveGate){"mutex": mutexGate, "rwmutex": rwGate, "semaphore": semaphoreGate}

// A naiveGate lets in size tasks at once, or one that writes.
type naiveGate struct {
	size   int
	writes bool // those that write are alone
	inside []*visit
	line   []*visit
	all    []*visit // those that may be cancelled
}

// A visit is one task's wish to come in. One that was cancelled in the line keeps
// its place until it runs, but is never let in.
type visit struct {
	write, in, withdrawn bool
	scope                *rondo.Scope
}

func (n *naiveGate) fits(v *visit) bool {
	if n.writes {
		return len(n.inside) == 0 || !v.write && !n.inside[0].write
	}
	return len(n.inside) < n.size
}

func (n *naiveGate) letIn() {
	for len(n.line) > 0 && n.fits(n.line[0]) {
		v := n.line[0]
		n.line = n.line[1:]
		if !v.withdrawn {
			v.in = true
			n.inside = append(n.inside, v)
		}
	}
}

func (n *naiveGate) ask(v *visit) {
	n.line, n.all = append(n.line, v), append(n.all, v)
	n.letIn()
}

func (n *naiveGate) cancel(v *visit) {
	v.withdrawn = !v.in
	v.scope.Cancel(errStop)
}

func (n *naiveGate) leave(v *visit) {
	n.inside = slices.DeleteFunc(n.inside, func(o *visit) bool { return o == v })
	n.letIn()
}

func (n *naiveGate) returned(v *visit) {
	gone := func(o *visit) bool { return o == v }
	n.all = slices.DeleteFunc(n.all, gone)
	if v.withdrawn {
		n.line = slices.DeleteFunc(n.line, gone)
		n.letIn()
	}
}

// call goes through the gate once: in, a few turns, out.
func (n *naiveGate) call(t testing.TB, ctx context.Context, g gate, write bool, turns int) {
	v := &visit{write: write}
	var got error
	_ = rondo.Group(ctx, func(s *rondo.Scope) error {
		v.scope = s
		n.ask(v)
		got = g.enter(s, write)
		return nil
	})
	n.returned(v)
	if (got == nil) != v.in || v.withdrawn && got != errStop {
		t.Errorf("the gate returned %v; the model lets the task in: %v", got, v.in)
	}
	if got == nil {
		n.stay(t, ctx, g, v, turns)
	}
}

func (n *naiveGate) stay(t testing.TB, ctx context.Context, g gate, v *visit, turns int) {
	for range turns {
		if err := rondo.Yield(ctx); err != nil {
			t.Error(err)
		}
		if n.writes && (v.write && len(n.inside) != 1 || len(n.inside) == 0) {
			t.Errorf("%d tasks are inside with one that writes", len(n.inside))
		}
	}
	n.leave(v)
	g.leave(v.write)
}

func (n *naiveGate) try(t testing.TB, ctx context.Context, g gate, write bool) {
	v := &visit{write: write}
	if want := len(n.line) == 0 && n.fits(v); g.try(write) != want {
		t.Errorf("a try returned %v", !want)
	} else if want {
		v.in = true
		n.inside = append(n.inside, v)
		n.stay(t, ctx, g, v, 1)
	}
}

// TestGatesInEveryOrder: three tasks go through each gate, and two of them are
// cancelled, in every order.
func TestGatesInEveryOrder(t *testing.T) {
	for name, open := range gates {
		kinds := 1
		if name == "rwmutex" {
			kinds = 8
		}
		for kind := range kinds {
			for late := range 2 {
				t.Run(fmt.Sprint(name, kind, late), func(t *testing.T) {
					sim.Explore(t, func(ctx context.Context) {
						g, n := open()
						err := rondo.Group(ctx, func(s *rondo.Scope) error {
							for i := range 3 {
								s.Go(func(ctx context.Context) error {
									n.call(t, ctx, g, kind>>i&1 == 1, 1)
									return nil
								})
							}
							s.Go(func(ctx context.Context) error {
								for range late {
									if err := rondo.Yield(ctx); err != nil {
										return err
									}
								}
								for i, v := range slices.Clone(n.all) {
									if i != 1 || late == 0 {
										n.cancel(v)
									}
								}
								return nil
							})
							return nil
						})
						if err != nil || len(n.inside)+len(n.line) > 0 || !g.try(true) {
							t.Errorf("Group returned %v; %d tasks are inside at the end, %d in the line", err, len(n.inside), len(n.line))
						}
					})
				})
			}
		}
	}
}

// TestGatesLineUpAtOnce: a task that does not come in is in the line at once, and gives others no
// turn before, also if its share is used up.
func TestGatesLineUpAtOnce(t *testing.T) {
	for name, open := range gates {
		for _, writes := range [][2]bool{{true, true}, {true, false}, {false, true}} { // who is inside, who asks
			for spent := pace.Operations - 2; spent <= pace.Operations; spent++ {
				exact.Test(t, func(ctx context.Context) {
					g, n := open()
					for range n.size { // which is full then
						if g.try(writes[0]); n.writes {
							break
						}
					}
					task := afterOperations(ctx, spent, func(ctx context.Context) error {
						err := g.enter(ctx, writes[1])
						g.leave(writes[1])
						return err
					})
					if state := task.Info().State; state != "waiting" {
						t.Errorf("%s: after %d operations and a call that cannot go on the task is %s", name, spent, state)
					}
					g.leave(writes[0])
					_ = task.Wait(ctx)
				})
			}
		}
	}
}

// afterOperations starts a task that does spent operations and then wait, and returns when it has
// begun with that.
func afterOperations(ctx context.Context, spent int, wait func(ctx context.Context) error) *rondo.Task {
	asked := false
	task := rondo.Go(ctx, func(ctx context.Context) error {
		for range spent {
			_ = rondo.Checkpoint(ctx)
		}
		asked = true
		return wait(ctx)
	})
	until(ctx, func() bool { return asked })
	return task
}

// TestGatesAtRandom mixes calls, tries, cancellations and sizes.
func TestGatesAtRandom(t *testing.T) {
	for name, open := range gates {
		t.Run(name, func(t *testing.T) {
			exact.Test(t, func(ctx context.Context) {
				g, n := open()
				r := sim.Rand(ctx)
				err := rondo.Group(ctx, func(s *rondo.Scope) error {
					for range 8 {
						s.Go(func(ctx context.Context) error {
							for range 60 {
								write := r.IntN(3) == 0
								switch r.IntN(8) {
								case 0:
									n.try(t, ctx, g, write)
								case 1, 2:
									for range min(len(n.all), 1+r.IntN(3)) {
										n.cancel(n.all[r.IntN(len(n.all))])
									}
								case 3:
									if g.resize != nil {
										n.size = r.IntN(5)
										n.letIn()
										g.resize(n.size)
									}
								default:
									n.call(t, ctx, g, write, r.IntN(4))
								}
								if err := rondo.Yield(ctx); err != nil {
									return err
								}
								if n.size == 0 && len(n.inside) == 0 {
									n.size = 1
									n.letIn()
									g.resize(1)
								}
							}
							return nil
						})
					}
					// A gate of size 0 is opened again before all tasks wait at it.
					return reopen(s, n, g)
				})
				if err != nil || len(n.inside)+len(n.line) > 0 {
					t.Errorf("Group returned %v; %d tasks are inside at the end, %d in the line", err, len(n.inside), len(n.line))
				}
			})
		})
	}
}

func reopen(ctx context.Context, n *naiveGate, g gate) error {
	for range 200 {
		if err := rondo.Sleep(ctx, 1); err != nil {
			return err
		}
		if g.resize != nil {
			n.size = max(n.size, 1)
			n.letIn()
			g.resize(n.size)
		}
	}
	return nil
}
