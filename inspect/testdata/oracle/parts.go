package main

// Parts of loops. The truth about a part follows from how it is made, not from how it looks.

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/rondo-go/rondo"
)

type body = func(ctx context.Context) error

// name returns the name of a task of the part.
func (b *builder) name(of string) string { return fmt.Sprintf("%d-%s", b.part, of) }

// start starts a task that waits in the end.
func (b *builder) start(of string, fn body) *rondo.Task {
	return b.in(b.ctx, of, fn)
}

func (b *builder) in(ctx context.Context, of string, fn body) *rondo.Task {
	t := rondo.Go(ctx, fn)
	t.SetName(b.name(of))
	*b.set = append(*b.set, t)
	return t
}

// stuck notes that tasks are in cycles.
func (b *builder) stuck(of ...string) {
	for _, o := range of {
		b.truth.Stuck = append(b.truth.Stuck, b.name(o))
	}
}

// alive notes that the loop can be woken.
func (b *builder) alive() { b.truth.Dead = false }

// until yields until a condition holds.
func until(ctx context.Context, holds func() bool) error {
	for !holds() {
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
	}
	return nil
}

// lockers starts n tasks each of which has a lock and wants that of the next, with what is around
// the wait of the first.
func (b *builder) lockers(n int, around func(ctx context.Context, wait body) error) {
	locks, have := make([]rondo.Mutex, n), 0
	for i := range n {
		of := fmt.Sprint("locker", i)
		b.stuck(of)
		b.start(of, func(ctx context.Context) error {
			if err := locks[i].Lock(ctx); err != nil {
				return err
			}
			have++
			if err := until(ctx, func() bool { return have == n }); err != nil {
				return err
			}
			if i == 0 && around != nil {
				return around(ctx, locks[1%n].Lock)
			}
			return locks[(i+1)%n].Lock(ctx)
		})
	}
}

// A latch is a lock that others ask for when its holder has it: any Lock may give others a turn.
type latch struct {
	rondo.Mutex
	taken bool
}

func (l *latch) take(ctx context.Context) error {
	defer func() { l.taken = true }()
	return l.Lock(ctx)
}

func (l *latch) want(ctx context.Context) error {
	if err := until(ctx, func() bool { return l.taken }); err != nil {
		return err
	}
	return l.Lock(ctx)
}

func sleep(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) }

