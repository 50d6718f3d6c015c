package mistakes

// Mistakes of tasks that share a loop.

import (
	"context"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// tasks runs functions as the tasks of a group.
func tasks(ctx context.Context, fns ...func(ctx context.Context)) {
	_ = rondo.Group(ctx, func(g *rondo.Scope) error {
		for _, fn := range fns {
			g.Go(func(ctx context.Context) error { fn(ctx); return nil })
		}
		return nil
	})
}

// call takes up to 10 ms.
func call(ctx context.Context) { _ = rondo.Sleep(ctx, ms+time.Duration(sim.Choose(ctx, 90))*ms/10) }

// loops are programs of one loop.
var loops = []mistake{
	{name: "lease used after its end", budget: 2000, loop: func(ctx context.Context, fixed bool) {
		// Check, then act: between the two the lease may end. The storage may refuse an
		// old token.
		const lease = 200 * ms
		holder, until, tokens, newest, late := 0, time.Time{}, 0, 0, false
		work := func(me int) func(ctx context.Context) {
			return func(ctx context.Context) {
				for range 10 {
					if rondo.Now(ctx).Before(until) && holder != me {
						_ = rondo.Sleep(ctx, 50*ms)
						continue
					}
					tokens++
					token := tokens
					holder, until = me, rondo.Now(ctx).Add(lease)
					for rondo.Now(ctx).Before(until.Add(-lease / 2)) {
						call(ctx) // the write travels
						if fixed && token < newest {
							break
						}
						late = late || token < newest
						newest = token
					}
					_ = rondo.Sleep(ctx, lease)
				}
			}
		}
		tasks(ctx, work(1), work(2))
		sim.Always(ctx, !late, "nobody writes after the next holder")
	}},
	{name: "unlocked by another", budget: 500, loop: func(ctx context.Context, fixed bool) {
		// A lock that ends by itself; who is late releases that of another.
		owner, inside, both := 0, 0, false
		use := func(me int) func(ctx context.Context) {
			return func(ctx context.Context) {
				for range 3 {
					for owner != 0 {
						_ = rondo.Sleep(ctx, 5*ms)
					}
					owner = me
					rondo.Go(ctx, func(ctx context.Context) error {
						_ = rondo.Sleep(ctx, 50*ms)
						if owner == me && !fixed {
							owner = 0
						}
						return nil
					})
					inside++
					both = both || inside > 1
					call(ctx)
					inside--
					if !fixed || owner == me {
						owner = 0
					}
				}
			}
		}
		tasks(ctx, use(1), use(2), use(3))
		sim.Always(ctx, !both, "one is inside")
	}},
	{name: "queue that drops at shutdown", budget: 500, loop: func(ctx context.Context, fixed bool) {
		q := rondo.NewQueue[int](4)
		accepted, done := 0, 0
		stop, cancel := rondo.NewFuture[bool](ctx), false
		tasks(ctx, func(ctx context.Context) {
			for i := range 10 {
				if cancel {
					break
				}
				if q.Put(ctx, i) == nil {
					accepted++
				}
				call(ctx)
			}
			q.Close()
		}, func(ctx context.Context) {
			for {
				if cancel && (!fixed || q.Len() == 0) {
					return
				}
				if _, err := q.Get(ctx); err != nil {
					return
				}
				call(ctx)
				done++
			}
		}, func(ctx context.Context) {
			_ = rondo.Sleep(ctx, 30*ms)
			cancel = true
			stop.Set(true)
		})
		for fixed && q.Len() > 0 {
			_, _ = q.Get(ctx)
			done++
		}
		sim.Always(ctx, accepted == done, "what was accepted is done")
	}},
	{name: "ABA in a pool", budget: 2000, loop: func(ctx context.Context, fixed bool) {
		// A free list: the head is read, then changed if it is the same.
		type node struct {
			next *node
			used int
		}
		a, b := &node{}, &node{}
		a.next = b
		head, changes := a, 0
		twice := false
		pop := func(ctx context.Context) *node {
			for head != nil {
				h, at := head, changes
				next := h.next
				_ = rondo.Yield(ctx)
				if head == h && (!fixed || at == changes) {
					head = next
					changes++
					h.used++
					twice = twice || h.used > 1
					return h
				}
			}
			return nil
		}
		push := func(n *node) {
			n.used--
			n.next = head
			head = n
			changes++
		}
		user := func(ctx context.Context) {
			n := pop(ctx)
			m := pop(ctx)
			if n != nil {
				push(n)
			}
			_ = rondo.Yield(ctx)
			if m != nil {
				push(m)
			}
		}
		tasks(ctx, user, user)
		sim.Always(ctx, !twice, "each has its own")
	}},
	{name: "timeout races completion", budget: 4000, loop: func(ctx context.Context, fixed bool) {
		// Both the time-out and the answer take the request off the table.
		pending := map[int]func(string){}
		calls := 0
		tasks(ctx, func(ctx context.Context) {
			pending[1] = func(string) { calls++ }
			_ = rondo.Sleep(ctx, 100*ms)
			if answer := pending[1]; answer != nil {
				if fixed {
					delete(pending, 1)
				}
				_ = rondo.Yield(ctx) // it is logged
				delete(pending, 1)
				answer("timeout")
			}
		}, func(ctx context.Context) {
			call(ctx)
			if answer := pending[1]; answer != nil {
				delete(pending, 1)
				answer("reply")
			}
		})
		sim.Always(ctx, calls == 1, "it is answered once")
	}},
	{name: "write skew", budget: 200, loop: func(ctx context.Context, fixed bool) {
		onCall := [2]bool{true, true}
		var m rondo.Mutex
		leave := func(i int) func(ctx context.Context) {
			return func(ctx context.Context) {
				call(ctx)
				if fixed {
					_ = m.Lock(ctx)
					defer m.Unlock()
				}
				other := onCall[1-i]
				_ = rondo.Sleep(ctx, ms/10)
				if other {
					onCall[i] = false
				}
			}
		}
		tasks(ctx, leave(0), leave(1))
		sim.Always(ctx, onCall[0] || onCall[1], "one stays")
	}},
	{name: "upgrade of a read lock", budget: 200, loop: func(ctx context.Context, fixed bool) {
		readers, writer := 0, false
		upgrade := func(ctx context.Context) {
			call(ctx)
			for writer {
				_ = rondo.Sleep(ctx, ms)
			}
			readers++
			_ = rondo.Sleep(ctx, ms/2)
			if fixed {
				readers--
			}
			limit := 1
			if fixed {
				limit = 0
			}
			for i := 0; readers > limit; i++ {
				sim.Always(ctx, i < 2000, "nobody waits for ever")
				_ = rondo.Sleep(ctx, ms)
			}
			writer = true
			_ = rondo.Yield(ctx)
			writer = false
			if !fixed {
				readers--
			}
		}
		tasks(ctx, upgrade, upgrade)
	}},
	{name: "parents hold what children need", budget: 200, loop: func(ctx context.Context, fixed bool) {
		slots := rondo.NewSemaphore(2)
		job := func(ctx context.Context) {
			call(ctx)
			_ = slots.Acquire(ctx)
			_ = rondo.Sleep(ctx, ms)
			if fixed {
				slots.Release()
			}
			tasks(ctx, func(ctx context.Context) {
				_ = slots.Acquire(ctx)
				defer slots.Release()
				_ = rondo.Sleep(ctx, ms)
			})
			if !fixed {
				slots.Release()
			}
		}
		tasks(ctx, job, job)
	}},
	{name: "once that failed", budget: 200, loop: func(ctx context.Context, fixed bool) {
		// The first who opens it fails by its own time-out, and all who wait with it.
		type flight struct{ done *rondo.Future[int] }
		var now *flight
		open := func(ctx context.Context) (int, error) {
			for {
				if now == nil {
					f := &flight{rondo.NewFuture[int](ctx)}
					now = f
					err := rondo.Sleep(ctx, 8*ms)
					if err != nil {
						now = nil
						f.done.Set(-1)
						return 0, err
					}
					f.done.Set(1)
					return 1, nil
				}
				v, err := now.done.Wait(ctx)
				if err != nil || v == 1 || !fixed {
					return v, err
				}
			}
		}
		bad := false
		tasks(ctx, func(ctx context.Context) {
			_ = rondo.Timeout(ctx, time.Duration(sim.Choose(ctx, 12))*ms, func(ctx context.Context) error { _, err := open(ctx); return err })
		}, func(ctx context.Context) {
			call(ctx)
			v, err := open(ctx)
			bad = err == nil && v != 1
		})
		sim.Always(ctx, !bad, "a time-out of one is no failure of another")
	}},
}
