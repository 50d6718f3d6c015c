//go:build !rondo_portable

package soak

// The tasks of a round. Between them they call a function of the user in every
// place where there is one.

import (
	"context"
	"errors"
	"iter"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/process"
	"github.com/rondo-go/rondo/signals"
)

// places are where a function of the user may explode.
var places = []string{
	"task", "Group", "Timeout", "Shield", "deferred call", "callback", "Post", "OnDone", "Runner.OnError", "Offload",
	"Submit", "Pull", "Map", "Gather", "Race", "Start",
	"Server.Handler", "Server.OnError", "Server.Session", "session", "httptask.Handler", "Dialer.Control",
	"Protocol.OnError", "Protocol.Connected", "Protocol.Data", "Protocol.EOF", "Protocol.Lost",
	"Protocol.PauseWriting", "Protocol.ResumeWriting",
	"Tracer.Started", "Tracer.Stepped", "Tracer.Parked", "Tracer.Woken", "Tracer.Ended", "Tracer.Called",
	"process.Stdin", "process.Stdout", "process.Cancel", "signals.Notify", "signals.Cancel",
}

// something does one thing, chosen at random.
func (c *chaos) something(ctx context.Context, depth int) error {
	defer c.running.Add(-1)
	choice := c.rnd.IntN(40)
	if depth > 3 {
		choice = 39
	}
	switch choice {
	case 0, 1, 2, 3:
		return c.scope(ctx, depth)
	case 4, 5:
		return c.cancelled(ctx, depth)
	case 6, 7:
		return c.queue(ctx)
	case 8, 9, 10:
		return c.across(ctx)
	case 11, 12:
		return c.post(ctx)
	case 13, 14:
		return c.offload(ctx)
	case 15, 16:
		return c.pull(ctx)
	case 17:
		return c.several(ctx)
	case 18:
		return c.start(ctx)
	case 19:
		return c.child(ctx)
	case 20, 21:
		return c.signal(ctx)
	case 22:
		rondo.Go(c.root, func(ctx context.Context) error { c.at("task"); return errBomb }) // and nobody waits
		return nil
	case 23, 24, 25, 26, 27, 28, 29, 30:
		return c.visit(ctx)
	}
	c.at("task")
	return rondo.Sleep(ctx, c.some(2000))
}

// scope opens a scope with tasks in it.
func (c *chaos) scope(ctx context.Context, depth int) error {
	body := func(place string) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			defer c.at("deferred call")
			c.at(place)
			return c.live(ctx, depth+1)
		}
	}
	switch c.rnd.IntN(4) {
	case 0:
		return rondo.Timeout(ctx, c.some(3000), body("Timeout"))
	case 1:
		return rondo.Timeout(ctx, c.some(3000), func(ctx context.Context) error {
			return rondo.Shield(ctx, func(ctx context.Context) error {
				c.at("Shield")
				return rondo.Sleep(ctx, c.some(1000))
			})
		})
	}
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		for range c.rnd.IntN(4) {
			g.Go(func(ctx context.Context) error { return c.live(ctx, depth+1) }).OnDone(func() { c.at("OnDone") })
		}
		g.SetDeadline(time.Now().Add(c.some(5000)))
		return body("Group")(g)
	})
}

// cancelled opens a scope that a goroutine or another task cancels.
func (c *chaos) cancelled(ctx context.Context, depth int) error {
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(func(ctx context.Context) error { return c.live(ctx, depth+1) })
		if after := c.some(2000); c.rnd.IntN(2) == 0 {
			c.outside.Go(func() { <-time.After(after); g.Cancel(nil) })
		} else {
			rondo.LoopOf(ctx).CallLater(after, func() { c.at("callback"); g.Cancel(nil) })
		}
		var never rondo.Event
		return never.Wait(g)
	})
}

