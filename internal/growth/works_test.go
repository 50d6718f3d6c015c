package growth_test

// Operations that work on n things: the cost for each stays the same.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/broadcast"
	"github.com/rondo-go/rondo/coro"
	"github.com/rondo-go/rondo/shard"
	"github.com/rondo-go/rondo/socket"
)

func times[T any](n int, v T) []T { return slices.Repeat([]T{v}, n) }

// chain runs n tasks, each of which starts the next and waits for it, and then body.
func chain(ctx context.Context, n int, body func(ctx context.Context) error) error {
	if n == 0 {
		return body(ctx)
	}
	return rondo.Go(ctx, func(ctx context.Context) error { return chain(ctx, n-1, body) }).Wait(ctx)
}

// timeouts runs body inside n Timeouts that end at the given time, or each a step earlier than
// the one around it.
func timeouts(ctx context.Context, n int, at time.Time, step time.Duration, body func(ctx context.Context) error) error {
	if n == 0 {
		return body(ctx)
	}
	return rondo.Deadline(ctx, at, func(ctx context.Context) error { return timeouts(ctx, n-1, at.Add(-step), step, body) })
}

// joined returns n errors, each joined to those before.
func joined(n int) (err error) {
	for range n {
		err = errors.Join(err, errors.New("failed"))
	}
	return err
}

// yields is a generator below n others.
func yields(y *coro.Yielder[int, int], n int) (int, error) {
	if n > 0 {
		return coro.YieldFrom(y, coro.NewGenerator(func(y *coro.Yielder[int, int]) (int, error) { return yields(y, n-1) }))
	}
	return y.Yield(1)
}

var queues = map[string]func() *rondo.Queue[int]{
	"NewQueue":         func() *rondo.Queue[int] { return rondo.NewQueue[int](0) },
	"NewStack":         func() *rondo.Queue[int] { return rondo.NewStack[int](0) },
	"NewPriorityQueue": func() *rondo.Queue[int] { return rondo.NewPriorityQueue(0, func(a, b int) bool { return a < b }) },
	"NewSlidingQueue":  func() *rondo.Queue[int] { return rondo.NewSlidingQueue[int](1 << 20) },
}

func works() []row {
	return slices.Concat(valueRows, scopeRows, setRows, otherRows)
}

var valueRows = []row{
	{name: "values in a Queue", covers: "NewQueue NewStack NewPriorityQueue NewSlidingQueue Queue.TryPut Queue.TryGet Queue.Get Queue.Len Queue.All Queue.Abort Queue.Dropped",
		do: func(ctx context.Context, n int, m *meter) {
			for name, make := range queues {
				q := make()
				for i := range n {
					q.TryPut(n - i)
				}
				m.repeat(name, func() { q.TryPut(1); q.Len(); q.TryGet(); q.Dropped() })
				m.time(name+": half of them", n, func() {
					left := n / 2
					for range q.All(ctx) {
						if left--; left <= 0 {
							break
						}
					}
				})
				q.Abort()
			}
		}},
	{name: "readers of a Topic", covers: "broadcast.Topic.Subscribe broadcast.Topic.Publish broadcast.Topic.TryPublish broadcast.Topic.Close broadcast.Subscription.Next broadcast.Subscription.Close",
		do: func(ctx context.Context, n int, m *meter) {
			var topic broadcast.Topic[int]
			var all []*broadcast.Subscription[int]
			m.time("Subscribe", n, func() {
				for i := range n {
					all = append(all, topic.Subscribe(2, broadcast.Slow(i%3)))
				}
			})
			m.time("Publish", n, func() { must(topic.Publish(ctx, 1)) })
			m.time("Next", n, func() {
				for _, s := range all {
					_, err := s.Next(ctx)
					must(err)
				}
			})
			m.repeat("Subscribe and Close", func() { topic.Subscribe(1, broadcast.Wait).Close() })
			m.time("Close of half of them", n, func() {
				for i := 0; i < n; i += 2 {
					all[i].Close()
				}
			})
			m.time("Topic.Close", n, topic.Close)
		}},
}

