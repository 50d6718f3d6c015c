package growth_test

// Operations that have nothing to do with what else is on the loop, done in a crowd: beside n
// tasks that sleep, each in a scope of its own, and inside n scopes.

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/broadcast"
	"github.com/rondo-go/rondo/coro"
	"github.com/rondo-go/rondo/shard"
)

// An alone is one or several operations that are done together.
type alone struct {
	covers string
	deep   bool // the cost grows with the depth of scopes, as that of package context does
	make   func(ctx context.Context) func()
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func nothing(context.Context) error { return nil }

func one(context.Context) (int, error) { return 1, nil }

type key struct{}

var locks = []alone{
	{covers: "Mutex.Lock Mutex.Unlock Mutex.TryLock", make: func(ctx context.Context) func() {
		var m rondo.Mutex
		return func() { must(m.Lock(ctx)); m.Unlock(); m.TryLock(); m.Unlock() }
	}},
	{covers: "RWMutex.Lock RWMutex.Unlock RWMutex.RLock RWMutex.RUnlock RWMutex.TryLock RWMutex.TryRLock", make: func(ctx context.Context) func() {
		var m rondo.RWMutex
		return func() {
			must(m.Lock(ctx))
			m.Unlock()
			must(m.RLock(ctx))
			m.TryRLock()
			m.RUnlock()
			m.RUnlock()
			m.TryLock()
			m.Unlock()
		}
	}},
	{covers: "NewSemaphore Semaphore.Acquire Semaphore.AcquireN Semaphore.TryAcquire Semaphore.TryAcquireN Semaphore.Release Semaphore.ReleaseN Semaphore.Resize", make: func(ctx context.Context) func() {
		s := rondo.NewSemaphore(9)
		return func() {
			must(s.Acquire(ctx))
			must(s.AcquireN(ctx, 2))
			s.TryAcquire()
			s.TryAcquireN(2)
			s.Resize(9)
			s.Release()
			s.ReleaseN(5)
		}
	}},
	{covers: "Event.Set Event.Wait Event.IsSet Event.Clear", make: func(ctx context.Context) func() {
		var e rondo.Event
		return func() { e.Set(); e.IsSet(); must(e.Wait(ctx)); e.Clear() }
	}},
	{covers: "NewBarrier Barrier.Wait", make: func(ctx context.Context) func() {
		b := rondo.NewBarrier(1)
		return func() { _, err := b.Wait(ctx); must(err) }
	}},
	{covers: "NewQueue NewStack NewSlidingQueue NewPriorityQueue Queue.Put Queue.Get Queue.TryPut Queue.TryGet Queue.Len Queue.TaskDone Queue.Join Queue.Dropped", make: func(ctx context.Context) func() {
		q := rondo.NewQueue[int](0)
		return func() {
			must(q.Put(ctx, 1))
			_, err := q.Get(ctx)
			must(err)
			q.TryPut(1)
			q.TryGet()
			q.TaskDone()
			q.TaskDone()
			must(q.Join(ctx))
		}
	}},
	{covers: "WaitList.Len WaitList.Wake WaitList.WakeAll", make: func(ctx context.Context) func() {
		var w rondo.WaitList
		return func() { w.Len(); w.Wake(); w.WakeAll() }
	}},
	{covers: "broadcast.Topic.Publish broadcast.Topic.TryPublish broadcast.Topic.Subscribe broadcast.Subscription.Next broadcast.Subscription.Close", make: func(ctx context.Context) func() {
		var topic broadcast.Topic[int]
		return func() {
			s := topic.Subscribe(2, broadcast.Wait)
			must(topic.Publish(ctx, 1))
			topic.TryPublish(1)
			_, err := s.Next(ctx)
			must(err)
			s.Close()
		}
	}},
	{covers: "broadcast.Watch.Set broadcast.Reader.Next", make: func(ctx context.Context) func() {
		w := broadcast.NewWatch(1)
		r := w.Reader()
		return func() { w.Set(1); _, err := r.Next(ctx); must(err) }
	}},
	{covers: "shard.NewChan shard.Chan.Send shard.Chan.TrySend shard.Chan.Recv shard.Chan.Len", make: func(ctx context.Context) func() {
		c := shard.NewChan[int](2)
		return func() { must(c.Send(ctx, 1)); c.TrySend(1); c.Len(); _, _ = c.Recv(ctx); _, _ = c.Recv(ctx) }
	}},
}

var tasksAndScopes = []alone{
	{covers: "Go Task.Wait Task.Name Task.SetName Task.Info", make: func(ctx context.Context) func() {
		return func() { t := rondo.Go(ctx, nothing); t.SetName("a"); t.Name(); t.Info(); must(t.Wait(ctx)) }
	}},
	{covers: "Task.Cancel Task.OnDone", make: func(ctx context.Context) func() {
		return func() { t := rondo.Go(ctx, nothing); t.Cancel(nil); t.OnDone(func() {})(); must(t.Wait(ctx)) }
	}},
	{covers: "Async Future.Wait Future.Result Future.OnDone Future.Cancel", make: func(ctx context.Context) func() {
		return func() {
			f := rondo.Async(ctx, one)
			f.OnDone(func() {})()
			_, err := f.Wait(ctx)
			must(err)
			f.Cancel(nil)
			_, _ = f.Result()
		}
	}},
	{covers: "NewFuture Future.Set Future.Fail", make: func(ctx context.Context) func() {
		return func() { f := rondo.NewFuture[int](ctx); f.Set(1); f.Fail(errors.New("late")) }
	}},
	{covers: "Contain", make: func(ctx context.Context) func() {
		return func() {
			must(rondo.Contain(ctx, func(ctx context.Context) error { rondo.Go(ctx, nothing); return nil }))
		}
	}},
	{covers: "Group Scope.Go Scope.SetLimit", make: func(ctx context.Context) func() {
		return func() {
			must(rondo.Group(ctx, func(g *rondo.Scope) error { g.SetLimit(1); g.Go(nothing); g.Go(nothing); return nil }))
		}
	}},
	{covers: "Timeout Shield Scope.SetDeadline", make: func(ctx context.Context) func() {
		return func() {
			must(rondo.Timeout(ctx, time.Hour, func(ctx context.Context) error {
				ctx.(*rondo.Scope).SetDeadline(rondo.Now(ctx).Add(time.Minute))
				return rondo.Shield(ctx, nothing)
			}))
		}
	}},
	{covers: "Scope.Start", make: func(ctx context.Context) func() {
		return func() {
			must(rondo.Group(ctx, func(g *rondo.Scope) error {
				return g.Start(g, func(_ context.Context, started func()) error { started(); return nil })
			}))
		}
	}},
	{covers: "Scope.Cancel Scope.Err TimedOut", make: func(ctx context.Context) func() {
		return func() {
			must(rondo.Group(ctx, func(g *rondo.Scope) error { g.Cancel(nil); _ = g.Err(); rondo.TimedOut(ctx, nil); return nil }))
		}
	}},
	{covers: "Scope.Value", deep: true, make: func(ctx context.Context) func() { return func() { ctx.Value(key{}) } }},
	{covers: "Scope.Deadline", deep: true, make: func(ctx context.Context) func() { return func() { ctx.Deadline() } }},
	{covers: "Scope.Done", deep: true, make: func(ctx context.Context) func() {
		return func() { must(rondo.Group(ctx, func(g *rondo.Scope) error { g.Done(); return nil })) }
	}},
	{covers: "Check Checkpoint Current LoopOf Now", make: func(ctx context.Context) func() {
		return func() {
			must(rondo.Check(ctx))
			must(rondo.Checkpoint(ctx))
			rondo.Current(ctx)
			rondo.LoopOf(ctx)
			rondo.Now(ctx)
		}
	}},
	{covers: "Yield", make: func(ctx context.Context) func() { return func() { must(rondo.Yield(ctx)) } }},
	{covers: "Sleep", make: func(ctx context.Context) func() { return func() { must(rondo.Sleep(ctx, 1)) } }},
	{covers: "Select RoundRobin.Select", make: func(ctx context.Context) func() {
		var e rondo.Event
		var r rondo.RoundRobin
		e.Set()
		c := e.WaitCase()
		return func() { _, _ = rondo.Select(ctx, c); _, _ = r.Select(ctx, c) }
	}},
	{covers: "Loop.CallSoon Loop.CallLater Loop.CallAt Handle.Cancel Loop.Stats", make: func(ctx context.Context) func() {
		l := rondo.LoopOf(ctx)
		return func() {
			l.CallSoon(func() {}).Cancel()
			l.CallLater(time.Hour, func() {}).Cancel()
			l.CallAt(time.Now().Add(time.Hour), func() {}).Cancel()
			l.Stats()
		}
	}},
	{covers: "Loop.Post Submit", make: func(ctx context.Context) func() {
		l := rondo.LoopOf(ctx)
		return func() { must(l.Post(func() {})); _, err := rondo.Submit(l, one).Wait(ctx); must(err) }
	}},
	{covers: "Pull", make: func(ctx context.Context) func() {
		return func() {
			next, stop := rondo.Pull(ctx, func(yield func(int) bool) { _ = yield(1) && yield(2) })
			next()
			stop()
		}
	}},
	{covers: "Receive", make: func(ctx context.Context) func() {
		c := make(chan int)
		close(c)
		return func() { _, _, err := rondo.Receive(ctx, c); must(err) }
	}},
	{covers: "Offload OffloadFunc", make: func(ctx context.Context) func() {
		return func() { _, err := rondo.Offload(ctx, one); must(err); must(rondo.OffloadFunc(ctx, nothing)) }
	}},
	{covers: "coro.New coro.Make coro.Coroutine.Resume coro.Coroutine.Cancel", make: func(context.Context) func() {
		return func() {
			c := coro.Make(func(in int, yield func(int) int) int { return yield(in) })
			c.Resume(1)
			c.Cancel()
			resume, cancel := coro.New(func(in int, yield func(int) int) int { return yield(in) })
			resume(1)
			cancel()
		}
	}},
	{covers: "coro.Pull", make: func(context.Context) func() {
		return func() {
			next, stop := coro.Pull(func(yield func(int) bool) { _ = yield(1) && yield(2) })
			next()
			stop()
		}
	}},
	{covers: "coro.NewGenerator coro.Generator.Next coro.Generator.Send coro.Generator.Throw coro.Generator.Close coro.Yielder.Yield", make: func(context.Context) func() {
		return func() {
			g := coro.NewGenerator(func(y *coro.Yielder[int, int]) (int, error) {
				for {
					_, _ = y.Yield(1)
					if _, err := y.Yield(2); err != nil {
						return 0, nil
					}
				}
			})
			g.Next()
			_, _, _ = g.Send(1)
			_, _, _ = g.Throw(errors.New("stop"))
			_ = g.Close()
		}
	}},
	{covers: "shard.Of", make: func(ctx context.Context) func() { return func() { shard.Of(ctx) } }},
}

func all() []alone { return append(append([]alone(nil), locks...), tasksAndScopes...) }

func covered(as []alone) string {
	var names []string
	for _, a := range as {
		names = append(names, a.covers)
	}
	return strings.Join(names, " ")
}

func crowds() []row {
	return []row{
		{name: "beside sleeping tasks", covers: covered(all()), do: func(ctx context.Context, n int, m *meter) {
			must(rondo.Group(ctx, func(g *rondo.Scope) error {
				for range n {
					g.Go(func(ctx context.Context) error {
						return rondo.Group(ctx, func(g *rondo.Scope) error { return rondo.Sleep(g, time.Hour) })
					})
				}
				settle(ctx)
				for _, a := range all() {
					m.repeat(a.label(), a.make(ctx))
				}
				g.Cancel(nil)
				return nil
			}))
		}},
		{name: "inside scopes", covers: covered(all()), do: func(ctx context.Context, n int, m *meter) {
			must(nest(context.WithValue(ctx, key{}, 1), n, func(ctx context.Context) error {
				for _, a := range all() {
					if !a.deep {
						m.repeat(a.label(), a.make(ctx))
					}
				}
				return nil
			}))
		}},
	}
}

// label names the first operation.
func (a *alone) label() string { return strings.Fields(a.covers)[0] }

// nest runs body inside n Groups.
func nest(ctx context.Context, n int, body func(ctx context.Context) error) error {
	if n == 0 {
		return body(ctx)
	}
	return rondo.Group(ctx, func(g *rondo.Scope) error { return nest(g, n-1, body) })
}

// settle returns when all that can run has run.
func settle(ctx context.Context) {
	for rondo.LoopOf(ctx).Stats().Ready > 0 {
		must(rondo.Yield(ctx))
	}
	must(rondo.Yield(ctx))
}
