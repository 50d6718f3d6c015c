package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/nats/internal/rpc"
	"github.com/rondo-go/rondo/sim"
)

// A trial is one run: hosts that serve a function and hosts that call it.
type trial struct {
	t       *testing.T
	net     *network
	workers []*worker
	calls   []*record
}

// A worker is a host that serves.
type worker struct {
	*host
	endpoint *rpc.Endpoint
	scope    *rondo.Scope
	ending   bool // it was killed, or told to end
	running  int
}

// A record is what is known of one call, at both of its ends.
type record struct {
	id       string
	deadline time.Time
	returned bool
	at       time.Time
	result   string
	err      error
	runs     int     // how often the function has begun
	worker   *worker // where
	failed   bool    // it has returned an error of its own
	cut      time.Time
	cutBy    error // it was cancelled at cut by this, before the call had returned
}

var (
	errOwn  = errors.New("an error of the function")
	errKill = errors.New("the host is dead")
)

// serve starts a worker. It ends with g.
func (r *trial) serve(g *rondo.Scope, limit int) (*worker, error) {
	w := &worker{host: r.net.host()}
	r.workers = append(r.workers, w)
	ready := rondo.Event{Name: "ready"}
	g.Go(func(ctx context.Context) error {
		err := rondo.Group(ctx, func(background *rondo.Scope) (err error) {
			if w.endpoint, err = rpc.New(background, background, w.host); err != nil {
				return err
			}
			err = rondo.Group(background, func(g *rondo.Scope) error {
				w.scope = g
				defer ready.Set()
				return w.endpoint.Serve(g, "f", limit, func(ctx context.Context, _ map[string][]string, data []byte) ([]byte, error) {
					return r.run(ctx, w, string(data))
				}, func() {})
			})
			if w.dead || rondo.Check(ctx) != nil {
				background.Cancel(errKill)
				return err
			}
			// In an orderly end what the workers have to say is sent first.
			if err := rondo.Sleep(background, 10*time.Millisecond); err != nil {
				return err
			}
			background.Cancel(nil)
			return err
		})
		if errors.Is(err, errKill) {
			return nil
		}
		return err
	})
	return w, ready.Wait(g)
}

// end ends a worker: as a process that dies, or gracefully.
func (w *worker) end(dies bool) {
	w.ending = true
	if dies {
		w.kill()
	}
	w.scope.Cancel(errKill)
}

// run is the function. What it does is chosen.
func (r *trial) run(ctx context.Context, w *worker, id string) (text []byte, err error) {
	i := slices.IndexFunc(r.calls, func(c *record) bool { return c.id == id })
	c := r.calls[i]
	c.runs++
	c.worker = w
	w.running++
	defer func() { w.running-- }()
	if c.runs > 1 {
		r.t.Errorf("%s has run %d times", id, c.runs)
	}
	switch sim.Choose(ctx, 6) {
	case 1:
		c.failed = true
		return nil, errOwn
	case 2:
		err = rondo.Sleep(ctx, 300*time.Millisecond)
	case 3:
		err = rondo.Sleep(ctx, 4*time.Second)
	case 4:
		err = rondo.Sleep(ctx, time.Hour)
	}
	// Nothing but the end of its wait, its deadline or its host ends a function early.
	late := !c.deadline.IsZero() && !rondo.Now(ctx).Before(c.deadline)
	if err != nil && !c.returned && !w.ending && !late {
		c.cut, c.cutBy = rondo.Now(ctx), err
	}
	return []byte("result of " + id), err
}

// call makes one call, with a deadline and perhaps a cancellation.
func (r *trial) call(ctx context.Context, e *rpc.Endpoint, id string) {
	c := &record{id: id}
	r.calls = append(r.calls, c)
	body := func(ctx context.Context) error {
		data, err := e.Call(ctx, "f", nil, []byte(id), false)
		if c.returned {
			r.t.Errorf("%s has returned twice", id)
		}
		c.result, c.err, c.returned, c.at = string(data), err, true, rondo.Now(ctx)
		return nil
	}
	switch sim.Choose(ctx, 3) {
	case 0:
		c.deadline = rondo.Now(ctx).Add(30 * time.Second)
		_ = rondo.Timeout(ctx, 30*time.Second, body)
	case 1:
		d := time.Duration(1+sim.Choose(ctx, 3000)) * time.Millisecond
		c.deadline = rondo.Now(ctx).Add(d)
		_ = rondo.Timeout(ctx, d, body)
	case 2:
		task := rondo.Go(ctx, body)
		_ = rondo.Sleep(ctx, time.Duration(1+sim.Choose(ctx, 3000))*time.Millisecond)
		task.Cancel(nil)
		_ = task.Wait(ctx)
	}
}