var scopeRows = []row{
	{name: "tasks that start the next", covers: "Go Task.Wait", do: func(ctx context.Context, n int, m *meter) {
		m.time("Go and Wait", n, func() { must(chain(ctx, n, nothing)) })
	}},
	{name: "left by tasks above", covers: "Go Scope.Cancel", do: func(ctx context.Context, n int, m *meter) {
		must(rondo.Group(ctx, func(g *rondo.Scope) error {
			m.time("Go and Wait", n, func() {
				must(chain(g, n/8, func(ctx context.Context) error {
					for range n {
						rondo.Go(ctx, rondo.WaitCanceled)
					}
					return nil
				}))
			})
			m.time("Cancel", n, func() { g.Cancel(nil); settle(ctx) })
			return nil
		}))
	}},
	{name: "scopes in each other", covers: "Group Scope.Cancel", do: func(ctx context.Context, n int, m *meter) {
		m.time("Group", n, func() { must(nest(ctx, n, nothing)) })
		m.time("Cancel", n, func() {
			_ = rondo.Group(ctx, func(g *rondo.Scope) error {
				return nest(g, n, func(ctx context.Context) error { g.Cancel(nil); return rondo.Sleep(ctx, 1) })
			})
		})
	}},
	{name: "deadlines in each other", covers: "Deadline Timeout Scope.SetDeadline", sizes: []int{10, 1000, 30_000}, do: func(ctx context.Context, n int, m *meter) {
		for name, step := range map[string]time.Duration{"at one instant": 0, "inner ones first": time.Nanosecond} {
			m.time(name, n, func() {
				_ = timeouts(ctx, n, rondo.Now(ctx).Add(time.Hour), step, func(ctx context.Context) error {
					for s := range 10 {
						ctx.(*rondo.Scope).SetDeadline(rondo.Now(ctx).Add(time.Duration(s) * time.Hour))
					}
					return nil
				})
				at := time.Now().Add(time.Duration(n) * 2 * time.Microsecond)
				_ = timeouts(ctx, n, at, step, func(ctx context.Context) error { return rondo.SleepUntil(ctx, at.Add(time.Hour)) })
			})
		}
	}},
	{name: "tasks of a scope", covers: "Scope.Go Scope.Cancel Scope.SetLimit Task.Cancel Tasks Group Go", do: func(ctx context.Context, n int, m *meter) {
		must(rondo.Group(ctx, func(g *rondo.Scope) error {
			g.SetLimit(n / 2)
			m.time("Scope.Go", n, func() {
				for range n {
					g.Go(rondo.WaitCanceled)
				}
				settle(ctx)
			})
			m.time("Tasks", n, func() { rondo.Tasks(ctx) })
			m.time("Cancel", n, func() { g.Cancel(nil); g.SetLimit(0); settle(ctx) })
			return nil
		}))
	}},
	{name: "errors joined one by one", covers: "Group Task.Wait", do: func(ctx context.Context, n int, m *meter) {
		err := joined(n)
		m.time("a task of a cancelled Group", n, func() {
			_ = rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Cancel(nil)
				g.Go(func(context.Context) error { return err })
				return nil
			})
		})
		m.time("the tasks of a Group", n, func() {
			_ = rondo.Group(ctx, func(g *rondo.Scope) error {
				for range n {
					g.Go(func(context.Context) error { return errors.New("failed") })
				}
				return nil
			})
		})
	}},
}

