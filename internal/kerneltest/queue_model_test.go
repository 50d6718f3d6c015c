package kerneltest_test

// The kinds of Queue beside a naive model: a slice of values, and lists of the tasks that wait
// to put and to get.

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/pace"
	"github.com/rondo-go/rondo/sim"
)

// A card is a value of a queue. The queue orders cards by key; the number tells
// equal keys apart.
type card struct{ key, number int }

func lower(a, b card) bool { return a.key < b.key }

// A naiveQueue is a Queue, and beside it the values and the lists of the tasks
// that wait.
type naiveQueue struct {
	real     *rondo.Queue[card]
	max      int
	slides   bool
	next     func(cards []card) int
	cards    []card
	getters  []*queueWait
	putters  []*queueWait
	promised int
	reserved int
	dropped  uint64
	open     []*queueWait
	numbers  int
}

type queueWait struct {
	served, withdrawn bool
	scope             *rondo.Scope
}

var queueKinds = map[string]func(max int) *naiveQueue{
	"queue": func(max int) *naiveQueue {
		return &naiveQueue{real: rondo.NewQueue[card](max), max: max, next: func([]card) int { return 0 }}
	},
	"stack": func(max int) *naiveQueue {
		return &naiveQueue{real: rondo.NewStack[card](max), max: max, next: func(c []card) int { return len(c) - 1 }}
	},
	"priority": func(max int) *naiveQueue {
		return &naiveQueue{real: rondo.NewPriorityQueue(max, lower), max: max, next: func(c []card) int {
			least := 0
			for i := range c {
				if lower(c[i], c[least]) {
					least = i
				}
			}
			return least
		}}
	},
	"sliding": func(max int) *naiveQueue {
		if max == 0 {
			max = 2 // it always has a limit
		}
		return &naiveQueue{real: rondo.NewSlidingQueue[card](max), max: max, slides: true, next: func([]card) int { return 0 }}
	},
}

func (n *naiveQueue) card(key int) card {
	n.numbers++
	return card{key, n.numbers}
}

// pushed updates the model after a value went in. A value that took the place of another one wakes
// no task if every value is promised.
func (n *naiveQueue) pushed(c card) {
	if n.slides && len(n.cards) == n.max {
		n.cards = n.cards[1:]
		n.dropped++
	}
	n.cards = append(n.cards, c)
	if len(n.cards) > n.promised && serve(&n.getters) {
		n.promised++
	}
}

// popped compares the value that came out with the model, and updates it.
func (n *naiveQueue) popped(t testing.TB, got card) {
	t.Helper()
	i := n.next(n.cards)
	if n.cards[i] != got {
		t.Errorf("got %v from %v", got, n.cards)
	}
	n.cards = slices.Delete(n.cards, i, i+1)
	if serve(&n.putters) {
		n.reserved++
	}
}

// serve wakes the first task of the list that was not cancelled.
func serve(list *[]*queueWait) bool {
	for len(*list) > 0 {
		w := (*list)[0]
		*list = (*list)[1:]
		if !w.withdrawn {
			w.served = true
			return true
		}
	}
	return false
}

func (n *naiveQueue) full() bool {
	return n.max > 0 && !n.slides && len(n.cards)+n.reserved >= n.max
}

// cancellable calls fn with a ctx that cancel can cancel.
func (n *naiveQueue) cancellable(ctx context.Context, fn func(w *queueWait, ctx context.Context)) {
	w := new(queueWait)
	_ = rondo.Group(ctx, func(s *rondo.Scope) error {
		w.scope = s
		n.open = append(n.open, w)
		fn(w, s)
		return nil
	})
	n.open = slices.DeleteFunc(n.open, func(o *queueWait) bool { return o == w })
}

func (n *naiveQueue) cancel(i int) {
	w := n.open[i]
	w.withdrawn = !w.served
	w.scope.Cancel(errStop)
}

func (n *naiveQueue) put(t testing.TB, ctx context.Context, key int) {
	c := n.card(key)
	n.cancellable(ctx, func(w *queueWait, ctx context.Context) {
		waits := n.full()
		if waits {
			n.putters = append(n.putters, w)
		} else {
			w.served = true
			n.pushed(c)
		}
		err := n.real.Put(ctx, c)
		if (err == nil) != w.served {
			t.Errorf("Put returned %v; the model puts the value: %v", err, w.served)
		}
		if waits && err == nil {
			n.reserved--
			n.pushed(c)
		}
	})
}

func (n *naiveQueue) get(t testing.TB, ctx context.Context) {
	n.cancellable(ctx, func(w *queueWait, ctx context.Context) {
		waits := len(n.cards) == n.promised
		if waits {
			n.getters = append(n.getters, w)
		} else {
			w.served = true
		}
		c, err := n.real.Get(ctx)
		if (err == nil) != w.served {
			t.Errorf("Get returned %v; the model gets a value: %v", err, w.served)
		}
		if err == nil {
			if waits {
				n.promised--
			}
			n.popped(t, c)
		}
	})
}

func (n *naiveQueue) tryPut(t testing.TB, key int) {
	c, want := n.card(key), !n.full()
	if got := n.real.TryPut(c); got != want {
		t.Errorf("TryPut returned %v", got)
	} else if got {
		n.pushed(c)
	}
}