// check checks what a call says against what has happened to its function.
func (r *trial) check(ctx context.Context, c *record) {
	remote, isRemote := errors.AsType[*rpc.RemoteError](c.err)
	lost, refused := errors.Is(c.err, rpc.ErrLost), errors.Is(c.err, rpc.ErrRefused) || errors.Is(c.err, rpc.ErrNoWorker)
	sim.Sometimes(ctx, c.err == nil, "answered")
	sim.Sometimes(ctx, lost, "lost")
	if !r.net.calm {
		sim.Sometimes(ctx, lost && c.runs == 0, "lost on its way")
	}
	sim.Sometimes(ctx, isRemote, "failed")
	sim.Sometimes(ctx, c.runs == 1 && c.err != nil && !lost && !isRemote, "cancelled while it runs")
	// The end of a call is decided a little before its task goes on, which may be late.
	if c.cutBy != nil && c.at.Sub(c.cut) > time.Second {
		r.t.Errorf("%s was cancelled while its caller waits: %v", c.id, c.cutBy)
	}
	switch {
	case !c.returned:
		r.t.Errorf("%s has not returned", c.id)
	case c.err == nil && (c.runs != 1 || c.result != "result of "+c.id):
		r.t.Errorf("%s: %q after %d runs", c.id, c.result, c.runs)
	case isRemote && (c.runs != 1 || !c.failed && c.deadline.IsZero() || remote.Panic):
		r.t.Errorf("%s: %v after %d runs", c.id, c.err, c.runs)
	case refused && c.runs != 0:
		r.t.Errorf("%s: %v, and it has run", c.id, c.err)
	case c.err == nil, isRemote, refused, lost, errors.Is(c.err, context.DeadlineExceeded), errors.Is(c.err, context.Canceled):
	default:
		r.t.Errorf("%s: %v", c.id, c.err)
	}
}