var setRows = []row{
	{name: "cases, tasks, futures", covers: "Select RoundRobin.Select WaitAny AsCompleted Gather Settle Race", do: func(ctx context.Context, n int, m *meter) {
		var e, set rondo.Event
		set.Set()
		cases := append(times(n, e.WaitCase()), set.WaitCase())
		m.time("Select", n, func() { _, err := rondo.Select(ctx, cases...); must(err) })
		fs := times(n, one)
		m.time("Gather", n, func() { _, err := rondo.Gather(ctx, fs...); must(err) })
		m.time("Settle", n, func() { rondo.Settle(ctx, fs...) })
		m.time("Race", n, func() { _, err := rondo.Race(ctx, fs...); must(err) })
		must(rondo.Group(ctx, func(g *rondo.Scope) error {
			var waiting []*rondo.Task
			var futures []*rondo.Future[int]
			for range n {
				waiting = append(waiting, g.Go(rondo.WaitCanceled))
				futures = append(futures, rondo.Async(g, one))
			}
			done := rondo.Go(ctx, nothing)
			m.time("WaitAny", n, func() { _, err := rondo.WaitAny(ctx, append(waiting, done)...); must(err) })
			m.time("AsCompleted", n, func() {
				for range rondo.AsCompleted(ctx, futures...) {
				}
			})
			g.Cancel(nil)
			return nil
		}))
	}},
	{name: "elements", covers: "Map Pull", sizes: []int{10, 1000, 10_000}, do: func(ctx context.Context, n int, m *meter) {
		in := slices.Values(make([]int, n))
		m.time("Map", n, func() {
			for _, err := range rondo.Map(ctx, 10, in, func(ctx context.Context, i int) (int, error) { return i, nil }) {
				must(err)
			}
		})
		m.time("Map, all at once", n, func() {
			for _, err := range rondo.Map(ctx, n, in, func(ctx context.Context, i int) (int, error) { return i, nil }) {
				must(err)
			}
		})
		m.time("next", n, func() {
			next, stop := rondo.Pull(ctx, in)
			defer stop()
			for _, ok := next(); ok; _, ok = next() {
			}
		})
	}},
	{name: "sequences that a scope ends", covers: "Pull", sizes: []int{10, 1000, 10_000}, do: func(ctx context.Context, n int, m *meter) {
		m.time("Group", n, func() {
			must(rondo.Group(ctx, func(g *rondo.Scope) error {
				for range n {
					next, _ := rondo.Pull(g, func(yield func(int) bool) { _ = yield(1) && yield(2) })
					next()
				}
				return nil
			}))
		})
	}},
	{name: "callbacks", covers: "Loop.CallSoon Loop.CallLater Handle.Cancel Task.OnDone Future.OnDone Loop.Post", do: func(ctx context.Context, n int, m *meter) {
		l := rondo.LoopOf(ctx)
		handles := make([]*rondo.Handle, n)
		m.time("CallLater", n, func() {
			for i := range handles {
				handles[i] = l.CallLater(time.Hour+time.Duration(i*7919%n), func() {})
			}
		})
		m.repeat("CallLater and Cancel", func() { l.CallLater(time.Minute, func() {}).Cancel() })
		m.time("Cancel", n, func() {
			for _, h := range handles {
				h.Cancel()
			}
		})
		m.time("CallSoon and Post", n, func() {
			for range n {
				l.CallSoon(func() {})
				must(l.Post(func() {}))
			}
			settle(ctx)
		})
		m.time("OnDone", n, func() {
			f, t := rondo.NewFuture[int](ctx), rondo.Go(ctx, rondo.WaitCanceled)
			var stops []func() bool
			for range n {
				stops = append(stops, f.OnDone(func() {}), t.OnDone(func() {}))
			}
			for _, stop := range stops[:n] {
				stop()
			}
			f.Set(1)
			t.Cancel(nil)
			settle(ctx)
		})
	}},
	{name: "abandoned functions", covers: "Offload OffloadFunc", sizes: []int{2, 20, 200}, do: func(ctx context.Context, n int, m *meter) {
		var running sync.WaitGroup
		m.time("Offload", n, func() {
			_ = rondo.Group(ctx, func(g *rondo.Scope) error {
				for range n {
					running.Add(1)
					g.Go(func(ctx context.Context) error {
						return rondo.OffloadFunc(ctx, func(ctx context.Context) error { <-ctx.Done(); running.Done(); return nil })
					})
				}
				settle(ctx)
				g.Cancel(nil)
				return nil
			})
			must(rondo.OffloadFunc(ctx, func(context.Context) error { running.Wait(); return nil }))
			settle(ctx)
		})
	}},
	{name: "newcomers at a Barrier", covers: "Barrier.Wait", do: func(ctx context.Context, n int, m *meter) {
		must(rondo.Group(ctx, func(g *rondo.Scope) error {
			b := rondo.NewBarrier(n + 1)
			var come rondo.Event
			first := make([]*rondo.Task, n)
			for i := range first {
				first[i] = g.Go(func(ctx context.Context) error { _, _ = b.Wait(ctx); return nil })
				g.Go(func(ctx context.Context) error { _ = come.Wait(ctx); _, _ = b.Wait(ctx); return nil })
			}
			settle(ctx)
			m.time("while others leave", n, func() {
				come.Set()
				for _, t := range first {
					t.Cancel(nil)
				}
				settle(ctx)
			})
			g.Cancel(nil)
			return nil
		}))
	}},
}