// queue passes values from a task to others, of which none is lost.
func (c *chaos) queue(ctx context.Context) error {
	q := rondo.NewQueue[int](2)
	put, got := 0, 0
	err := rondo.Timeout(ctx, c.some(3000), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			for range 2 {
				g.Go(func(ctx context.Context) error {
					for {
						if _, err := q.Get(ctx); err != nil {
							return err
						}
						got++
					}
				})
			}
			for {
				if err := q.Put(g, 1); err != nil {
					return err
				}
				put++
				if err := rondo.Sleep(g, c.some(100)); err != nil {
					return err
				}
			}
		})
	})
	if put != got+q.Len() {
		c.t.Errorf("%d values were put, %d were got and %d are left", put, got, q.Len())
	}
	return err
}

// across waits for what the second loop and goroutines bring about.
func (c *chaos) across(ctx context.Context) error {
	c.counts[crossings].Add(1)
	want := c.rnd.Int()
	pause := c.some(1000)
	f := rondo.Submit(c.second, func(ctx context.Context) (int, error) {
		return want, rondo.Sleep(ctx, pause)
	})
	back := rondo.NewFuture[int](ctx)
	rnd := c.another()
	here := rondo.LoopOf(ctx)
	c.outside.Go(func() {
		v, err := f.Wait(context.Background())
		if err != nil {
			back.Fail(err)
		}
		if rnd.IntN(3) > 0 {
			back.Set(v)
		}
		// A task of the first loop, for a goroutine.
		g := rondo.Submit(here, func(context.Context) (int, error) { c.at("Submit"); return v, nil })
		if rnd.IntN(2) == 0 {
			g.Cancel(nil)
		}
		if w, err := g.Wait(context.Background()); err == nil && w != v {
			c.t.Errorf("a task returned %d for %d", w, v)
		}
	})
	return rondo.Timeout(ctx, c.some(2000), func(ctx context.Context) error {
		v, err := f.Wait(ctx)
		if err == nil && v != want {
			c.t.Errorf("the future of the other loop has %d, want %d", v, want)
		}
		if err != nil {
			return err
		}
		_, err = back.Wait(ctx)
		return err
	})
}

// post sends functions from a goroutine, which run in their order.
func (c *chaos) post(ctx context.Context) error {
	loop, n := rondo.LoopOf(ctx), 1+c.rnd.IntN(20)
	ran := 0
	c.outside.Go(func() {
		for i := range n {
			err := loop.Post(func() {
				c.at("Post")
				if i < ran {
					c.t.Errorf("function %d ran after %d", i, ran)
				}
				ran = i
			})
			if err != nil && !errors.Is(err, rondo.ErrLoopClosed) {
				c.t.Errorf("Post returned %v", err)
			}
			c.counts[posts].Add(1)
		}
	})
	return rondo.Sleep(ctx, c.some(500))
}

func (c *chaos) offload(ctx context.Context) error {
	pause := c.some(2000)
	return rondo.Timeout(ctx, c.some(2000), func(ctx context.Context) error {
		_, err := rondo.Offload(ctx, func(ctx context.Context) (int, error) {
			c.at("Offload")
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
			return 0, ctx.Err()
		})
		return err
	})
}

// pull takes some values of a sequence that waits, and may leave the rest.
func (c *chaos) pull(ctx context.Context) error {
	var seq iter.Seq[int] = func(yield func(int) bool) {
		defer c.at("deferred call")
		for i := range 5 {
			c.at("Pull")
			if rondo.Sleep(ctx, c.some(100)) != nil || !yield(i) {
				return
			}
		}
	}
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		next, stop := rondo.Pull(g, seq)
		for range c.rnd.IntN(6) {
			next()
		}
		if c.rnd.IntN(2) == 0 {
			stop()
		}
		return rondo.Check(g)
	})
}