func (n *naiveQueue) tryGet(t testing.TB) {
	want := len(n.cards) > n.promised
	if n.real.Len() != len(n.cards)-n.promised {
		t.Errorf("Len is %d; there are %v, and %d are promised", n.real.Len(), n.cards, n.promised)
	}
	if c, got := n.real.TryGet(); got != want {
		t.Errorf("TryGet returned %v", got)
	} else if got {
		n.popped(t, c)
	}
}

// drain cancels tasks that wait until all have ended, and takes the values that
// are left.
func (n *naiveQueue) drain(t testing.TB, ctx context.Context, left *int) error {
	for *left > 0 {
		if err := rondo.Sleep(ctx, 1); err != nil {
			return err
		}
		if len(n.open) > 0 {
			n.cancel(0)
		}
	}
	for range len(n.cards) + 1 {
		n.tryGet(t)
	}
	if got := n.real.Dropped(); got != n.dropped {
		t.Errorf("Dropped is %d, want %d", got, n.dropped)
	}
	return nil
}

// TestQueuesAtRandom mixes puts, gets, tries and cancellations.
func TestQueuesAtRandom(t *testing.T) {
	for name, open := range queueKinds {
		for _, limit := range []int{0, 1, 3} {
			t.Run(fmt.Sprint(name, limit), func(t *testing.T) {
				exact.Test(t, func(ctx context.Context) {
					n, r, left := open(limit), sim.Rand(ctx), 6
					err := rondo.Group(ctx, func(s *rondo.Scope) error {
						for range left {
							s.Go(func(ctx context.Context) error {
								defer func() { left-- }()
								for range 50 {
									switch k := r.IntN(10); {
									case k < 3:
										n.put(t, ctx, r.IntN(4))
									case k < 6:
										n.get(t, ctx)
									case k == 6:
										n.tryPut(t, r.IntN(4))
									case k == 7:
										n.tryGet(t)
									case len(n.open) > 0:
										n.cancel(r.IntN(len(n.open)))
									}
									if r.IntN(2) == 0 {
										if err := rondo.Yield(ctx); err != nil {
											return err
										}
									}
								}
								return nil
							})
						}
						return n.drain(t, s, &left)
					})
					if err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}

// TestQueuesInEveryOrder: the puts and gets of two or three tasks, and a
// cancellation, in every order.
func TestQueuesInEveryOrder(t *testing.T) {
	for name, open := range queueKinds {
		for shape, ops := range map[string]string{"two gets": "ggpc", "two puts": "ppgc", "both": "gpgpc"} {
			t.Run(name+" "+shape, func(t *testing.T) {
				sim.Explore(t, func(ctx context.Context) {
					n, left := open(1), len(ops)
					err := rondo.Group(ctx, func(s *rondo.Scope) error {
						for i, op := range ops {
							s.Go(func(ctx context.Context) error {
								defer func() { left-- }()
								switch {
								case op == 'p':
									n.put(t, ctx, -i)
								case op == 'g':
									n.get(t, ctx)
								case len(n.open) > 0:
									n.cancel(len(n.open) - 1)
								}
								return nil
							})
						}
						return n.drain(t, s, &left)
					})
					if err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}

// TestQueuesLineUpAtOnce: a task that finds no value, or no room, is in the line at once, and gives
// others no turn before, also if its share is used up.
func TestQueuesLineUpAtOnce(t *testing.T) {
	for spent := pace.Operations - 2; spent <= pace.Operations; spent++ {
		exact.Test(t, func(ctx context.Context) {
			q := rondo.NewQueue[int](1)
			get := afterOperations(ctx, spent, func(ctx context.Context) error { _, err := q.Get(ctx); return err })
			if state := get.Info().State; state != "waiting" {
				t.Errorf("after %d operations and a Get of an empty queue the task is %s", spent, state)
			}
			q.TryPut(1)
			_ = get.Wait(ctx)
			q.TryPut(1)
			put := afterOperations(ctx, spent, func(ctx context.Context) error { return q.Put(ctx, 1) })
			if state := put.Info().State; state != "waiting" {
				t.Errorf("after %d operations and a Put into a full queue the task is %s", spent, state)
			}
			q.TryGet()
			_ = put.Wait(ctx)
		})
	}
}

// TestAbortKeepsWhatIsPromised: Abort drops the values, except the next ones,
// which Gets were woken for.
func TestAbortKeepsWhatIsPromised(t *testing.T) {
	for name, want := range map[string][]card{"queue": {{4, 1}, {2, 2}}, "stack": {{3, 3}, {2, 2}}, "priority": {{2, 2}, {3, 3}}} {
		t.Run(name, func(t *testing.T) {
			sim.Explore(t, func(ctx context.Context) {
				n := queueKinds[name](0)
				var got []card
				var gets []*rondo.Task
				for range want {
					gets = append(gets, rondo.Go(ctx, func(ctx context.Context) error {
						c, err := n.real.Get(ctx)
						got = append(got, c)
						return err
					}))
				}
				if err := rondo.Sleep(ctx, 1); err != nil {
					t.Error(err)
				}
				for _, key := range []int{4, 2, 3} {
					n.real.TryPut(n.card(key))
				}
				n.real.Abort()
				if n.real.Len() != 0 {
					t.Errorf("%d values are left", n.real.Len())
				}
				for _, g := range gets {
					if err := g.Wait(ctx); err != nil {
						t.Error(err)
					}
					n.real.TaskDone()
				}
				if !slices.Equal(got, want) {
					t.Errorf("the Gets returned %v, want %v", got, want)
				}
				if err := n.real.Join(ctx); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