// parts are the ways to wait. Those that are no cycle look like one.
var parts = map[string]func(b *builder){
	"cycle of locks": func(b *builder) { b.lockers(1+b.rand.IntN(4), nil) },
	"cycle of locks that a Timeout ends": func(b *builder) {
		b.alive()
		for i := range 2 {
			b.truth.Ends[b.name(fmt.Sprint("locker", i))] = b.name("locker0")
		}
		b.lockers(2, func(ctx context.Context, wait body) error { return rondo.Timeout(ctx, 2*time.Hour, wait) })
	},
	"cycle of locks in a Shield in a Timeout": func(b *builder) {
		b.alive()
		b.lockers(2, func(ctx context.Context, wait body) error {
			return rondo.Timeout(ctx, 2*time.Hour, func(ctx context.Context) error { return rondo.Shield(ctx, wait) })
		})
	},
	"cycle of locks in a Timeout whose ctx the wait has not": func(b *builder) {
		b.alive()
		b.lockers(2, func(ctx context.Context, wait body) error {
			return rondo.Timeout(ctx, 2*time.Hour, func(context.Context) error { return wait(ctx) })
		})
	},
	"cycle of locks in a Timeout with a context around its ctx": func(b *builder) {
		b.alive()
		for i := range 2 {
			b.truth.Ends[b.name(fmt.Sprint("locker", i))] = b.name("locker0")
		}
		b.lockers(2, func(ctx context.Context, wait body) error {
			return rondo.Timeout(ctx, 2*time.Hour, func(ctx context.Context) error { return wait(context.WithValue(ctx, new(int), 0)) })
		})
	},
	"group in a Timeout": func(b *builder) {
		b.alive()
		for _, of := range []string{"host", "child"} {
			b.truth.Ends[b.name(of)] = b.name("host")
		}
		b.start("host", func(ctx context.Context) error {
			var m rondo.Mutex
			if err := m.Lock(ctx); err != nil {
				return err
			}
			return rondo.Timeout(ctx, 2*time.Hour, func(ctx context.Context) error {
				return rondo.Group(ctx, func(g *rondo.Scope) error { b.in(g, "child", m.Lock); return nil })
			})
		})
		b.stuck("host", "child")
	},
	// A Timeout does not end a call of next, and the sequence has the ctx outside of it.
	"cycle through a Pull": func(b *builder) {
		b.alive()
		b.start("consumer", func(ctx context.Context) error {
			var m rondo.Mutex
			next, stop := rondo.Pull(ctx, func(func(int) bool) {
				rondo.Current(ctx).SetName(b.name("source"))
				_ = m.Lock(ctx)
			})
			defer stop()
			if err := m.Lock(ctx); err != nil {
				return err
			}
			return rondo.Timeout(ctx, 2*time.Hour, func(ctx context.Context) error { next(); return nil })
		})
		b.stuck("consumer", "source")
	},
	"lists of the program's own with words of Rondo's": func(b *builder) {
		words := []string{"group", "next", "pull", "task", "limit", "select", "started tasks"}
		word := words[b.rand.IntN(len(words))]
		b.start("host", func(ctx context.Context) error {
			var m rondo.Mutex
			var own rondo.WaitList
			if err := m.Lock(ctx); err != nil {
				return err
			}
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				child := b.in(g, "child", m.Lock)
				return own.Park(g, rondo.Reason{What: word, On: child.ID()})
			})
		})
	},
	"cycle of tasks": func(b *builder) {
		var first, second *rondo.Task
		first = b.start("first", func(ctx context.Context) error { return second.Wait(ctx) })
		second = b.start("second", func(ctx context.Context) error { return first.Wait(ctx) })
		b.stuck("first", "second")
	},
	"cycle through a line of an RWMutex": func(b *builder) {
		var m rondo.Mutex
		var rw rondo.RWMutex
		have := 0
		reader := b.start("reader", func(ctx context.Context) error {
			if err := until(ctx, func() bool { return have == 2 }); err != nil {
				return err
			}
			have++
			return rw.RLock(ctx)
		})
		b.start("writer", func(ctx context.Context) error {
			if err := rw.Lock(ctx); err != nil {
				return err
			}
			have++
			if err := until(ctx, func() bool { return have == 3 }); err != nil {
				return err
			}
			return m.Lock(ctx)
		})
		b.start("other", func(ctx context.Context) error {
			if err := m.Lock(ctx); err != nil {
				return err
			}
			have++
			if err := until(ctx, func() bool { return reader.Info().State == "waiting" }); err != nil {
				return err
			}
			return rw.Lock(ctx)
		})
		b.stuck("writer", "other")
	},
	"cycle through a group": func(b *builder) {
		b.start("host", func(ctx context.Context) error {
			var m rondo.Mutex
			if err := m.Lock(ctx); err != nil {
				return err
			}
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				b.in(g, "child1", m.Lock)
				b.in(g, "child2", m.Lock)
				return nil
			})
		})
		b.stuck("host", "child1", "child2")
	},
	"cycle through a limit": func(b *builder) {
		b.start("host", func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				g.SetLimit(1)
				var held *rondo.Task
				b.in(g, "begun", func(ctx context.Context) error { return held.Wait(ctx) })
				held = rondo.Go(g, rondo.Yield)
				held.SetName(b.name("held"))
				return nil
			})
		})
		b.stuck("begun", "held")
	},
	"cycle through all cases of a Select": func(b *builder) {
		var m latch
		var one, two *rondo.Task
		b.start("chooser", func(ctx context.Context) error {
			if err := m.take(ctx); err != nil {
				return err
			}
			if err := until(ctx, func() bool { return one.Info().State == "waiting" && two.Info().State == "waiting" }); err != nil {
				return err
			}
			_, err := rondo.Select(ctx, one.WaitCase(), two.WaitCase())
			return err
		})
		one, two = b.start("one", m.want), b.start("two", m.want)
		b.stuck("chooser", "one", "two")
	},
	"Select that time ends": func(b *builder) {
		b.alive()
		b.choose(func(one, two *rondo.Task) []rondo.Case { return []rondo.Case{one.WaitCase(), rondo.After(time.Hour)} }, nil)
	},
	"Select with a queue": func(b *builder) {
		q := rondo.NewQueue[int](0)
		b.choose(func(one, two *rondo.Task) []rondo.Case {
			var v int
			return []rondo.Case{one.WaitCase(), q.GetCase(&v)}
		}, nil)
	},
	"Select with a task that goes on": func(b *builder) {
		b.alive()
		b.choose(func(one, two *rondo.Task) []rondo.Case { return []rondo.Case{one.WaitCase(), two.WaitCase()} }, sleep)
	},
	"Select with a task that waits for one that goes on": func(b *builder) {
		b.alive()
		sleeper := b.start("sleeper", sleep)
		b.choose(func(one, two *rondo.Task) []rondo.Case { return []rondo.Case{one.WaitCase(), two.WaitCase()} }, sleeper.Wait)
	},
	"Select with a queue behind many tasks": func(b *builder) {
		q := rondo.NewQueue[int](0)
		b.choose(func(one, two *rondo.Task) (cases []rondo.Case) {
			for range 20 {
				cases = append(cases, one.WaitCase())
			}
			var v int
			return append(cases, q.GetCase(&v))
		}, nil)
	},
	"WaitAny with a task that goes on": func(b *builder) {
		b.alive()
		b.choose(nil, sleep)
	},
	"group with a task that goes on": func(b *builder) {
		b.alive()
		b.start("host", func(ctx context.Context) error {
			var m rondo.Mutex
			if err := m.Lock(ctx); err != nil {
				return err
			}
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				b.in(g, "child", m.Lock)
				b.in(g, "sleeper", sleep)
				return nil
			})
		})
	},
	"chain of locks to a task that goes on": func(b *builder) {
		b.alive()
		var m, n latch
		b.start("holder", func(ctx context.Context) error {
			if err := m.take(ctx); err != nil {
				return err
			}
			return sleep(ctx)
		})
		b.start("middle", func(ctx context.Context) error {
			if err := n.take(ctx); err != nil {
				return err
			}
			return m.want(ctx)
		})
		b.start("last", n.want)
	},
	// Any task may call RUnlock, Release, Put or Barrier.Wait, so no cycle goes through them.
	"ring through a reader": func(b *builder) {
		var rw rondo.RWMutex
		var m latch
		reads := false
		b.start("reader", func(ctx context.Context) error {
			if err := rw.RLock(ctx); err != nil {
				return err
			}
			reads = true
			return m.want(ctx)
		})
		b.start("writer", func(ctx context.Context) error {
			if err := until(ctx, func() bool { return reads }); err != nil {
				return err
			}
			if err := m.take(ctx); err != nil {
				return err
			}
			return rw.Lock(ctx)
		})
	},
	"ring through permits": func(b *builder) {
		permits, have := []*rondo.Semaphore{rondo.NewSemaphore(1), rondo.NewSemaphore(1)}, 0
		for i := range permits {
			b.start(fmt.Sprint("permit", i), func(ctx context.Context) error {
				if err := permits[i].Acquire(ctx); err != nil {
					return err
				}
				have++
				if err := until(ctx, func() bool { return have == 2 }); err != nil {
					return err
				}
				return permits[1-i].Acquire(ctx)
			})
		}
	},
	"ring through a Barrier": func(b *builder) {
		barrier := rondo.NewBarrier(3)
		var m latch
		b.start("holder", func(ctx context.Context) error {
			if err := m.take(ctx); err != nil {
				return err
			}
			_, err := barrier.Wait(ctx)
			return err
		})
		b.start("party", func(ctx context.Context) error { _, err := barrier.Wait(ctx); return err })
		b.start("late", m.want)
	},
	"ring through both ends of two queues": func(b *builder) {
		queues := []*rondo.Queue[int]{rondo.NewQueue[int](1), rondo.NewQueue[int](1)}
		for i := range queues {
			b.start(fmt.Sprint("end", i), func(ctx context.Context) error {
				if _, err := queues[i].Get(ctx); err != nil {
					return err
				}
				return queues[1-i].Put(ctx, 1)
			})
		}
	},
	"cycle through the lock of a Cond": func(b *builder) {
		m := new(rondo.Mutex)
		c := rondo.Cond{L: m}
		waits := false
		waiter := b.start("waiter", func(ctx context.Context) error {
			if err := m.Lock(ctx); err != nil {
				return err
			}
			waits = true
			return c.Wait(ctx)
		})
		b.start("caller", func(ctx context.Context) error {
			if err := until(ctx, func() bool { return waits }); err != nil {
				return err
			}
			if err := m.Lock(ctx); err != nil {
				return err
			}
			c.Broadcast()
			return waiter.Wait(ctx)
		})
		b.stuck("waiter", "caller")
	},
	"RWMutex with readers": func(b *builder) {
		b.alive()
		var rw rondo.RWMutex
		readers, n := 0, 1+b.rand.IntN(3)
		for i := range n {
			b.start(fmt.Sprint("reader", i), func(ctx context.Context) error {
				if err := rw.RLock(ctx); err != nil {
					return err
				}
				readers++
				return sleep(ctx)
			})
		}
		b.start("writer", func(ctx context.Context) error {
			if err := until(ctx, func() bool { return readers == n }); err != nil {
				return err
			}
			return rw.Lock(ctx)
		})
	},
	"lock whose holder has ended": func(b *builder) {
		var m rondo.Mutex
		m.Name = "lost"
		b.abandon(m.Lock, m.Lock)
	},
	"RWMutex whose writer has ended": func(b *builder) {
		var m rondo.RWMutex
		b.abandon(m.Lock, m.RLock)
	},
	"lock that a living task has by TryLock": func(b *builder) {
		var m rondo.Mutex
		b.alive()
		b.start("holder", func(ctx context.Context) error { m.TryLock(); return sleep(ctx) })
		b.start("waiter", func(ctx context.Context) error {
			if err := until(ctx, func() bool {
				free := m.TryLock()
				if free {
					m.Unlock()
				}
				return !free
			}); err != nil {
				return err
			}
			return m.Lock(ctx)
		})
	},
	"queues, events and permits": func(b *builder) {
		q, full, none := rondo.NewQueue[int](0), rondo.NewQueue[int](1), rondo.NewSemaphore(0)
		full.TryPut(1)
		var e rondo.Event
		b.start("getter", func(ctx context.Context) error { _, err := q.Get(ctx); return err })
		b.start("putter", func(ctx context.Context) error { return full.Put(ctx, 1) })
		b.start("permit", none.Acquire)
		b.start("event", e.Wait)
	},
	"future that any goroutine may set": func(b *builder) {
		b.alive()
		f := rondo.NewFuture[int](b.ctx)
		b.start("future", func(ctx context.Context) error { _, err := f.Wait(ctx); return err })
	},
	"offload": func(b *builder) {
		b.alive()
		b.start("offload", func(ctx context.Context) error {
			_, err := rondo.Offload(ctx, func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, nil })
			return err
		})
	},
}