var otherRows = []row{
	{name: "loops", covers: "Run Submit LoopOf Check", sizes: []int{2, 20, 200}, do: func(ctx context.Context, n int, m *meter) {
		ready, stop, ended := make(chan *rondo.Loop), make(chan struct{}), make(chan error)
		loops := make([]*rondo.Loop, n)
		for i := range loops {
			go func() {
				ended <- rondo.Run(context.Background(), func(ctx context.Context) error {
					ready <- rondo.LoopOf(ctx)
					_, _, err := rondo.Receive(ctx, stop)
					return err
				})
			}()
			loops[i] = <-ready
		}
		m.repeat("LoopOf and Check", func() { rondo.LoopOf(ctx); must(rondo.Check(ctx)) })
		submit := func() {
			for _, l := range loops {
				_, err := rondo.Submit(l, one).Wait(ctx)
				must(err)
			}
		}
		submit() // each loop is in its Receive, and has a worker
		for range 4 {
			m.time("Submit", n, submit)
		}
		close(stop)
		for range loops {
			must(<-ended)
		}
	}},
	{name: "shards", covers: "shard.Run shard.Each shard.Call", sizes: []int{2, 16, 64}, do: func(ctx context.Context, n int, m *meter) {
		_, err := rondo.Offload(context.WithoutCancel(ctx), func(context.Context) (int, error) {
			return 0, (&shard.Runner{Loops: n}).Run(context.Background(), func(ctx context.Context, s *shard.Shard) error {
				if s.Index() > 0 {
					return nil
				}
				for range 3 {
					m.time("Each", n, func() {
						_, err := shard.Each(ctx, func(context.Context, *shard.Shard) (int, error) { return 1, nil })
						must(err)
					})
				}
				m.repeat("Call", func() { _, err := shard.Call(ctx, s.At(n-1), one); must(err) })
				return nil
			})
		})
		must(err)
	}},
	{name: "coroutines", covers: "coro.New coro.Make coro.Pull coro.Coroutine.Resume coro.Coroutine.Cancel coro.Generator.Next coro.Generator.Close", do: func(_ context.Context, n int, m *meter) {
		all := make([]*coro.Generator[int, int, int], n)
		m.time("Next", n, func() {
			for i := range all {
				all[i] = coro.NewGenerator(func(y *coro.Yielder[int, int]) (int, error) { return yields(y, 0) })
				all[i].Next()
			}
		})
		m.repeat("Resume beside them", func() {
			c := coro.Make(func(in int, yield func(int) int) int { return yield(in) })
			c.Resume(1)
			c.Cancel()
		})
		m.time("Close", n, func() {
			for _, g := range all {
				_ = g.Close()
			}
		})
	}},
	{name: "generators in each other", covers: "coro.YieldFrom coro.Generator.All coro.Yielder.Yield", sizes: []int{10, 100, 1000}, do: func(_ context.Context, n int, m *meter) {
		m.time("All", n, func() {
			for range coro.NewGenerator(func(y *coro.Yielder[int, int]) (int, error) { return yields(y, n) }).All() {
			}
		})
	}},
	{name: "connections of a Server", covers: "socket.Server.Serve socket.Server.Conns socket.Server.Stats socket.Server.Shutdown", sizes: fitting(10, 300, connections()), do: serve},
}

// connections returns how many there may be at most at a time: both ends of each are descriptors of
// this process.
func connections() int { return min(9000, (descriptors()-100)/2) }

// fitting returns those of the sizes that are no more than there may be connections.
func fitting(sizes ...int) []int {
	return slices.DeleteFunc(sizes, func(n int) bool { return n > connections() })
}

// serve opens n connections to a Server, and one more beside them.
func serve(ctx context.Context, n int, m *meter) {
	l, err := socket.Listen(ctx, "tcp", "127.0.0.1:0")
	must(err)
	s := &socket.Server{Handler: func(_ context.Context, c net.Conn) error {
		var b [1]byte
		_, _ = c.Read(b[:])
		_, _ = c.Write(b[:])
		_, _ = c.Read(b[:])
		return nil
	}}
	served := rondo.Go(ctx, func(ctx context.Context) error { return s.Serve(ctx, l) })
	dial := func() net.Conn {
		c, err := socket.Dial(ctx, "tcp", l.Addr().String())
		must(err)
		var b [1]byte
		_, err = c.Write(b[:])
		must(err)
		_, err = c.Read(b[:])
		must(err)
		return c
	}
	var conns []net.Conn
	for range n {
		conns = append(conns, dial())
	}
	if s.Conns() != n {
		panic(fmt.Sprintf("the Server has %d connections, want %d", s.Conns(), n))
	}
	m.repeat("Conns and Stats", func() { s.Conns(); s.Stats() })
	m.repeat("one more connection", func() { must(dial().Close()) })
	m.time("Shutdown", n, func() {
		for _, c := range conns {
			must(c.Close())
		}
		must(s.Shutdown(ctx))
	})
	if err := served.Wait(ctx); !errors.Is(err, socket.ErrServerClosed) {
		must(err)
	}
}
