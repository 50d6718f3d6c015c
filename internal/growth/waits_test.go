package growth_test

// n tasks wait for one thing. Half of them are cancelled one by one, in an order that is not
// theirs; the others are let go.

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/broadcast"
	"github.com/rondo-go/rondo/shard"
)

// A thing is what n tasks wait for. release lets those go that wait; peek is done while they wait.
type thing struct {
	name   string
	covers string
	make   func(ctx context.Context, n int) (wait func(ctx context.Context) error, peek, release func())
}

var things = []thing{
	{"Mutex", "Mutex.Lock Mutex.Unlock", func(ctx context.Context, _ int) (func(context.Context) error, func(), func()) {
		var m rondo.Mutex
		must(m.Lock(ctx))
		return func(ctx context.Context) error {
			if err := m.Lock(ctx); err != nil {
				return err
			}
			m.Unlock()
			return nil
		}, func() { m.TryLock() }, m.Unlock
	}},
	{"RWMutex, in turns", "RWMutex.Lock RWMutex.RLock RWMutex.Unlock RWMutex.RUnlock", func(ctx context.Context, _ int) (func(context.Context) error, func(), func()) {
		var m rondo.RWMutex
		i := 0
		must(m.Lock(ctx))
		return func(ctx context.Context) error {
			lock, unlock := m.Lock, m.Unlock
			if i++; i%2 == 0 {
				lock, unlock = m.RLock, m.RUnlock
			}
			if err := lock(ctx); err != nil {
				return err
			}
			unlock()
			return nil
		}, func() { m.TryLock(); m.TryRLock() }, m.Unlock
	}},
	{"Semaphore", "Semaphore.AcquireN Semaphore.TryAcquire Semaphore.ReleaseN", func(ctx context.Context, _ int) (func(context.Context) error, func(), func()) {
		s := rondo.NewSemaphore(3)
		must(s.AcquireN(ctx, 2))
		return func(ctx context.Context) error {
			if err := s.AcquireN(ctx, 2); err != nil {
				s.TryAcquire()
				return err
			}
			s.ReleaseN(2)
			return nil
		}, func() { s.TryAcquire() }, func() { s.ReleaseN(2) }
	}},
	{"Cond", "Cond.Wait Cond.Signal Cond.Broadcast", func(ctx context.Context, n int) (func(context.Context) error, func(), func()) {
		c := rondo.Cond{L: new(rondo.Mutex)}
		return func(ctx context.Context) error {
			must(rondo.Shield(ctx, c.L.Lock))
			defer c.L.Unlock()
			return c.Wait(ctx)
		}, func() {}, func() { c.Signal(); c.Broadcast() }
	}},
	{"Event", "Event.Wait Event.Set", func(ctx context.Context, _ int) (func(context.Context) error, func(), func()) {
		var e rondo.Event
		return e.Wait, func() { e.IsSet() }, e.Set
	}},
	{"Queue.Get", "Queue.Get Queue.Close", func(ctx context.Context, n int) (func(context.Context) error, func(), func()) {
		q := rondo.NewQueue[int](0)
		return func(ctx context.Context) error { _, err := q.Get(ctx); return err }, func() { q.Len() }, func() {
			for range n / 4 {
				q.TryPut(1)
			}
			q.Close()
		}
	}},
	{"Queue.Put", "Queue.Put Queue.Abort", func(ctx context.Context, n int) (func(context.Context) error, func(), func()) {
		q := rondo.NewQueue[int](1)
		q.TryPut(1)
		return func(ctx context.Context) error { return q.Put(ctx, 1) }, func() { q.TryPut(1) }, func() {
			for range n / 4 {
				_, err := q.Get(ctx)
				must(err)
			}
			q.Abort()
		}
	}},
	{"Queue.Join", "Queue.Join", func(ctx context.Context, n int) (func(context.Context) error, func(), func()) {
		q := rondo.NewQueue[int](1)
		q.TryPut(1)
		return q.Join, func() {}, q.TaskDone
	}},
	{"Future", "Future.Wait Future.Set", func(ctx context.Context, _ int) (func(context.Context) error, func(), func()) {
		f := rondo.NewFuture[int](ctx)
		return func(ctx context.Context) error { _, err := f.Wait(ctx); return err }, func() { f.Done() }, func() { f.Set(1) }
	}},
	{"Task", "Task.Wait", func(ctx context.Context, _ int) (func(context.Context) error, func(), func()) {
		t := rondo.Go(ctx, func(ctx context.Context) error { _ = rondo.WaitCanceled(ctx); return nil })
		return t.Wait, func() { t.Done() }, func() { t.Cancel(nil) }
	}},
	{"WaitAny", "WaitAny", func(ctx context.Context, _ int) (func(context.Context) error, func(), func()) {
		t := rondo.Go(ctx, func(ctx context.Context) error { _ = rondo.WaitCanceled(ctx); return nil })
		return func(ctx context.Context) error { _, err := rondo.WaitAny(ctx, t); return err }, func() {}, func() { t.Cancel(nil) }
	}},
	{"Select", "Select", func(ctx context.Context, n int) (func(context.Context) error, func(), func()) {
		q := rondo.NewQueue[int](0)
		var e rondo.Event
		return func(ctx context.Context) error {
				var v int
				_, err := rondo.Select(ctx, q.GetCase(&v), e.WaitCase(), rondo.After(time.Hour))
				return err
			}, func() {}, func() {
				for range n / 4 {
					q.TryPut(1)
				}
				e.Set()
			}
	}},
	{"Barrier", "Barrier.Wait Barrier.Abort Barrier.Reset", func(ctx context.Context, n int) (func(context.Context) error, func(), func()) {
		b := rondo.NewBarrier(n + 1)
		return func(ctx context.Context) error { _, err := b.Wait(ctx); return err }, func() {}, func() { b.Reset(); b.Abort() }
	}},
	{"WaitList", "WaitList.Park WaitList.Len WaitList.Wake WaitList.WakeAll", func(ctx context.Context, n int) (func(context.Context) error, func(), func()) {
		var w rondo.WaitList
		return func(ctx context.Context) error { return w.Park(ctx, rondo.Reason{What: "test"}) }, func() { w.Len() }, func() {
			for range n / 4 {
				w.Wake()
			}
			w.WakeAll()
		}
	}},
	{"WaitList, the ctx of another task", "WaitList.Park", func(outer context.Context, n int) (func(context.Context) error, func(), func()) {
		var w rondo.WaitList
		return func(context.Context) error { return w.Park(outer, rondo.Reason{What: "test"}) }, func() {}, func() { w.WakeAll() }
	}},
	{"WaitList, a ctx of package context", "WaitList.Park", func(ctx context.Context, n int) (func(context.Context) error, func(), func()) {
		var w rondo.WaitList
		return func(ctx context.Context) error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			return w.Park(ctx, rondo.Reason{What: "test"})
		}, func() {}, func() { w.WakeAll() }
	}},
	{"Topic.Publish", "broadcast.Topic.Publish broadcast.Topic.Close broadcast.Subscription.Next", func(ctx context.Context, n int) (func(context.Context) error, func(), func()) {
		var topic broadcast.Topic[int]
		s := topic.Subscribe(1, broadcast.Wait)
		must(topic.Publish(ctx, 1))
		return func(ctx context.Context) error { return topic.Publish(ctx, 1) }, func() { topic.TryPublish(1) }, func() {
			for range n / 4 {
				_, err := s.Next(ctx)
				must(err)
			}
			topic.Close()
		}
	}},
	{"Subscription.Next", "broadcast.Subscription.Next broadcast.Subscription.All broadcast.Subscription.Close broadcast.Subscription.Len", func(ctx context.Context, _ int) (func(context.Context) error, func(), func()) {
		var topic broadcast.Topic[int]
		return func(ctx context.Context) error {
			s := topic.Subscribe(1, broadcast.Wait)
			defer s.Close()
			for range s.All(ctx) {
				return nil
			}
			return rondo.Check(ctx)
		}, func() { topic.Subscribe(1, broadcast.Skip).Close() }, func() { must(topic.Publish(ctx, 1)) }
	}},
	{"Watch", "broadcast.Reader.Next broadcast.Reader.All broadcast.Watch.Set broadcast.Watch.Close", func(ctx context.Context, _ int) (func(context.Context) error, func(), func()) {
		var w broadcast.Watch[int]
		return func(ctx context.Context) error {
			for range w.Reader().All(ctx) {
				return nil
			}
			return rondo.Check(ctx)
		}, func() { w.Value() }, func() { w.Set(1); w.Close() }
	}},
	{"Chan.Recv", "shard.Chan.Recv shard.Chan.All shard.Chan.Close", func(ctx context.Context, _ int) (func(context.Context) error, func(), func()) {
		c := shard.NewChan[int](1)
		return func(ctx context.Context) error {
			for range c.All(ctx) {
				return nil
			}
			return rondo.Check(ctx)
		}, func() { c.Len() }, func() { c.TrySend(1); c.Close() }
	}},
	{"Chan.Send", "shard.Chan.Send shard.Chan.TrySend", func(ctx context.Context, n int) (func(context.Context) error, func(), func()) {
		c := shard.NewChan[int](1)
		c.TrySend(0)
		return func(ctx context.Context) error { return c.Send(ctx, 1) }, func() { c.TrySend(1) }, func() {
			for range n / 4 {
				_, err := c.Recv(ctx)
				must(err)
			}
			c.Close()
		}
	}},
}

func waits() (out []row) {
	for _, th := range things {
		out = append(out, row{name: "waiting: " + th.name, covers: th.covers, do: th.measure})
	}
	return out
}

func (th *thing) measure(ctx context.Context, n int, m *meter) {
	_ = rondo.Group(ctx, func(g *rondo.Scope) error {
		wait, peek, release := th.make(g, n)
		ts := make([]*rondo.Task, n)
		m.time("begin to wait", n, func() {
			for i := range ts {
				ts[i] = g.Go(func(ctx context.Context) error { _ = wait(ctx); return nil })
			}
			settle(ctx)
		})
		m.repeat("look", peek)
		rand.New(rand.NewPCG(1, 1)).Shuffle(n, func(i, k int) { ts[i], ts[k] = ts[k], ts[i] })
		m.time("cancel half of them", n, func() {
			for _, t := range ts[:n/2] {
				t.Cancel(nil)
			}
			settle(ctx)
		})
		m.time("let the others go", n, func() {
			release()
			settle(ctx)
		})
		g.Cancel(nil)
		return nil
	})
}