// choose starts a task that has a lock, another one that wants it, and one that runs other; the
// first waits for the two as cases says, or by WaitAny.
func (b *builder) choose(cases func(one, two *rondo.Task) []rondo.Case, other body) {
	var m latch
	var one, two *rondo.Task
	b.start("chooser", func(ctx context.Context) error {
		if err := m.take(ctx); err != nil {
			return err
		}
		if err := until(ctx, func() bool { return one.Info().State == "waiting" && (two == nil || two.Info().State == "waiting") }); err != nil {
			return err
		}
		if cases == nil {
			_, err := rondo.WaitAny(ctx, one, two)
			return err
		}
		_, err := rondo.Select(ctx, cases(one, two)...)
		return err
	})
	one = b.start("one", m.want)
	if other != nil {
		two = b.start("two", other)
	}
}

// abandon starts a task that takes a lock and ends, and one that waits for it then.
func (b *builder) abandon(take, wait body) {
	taker := rondo.Go(b.ctx, take)
	b.truth.Abandoned = append(b.truth.Abandoned, b.name("waiter"))
	b.start("waiter", func(ctx context.Context) error {
		if err := until(ctx, taker.Done); err != nil {
			return err
		}
		return wait(ctx)
	})
}

// holds are the ways to hold a loop, by what the verdict is to name.
var holds = map[string]func(){
	"channel":     func() { <-make(chan int) },
	"nil channel": func() { var c chan int; c <- 1 },
	"select": func() {
		select {
		case <-make(chan int):
		case <-make(chan bool):
		}
	},
	"sync.Mutex":     func() { var m sync.Mutex; m.Lock(); m.Lock() },
	"sync.RWMutex":   func() { var m sync.RWMutex; m.Lock(); m.RLock() },
	"sync.WaitGroup": func() { var w sync.WaitGroup; w.Add(1); w.Wait() },
	"sync.Cond":      func() { var m sync.Mutex; m.Lock(); sync.NewCond(&m).Wait() },
	"sync.Once": func() {
		var o sync.Once
		begun := make(chan bool)
		go o.Do(func() { close(begun); select {} })
		<-begun
		o.Do(func() {})
	},
	"time.Sleep": func() { time.Sleep(time.Hour) },
	"system call": func() {
		var p [2]int
		if syscall.Pipe(p[:]) == nil {
			_, _ = syscall.Read(p[0], make([]byte, 1))
		}
	},
}