func (c *chaos) several(ctx context.Context) error {
	at := func(place string) func(ctx context.Context) (int, error) {
		return func(ctx context.Context) (int, error) { c.at(place); return 1, rondo.Sleep(ctx, c.some(500)) }
	}
	if _, err := rondo.Gather(ctx, at("Gather"), at("Gather")); err != nil {
		return err
	}
	if _, err := rondo.Race(ctx, at("Race"), at("Race")); err != nil {
		return err
	}
	numbers := func(yield func(int) bool) {
		for i := 0; i < 5 && yield(i); i++ {
		}
	}
	for range rondo.Map(ctx, 2, numbers, func(ctx context.Context, _ int) (int, error) { return at("Map")(ctx) }) {
		if c.rnd.IntN(4) == 0 {
			break
		}
	}
	return rondo.Check(ctx)
}

func (c *chaos) start(ctx context.Context) error {
	return rondo.Timeout(ctx, c.some(2000), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			return g.Start(g, func(ctx context.Context, started func()) error {
				c.at("Start")
				if err := rondo.Sleep(ctx, c.some(1000)); err != nil {
					return err
				}
				started()
				return rondo.Sleep(ctx, c.some(1000))
			})
		})
	})
}

// An end is a Reader or a Writer of a process.
type end struct {
	c     *chaos
	place string
	left  int
}

func (e *end) Read(p []byte) (int, error) {
	e.c.at(e.place)
	if e.left--; e.left < 0 {
		return 0, errEnd
	}
	return len(p), nil
}

func (e *end) Write(p []byte) (int, error) { e.c.at(e.place); return len(p), nil }

var errEnd = errors.New("the input fails here")

// child runs a process that copies, and may be cut off.
func (c *chaos) child(ctx context.Context) error {
	c.counts[processes].Add(1)
	return rondo.Timeout(ctx, 2*time.Millisecond+c.some(10_000), func(ctx context.Context) error {
		cmd := process.Command(ctx, "cat")
		cmd.Stdin, cmd.Stdout = &end{c, "process.Stdin", 3}, &end{c, "process.Stdout", 0}
		end := cmd.Cancel
		cmd.Cancel = func() error { c.at("process.Cancel"); return end() }
		cmd.WaitDelay = 100 * time.Millisecond // if it explodes
		if err := cmd.Run(); err != nil && !errors.Is(err, errEnd) {
			return err
		}
		return nil
	})
}

// tracer returns the hooks of the first loop.
func (c *chaos) tracer() *rondo.Tracer {
	if !strings.HasPrefix(c.place, "Tracer") {
		return nil
	}
	return &rondo.Tracer{
		Started: func(*rondo.Task, time.Time) { c.at("Tracer.Started") },
		Stepped: func(*rondo.Task, time.Time) { c.at("Tracer.Stepped") },
		Parked:  func(*rondo.Task, rondo.Reason, time.Time) { c.at("Tracer.Parked") },
		Woken:   func(_, _ *rondo.Task, _ time.Time) { c.at("Tracer.Woken") },
		Ended:   func(*rondo.Task, error, time.Time) { c.at("Tracer.Ended") },
		Called:  func(_, _ time.Time) { c.at("Tracer.Called") },
	}
}

// signal raises one that is ignored unless it is caught.
func (c *chaos) signal(ctx context.Context) error {
	raise := func(ctx context.Context) error {
		if err := rondo.Sleep(ctx, c.some(500)); err != nil {
			return err
		}
		return syscall.Kill(os.Getpid(), syscall.SIGWINCH)
	}
	if c.rnd.IntN(2) == 0 {
		return rondo.Timeout(ctx, c.some(3000), func(ctx context.Context) error {
			err := signals.Cancel(ctx, func(ctx context.Context) error { c.at("signals.Cancel"); return raise(ctx) }, syscall.SIGWINCH)
			if _, ok := errors.AsType[rondo.SignalError](err); ok {
				c.counts[caught].Add(1)
				return nil
			}
			return err
		})
	}
	return rondo.Timeout(ctx, c.some(3000), func(ctx context.Context) error {
		rondo.Go(ctx, raise)
		for range signals.Notify(ctx, syscall.SIGWINCH) {
			c.counts[caught].Add(1)
			c.at("signals.Notify")
			break
		}
		return rondo.Check(ctx)
	})
}