// TestProtocol: on a network that loses, doubles and delays messages, while workers die,
// end, or are cut off, each call returns once and says the truth; no function runs twice;
// none is cancelled whose caller waits; and in the end none is left running.
func TestProtocol(t *testing.T) {
	sim.Config{Seeds: 200, SeedsShort: 15}.Test(t, func(ctx context.Context) {
		r := &trial{t: t, net: &network{ctx: ctx, cut: make(map[*host]bool)}}
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			for range 3 {
				if _, err := r.serve(g, 2); err != nil {
					return err
				}
			}
			var callers []*rpc.Endpoint
			for range 2 {
				e, err := rpc.New(g, g, r.net.host())
				if err != nil {
					return err
				}
				callers = append(callers, e)
			}
			err := rondo.Group(g, func(g *rondo.Scope) error {
				for i := range 12 {
					g.Go(func(ctx context.Context) error {
						if err := rondo.Sleep(ctx, time.Duration(sim.Choose(ctx, 4000))*time.Millisecond); err != nil {
							return err
						}
						r.call(ctx, callers[i%2], fmt.Sprint("call ", i))
						return nil
					})
				}
				g.Go(r.disturb)
				return nil
			})
			if err != nil {
				return err
			}
			// No cancellation need arrive: one does, in time.
			if err := rondo.Sleep(g, time.Minute); err != nil {
				return err
			}
			for _, w := range r.workers {
				if calls, jobs := w.endpoint.Held(); calls+jobs+w.running > 0 && !w.dead {
					t.Errorf("%s: %d functions run, %d calls and %d jobs are held", w.name, w.running, calls, jobs)
				}
			}
			for _, e := range callers {
				if calls, jobs := e.Held(); calls+jobs > 0 {
					t.Errorf("a caller holds %d calls and %d jobs", calls, jobs)
				}
			}
			for _, c := range r.calls {
				r.check(g, c)
			}
			sim.Sometimes(g, r.net.lost > 0, "a message was lost")
			sim.Sometimes(g, r.net.doubled > 0, "a message came twice")
			g.Cancel(nil)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// disturb kills or ends a worker, and cuts hosts off for a while. One worker stays.
func (r *trial) disturb(ctx context.Context) error {
	wait := func() error { return rondo.Sleep(ctx, time.Duration(sim.Choose(ctx, 5000))*time.Millisecond) }
	if err := wait(); err != nil {
		return err
	}
	if n := sim.Choose(ctx, 3); n > 0 {
		r.workers[0].end(n == 1)
	}
	if err := wait(); err != nil {
		return err
	}
	cut := r.workers[1].host
	r.net.cut[cut] = sim.Choose(ctx, 2) == 1
	if err := rondo.Sleep(ctx, time.Duration(sim.Choose(ctx, 4)+1)*time.Second); err != nil {
		return err
	}
	r.net.cut[cut] = false
	return nil
}

// TestCalm: on a network without faults each call is answered, unless its worker dies;
// then it is lost, which its caller knows in 2.2 s.
func TestCalm(t *testing.T) {
	sim.Config{Seeds: 100, SeedsShort: 10, Exact: true}.Test(t, func(ctx context.Context) {
		r := &trial{t: t, net: &network{ctx: ctx, calm: true}}
		var killed time.Time
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			for range 2 {
				if _, err := r.serve(g, 3); err != nil {
					return err
				}
			}
			e, err := rpc.New(g, g, r.net.host())
			if err != nil {
				return err
			}
			err = rondo.Group(g, func(g *rondo.Scope) error {
				for i := range 6 {
					g.Go(func(ctx context.Context) error { r.call(ctx, e, fmt.Sprint("call ", i)); return nil })
				}
				if sim.Choose(g, 2) == 1 {
					g.Go(func(ctx context.Context) error {
						if err := rondo.Sleep(ctx, time.Duration(sim.Choose(ctx, 5000))*time.Millisecond); err != nil {
							return err
						}
						killed = rondo.Now(ctx)
						r.workers[0].end(true)
						return nil
					})
				}
				return nil
			})
			if err != nil {
				return err
			}
			for _, c := range r.calls {
				r.check(g, c)
				if !errors.Is(c.err, rpc.ErrLost) {
					continue
				}
				if c.worker != nil && !c.worker.dead || killed.IsZero() {
					t.Errorf("%s is lost, and its worker lives", c.id)
				}
				if late := c.at.Sub(killed); late > 2200*time.Millisecond {
					t.Errorf("%s was known to be lost after %v", c.id, late)
				}
			}
			g.Cancel(nil)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestEveryFault tries all orders and all losses and repetitions of messages of one call
// that is cancelled while it runs.
func TestEveryFault(t *testing.T) {
	if testing.Short() {
		t.Skip("it tries thousands of orders")
	}
	sim.Config{MaxOrders: 200_000}.Explore(t, func(ctx context.Context) {
		n := &pair{faults: 1}
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			n.ctx = g
			// Each side is at rest before the next begins, so the orders are those of the call.
			settle := func() error { return rondo.Sleep(g, time.Millisecond) }
			worker, err := rpc.New(g, g, &end{pair: n, name: "w"})
			if err := errors.Join(err, settle()); err != nil {
				return err
			}
			runs, running := 0, 0
			err = worker.Serve(g, "f", 1, func(ctx context.Context, _ map[string][]string, data []byte) ([]byte, error) {
				runs++
				running++
				defer func() { running-- }()
				return data, rondo.Sleep(ctx, time.Second)
			}, func() {})
			if err := errors.Join(err, settle()); err != nil {
				return err
			}
			caller, err := rpc.New(g, g, &end{pair: n, name: "c"})
			if err := errors.Join(err, settle()); err != nil {
				return err
			}
			limit := 700 * time.Millisecond
			if sim.Choose(ctx, 2) == 1 {
				limit = 3 * time.Second
			}
			var data []byte
			err = rondo.Timeout(g, limit+time.Microsecond, func(ctx context.Context) (err error) {
				data, err = caller.Call(ctx, "f", nil, []byte("x"), false)
				return err
			})
			sim.Sometimes(ctx, err == nil, "answered")
			sim.Sometimes(ctx, errors.Is(err, rpc.ErrLost), "lost")
			sim.Sometimes(ctx, rondo.TimedOut(g, err), "cancelled")
			sim.Sometimes(ctx, n.doubled > 0, "a message came twice")
			if runs > 1 || err == nil && (runs != 1 || string(data) != "x") {
				t.Errorf("%q, %v after %d runs", data, err, runs)
			}
			if err := rondo.Sleep(g, 20*time.Second); err != nil {
				return err
			}
			if calls, jobs := caller.Held(); calls+jobs > 0 {
				t.Errorf("the caller holds %d calls and %d jobs", calls, jobs)
			}
			if calls, jobs := worker.Held(); calls+jobs+running > 0 {
				t.Errorf("%d run; the worker holds %d calls and %d jobs", running, calls, jobs)
			}
			// In which order the rest ends does not matter; the fewer end at once, the fewer
			// orders there are.
			for _, e := range []*rpc.Endpoint{worker, caller} {
				e.EndControl()
				if err := settle(); err != nil {
					return err
				}
			}
			g.Cancel(nil)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// A pair is the smallest network: two ends, and at most so many faults.
type pair struct {
	ctx     context.Context
	subs    []*subscription
	faults  int
	doubled int
}

type end struct {
	*pair
	name string
}

func (e *end) MaxPayload() int { return 0 }
func (e *end) Inbox() string   { return e.name }

func (e *end) Subscribe(_ context.Context, subject, queue string, fn func(m rpc.Message)) (func(), error) {
	e.subs = append(e.subs, &subscription{subject: subject, queue: queue, fn: fn})
	return func() {}, nil
}

func (e *end) Publish(ctx context.Context, m rpc.Message) error {
	if err := rondo.Check(ctx); err != nil {
		return err
	}
	times := 1
	if e.faults > 0 {
		if fault := sim.Choose(e.ctx, 3); fault > 0 {
			e.faults--
			times = 2 * (fault - 1)
			e.doubled += fault - 1
		}
	}
	for _, s := range e.subs {
		for range times {
			if matches(s.subject, m.Subject) {
				rondo.LoopOf(e.ctx).CallLater(time.Millisecond, func() { s.fn(m) })
			}
		}
	}
	return nil
}

// calmly calls body with an endpoint on a network without faults, and cancels g at its end.
func calmly(t *testing.T, body func(g *rondo.Scope, n *network, e *rpc.Endpoint) error) {
	t.Helper()
	sim.Config{Seeds: 2, Exact: true}.Test(t, func(ctx context.Context) {
		n := &network{ctx: ctx, calm: true}
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			e, err := rpc.New(g, g, n.host())
			if err == nil {
				err = body(g, n, e)
			}
			g.Cancel(nil)
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestLimits: what is beyond the waiting calls is refused, and has not run.
func TestLimits(t *testing.T) {
	calmly(t, func(g *rondo.Scope, _ *network, e *rpc.Endpoint) error {
		const refused = 1100 // all at once, so as many refusals wait to be sent
		var gate rondo.Event
		runs := 0
		err := e.Serve(g, "f", 3, func(ctx context.Context, _ map[string][]string, _ []byte) ([]byte, error) {
			runs++
			return nil, gate.Wait(ctx)
		}, func() {})
		if err != nil {
			return err
		}
		var errs []error
		err = rondo.Group(g, func(g *rondo.Scope) error {
			for range 3 + 1024 + refused {
				g.Go(func(ctx context.Context) error {
					_, err := e.Call(ctx, "f", nil, nil, false)
					errs = append(errs, err)
					return nil
				})
			}
			if err := rondo.Sleep(g, 10*time.Second); err != nil {
				return err
			}
			if runs != 3 || len(errs) != refused {
				t.Errorf("%d run, %d were refused", runs, len(errs))
			}
			gate.Set()
			return nil
		})
		for i, err := range errs {
			if want := i < refused; errors.Is(err, rpc.ErrRefused) != want || !want && err != nil {
				t.Errorf("call %d: %v", i, err)
			}
		}
		long := strings.Repeat("x", 2000)
		err = errors.Join(err, e.Serve(g, "long", 1, func(context.Context, map[string][]string, []byte) ([]byte, error) { return nil, errors.New(long) }, func() {}))
		if _, err := e.Call(g, "long", nil, nil, false); err == nil || len(err.Error()) > 1100 {
			t.Errorf("a long error: %v", err)
		}
		return err
	})
}

// An ending is a Transport whose scope ends while a subscription is made.
type ending struct {
	*host
	scope *rondo.Scope
}

func (e ending) Subscribe(ctx context.Context, subject, queue string, fn func(m rpc.Message)) (func(), error) {
	e.scope.Cancel(nil)
	return e.host.Subscribe(ctx, subject, queue, fn)
}

// TestNewAtTheEnd: an Endpoint whose scope ends meanwhile is not made, and leaves no subscription.
func TestNewAtTheEnd(t *testing.T) {
	calmly(t, func(g *rondo.Scope, n *network, _ *rpc.Endpoint) error {
		before := len(n.subscriptions)
		return rondo.Group(g, func(background *rondo.Scope) error {
			if _, err := rpc.New(g, background, ending{n.host(), background}); err != context.Canceled {
				t.Errorf("New returned %v", err)
			}
			if left := len(n.subscriptions) - before; left != 0 {
				t.Errorf("%d subscriptions are left", left)
			}
			return nil
		})
	})
}

// TestUnanswered: an answer that cannot be published is the error of its call alone. The worker
// goes on.
func TestUnanswered(t *testing.T) {
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.DiscardHandler))
	calmly(t, func(g *rondo.Scope, n *network, caller *rpc.Endpoint) error {
		h := n.host()
		h.refuses = func(m rpc.Message) bool { return string(m.Data) == "bad" }
		e, err := rpc.New(g, g, h)
		if err != nil {
			return err
		}
		err = e.Serve(g, "f", 1, func(_ context.Context, _ map[string][]string, data []byte) ([]byte, error) { return data, nil }, func() {})
		if err != nil {
			return err
		}
		if _, err := caller.Call(g, "f", nil, []byte("bad"), false); err == nil || errors.Is(err, rpc.ErrLost) {
			t.Errorf("the call returned %v, want an error of the function", err)
		}
		data, err := caller.Call(g, "f", nil, []byte("good"), false)
		if string(data) != "good" {
			t.Errorf("the next call returned %q", data)
		}
		return err
	})
}

// TestBytes: the requests of a worker have at most 64 MiB, those that run included, unless they
// run at once; and what has ended makes room.
func TestBytes(t *testing.T) {
	calmly(t, func(g *rondo.Scope, _ *network, e *rpc.Endpoint) error {
		large := make([]byte, 4<<20)
		for _, test := range []struct{ limit, calls, refused int }{{1, 20, 4}, {18, 20, 2}, {20, 20, 0}} {
			name := fmt.Sprint("f", test.limit)
			var gate rondo.Event
			err := e.Serve(g, name, test.limit, func(ctx context.Context, _ map[string][]string, _ []byte) ([]byte, error) { return nil, gate.Wait(ctx) }, func() {})
			if err != nil {
				return err
			}
			for range 2 { // the second time as the first
				gate.Clear()
				refused := 0
				err := rondo.Group(g, func(g *rondo.Scope) error {
					for range test.calls {
						g.Go(func(ctx context.Context) error {
							_, err := e.Call(ctx, name, nil, large, false)
							if errors.Is(err, rpc.ErrRefused) {
								refused++
								return nil
							}
							return err
						})
					}
					if err := rondo.Sleep(g, 10*time.Second); err != nil {
						return err
					}
					gate.Set()
					return nil
				})
				if err != nil || refused != test.refused {
					t.Errorf("limit %d: %d of %d calls refused, want %d; %v", test.limit, refused, test.calls, test.refused, err)
				}
			}
		}
		return nil
	})
}
