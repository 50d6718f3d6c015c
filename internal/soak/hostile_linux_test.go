//go:build !rondo_portable

package soak

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
)

// A grudge is an error of which every method but Error panics.
type grudge struct{}

func (grudge) Error() string   { return "grudge" }
func (grudge) Is(error) bool   { panic(errBomb) }
func (grudge) As(any) bool     { panic(errBomb) }
func (grudge) Unwrap() []error { panic(errBomb) }

// A selfish error panics with itself, so that the panic cannot be printed either.
type selfish struct{ _ []int }

func (e selfish) Error() string { panic(e) }

// A knot wraps itself, twice.
type knot struct{ within []error }

func (*knot) Error() string     { return "knot" }
func (k *knot) Unwrap() []error { return k.within }

// A list of errors cannot be compared with another one.
type incomparable []error

func (e incomparable) Error() string   { return "incomparable" }
func (e incomparable) Unwrap() []error { return e }

// A busybody is an error of which a method waits, and cancels a scope.
type busybody struct {
	ctx   context.Context
	scope *rondo.Scope
}

func (busybody) Error() string { return "busybody" }

func (e busybody) Is(error) bool {
	e.scope.Cancel(grudge{})
	return rondo.Yield(e.ctx) != nil
}

// A hostileContext is a context of which a method panics from a moment on.
type hostileContext struct {
	context.Context
	method int
	armed  *atomic.Bool
}

func (c hostileContext) may(method int) {
	if c.method == method && c.armed.Load() {
		panic(selfish{})
	}
}

func (c hostileContext) Done() <-chan struct{}       { c.may(0); return c.Context.Done() }
func (c hostileContext) Err() error                  { c.may(1); return c.Context.Err() }
func (c hostileContext) Value(key any) any           { c.may(2); return c.Context.Value(key) }
func (c hostileContext) Deadline() (time.Time, bool) { c.may(3); return c.Context.Deadline() }

// A hostileCase is a case of a Select of which a method panics.
type hostileCase struct {
	list   rondo.WaitList
	method int
}

func (c *hostileCase) may(method int) {
	if c.method == method {
		panic(grudge{})
	}
}

func (c *hostileCase) Try(context.Context, any) (bool, error) { c.may(0); return false, nil }
func (c *hostileCase) End(any, bool) error                    { c.may(2); return nil }

func (c *hostileCase) Begin(context.Context) (*rondo.WaitList, rondo.Reason) {
	c.may(1)
	return &c.list, rondo.Reason{What: "hostile"}
}

// A hostileName is what a task waits for. It has no name.
type hostileName struct{}

func (hostileName) String() string { panic(selfish{}) }

// A hostileHandler is a handler of package slog that panics.
type hostileHandler struct{ slog.Handler }

func (hostileHandler) Enabled(context.Context, slog.Level) bool { return true }

func (hostileHandler) Handle(context.Context, slog.Record) error { panic(selfish{}) }

// hostility is one round.
type hostility struct {
	t    *testing.T
	rnd  *rand.Rand
	root context.Context
}

// bad returns a hostile error.
func (h *hostility) bad(g *rondo.Scope) error {
	var none *fs.PathError
	k := new(knot)
	k.within = []error{k, k}
	switch h.rnd.IntN(8) {
	case 0:
		return grudge{}
	case 1:
		return selfish{}
	case 2:
		return k
	case 3:
		return incomparable{k, grudge{}}
	case 4:
		return busybody{g, g}
	case 5:
		return fmt.Errorf("wrapped: %w", incomparable{none})
	case 6:
		return errors.Join(errBomb, none, selfish{}, grudge{})
	}
	return none
}

// villain does hostile things, each in a task of its own.
func (h *hostility) villain(ctx context.Context) error {
	for range 10 {
		task := rondo.Go(ctx, func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error { return h.deed(g) })
		})
		if h.rnd.IntN(3) == 0 { // else nobody waits for its error
			rondo.TimedOut(ctx, nil)
			_ = task.Wait(ctx)
		}
		_ = rondo.Sleep(ctx, h.some(200))
	}
	return nil
}

func (h *hostility) some(n int) time.Duration { return time.Duration(h.rnd.IntN(n)) * time.Microsecond }

// deed does one hostile thing.
func (h *hostility) deed(g *rondo.Scope) error {
	failing := func(ctx context.Context) (int, error) { _ = rondo.Sleep(ctx, h.some(100)); return 0, h.bad(g) }
	fails := func(ctx context.Context) error { _, err := failing(ctx); return err }
	wait := func(ctx context.Context) error { return rondo.WaitCanceled(ctx) }
	switch h.rnd.IntN(16) {
	case 0:
		g.Go(wait)
		g.Go(fails)
		return rondo.WaitCanceled(g)
	case 1:
		g.Cancel(h.bad(g))
		return h.bad(g)
	case 2:
		err := rondo.Timeout(g, h.some(100), func(ctx context.Context) error { _ = wait(ctx); return h.bad(g) })
		rondo.TimedOut(g, err)
		return err
	case 3:
		return rondo.OffloadFunc(g, func(context.Context) error { return grudge{} })
	case 4:
		f := rondo.NewFuture[int](g)
		f.Fail(h.bad(g))
		_, err := rondo.Race(g, f.Wait, failing)
		return err
	case 5:
		_, err := rondo.Gather(g, failing, failing)
		return err
	case 6:
		g.Go(fails)
		for range rondo.Map(g, 2, rondo.NewQueue[int](1).All(g), func(context.Context, int) (int, error) { return 0, nil }) {
		}
		return h.bad(g)
	case 7:
		return g.Start(g, func(ctx context.Context, started func()) error { return fails(ctx) })
	case 8:
		return rondo.Contain(g, func(ctx context.Context) error { rondo.Go(ctx, fails); _ = wait(ctx); return h.bad(g) })
	case 9, 10, 11:
		c := hostileContext{g, h.rnd.IntN(5), new(atomic.Bool)}
		c.armed.Store(h.rnd.IntN(2) == 0)
		g.Go(func(ctx context.Context) error {
			_ = rondo.Sleep(ctx, h.some(100))
			c.armed.Store(true)
			return h.bad(g)
		})
		if h.rnd.IntN(2) == 0 {
			return rondo.Group(c, func(g *rondo.Scope) error { return wait(g) })
		}
		return wait(c)
	case 12:
		_, err := rondo.Select(g, rondo.Case{On: &hostileCase{method: h.rnd.IntN(3)}}, rondo.After(h.some(100)))
		return err
	case 13:
		list := rondo.WaitList{Of: hostileName{}}
		g.Go(func(ctx context.Context) error { _ = rondo.Yield(ctx); rondo.Tasks(ctx); list.Wake(); return nil })
		return list.Park(g, rondo.Reason{What: "hostile"})
	case 14:
		panic(h.bad(g))
	}
	rondo.Go(h.root, fails) // and nobody waits
	return nil
}

// bystander does what cannot fail, and must not.
func (h *hostility) bystander(ctx context.Context, done *int) {
	rondo.Go(ctx, func(ctx context.Context) error {
		q := rondo.NewQueue[int](1)
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error {
				for i := range 20 {
					if err := q.Put(ctx, i); err != nil {
						return err
					}
				}
				q.Close()
				return nil
			})
			for range q.All(g) {
				if err := rondo.Sleep(g, h.some(100)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			h.t.Errorf("a bystander ended with %T", err)
		}
		*done++
		return nil
	}).SetName("bystander")
}

// round runs a loop on which hostile values are everywhere. Those who have none go on.
func (h *hostility) round() {
	const bystanders = 4
	r := rondo.Runner{Recover: true}
	calls := 20 + h.rnd.IntN(100)
	if h.rnd.IntN(2) == 0 {
		r.OnError = func(rondo.TaskInfo, error) { panic(selfish{}) }
	}
	if h.rnd.IntN(2) == 0 {
		r.Tracer = &rondo.Tracer{Ended: func(*rondo.Task, error, time.Time) {
			if calls--; calls == 0 {
				panic(grudge{})
			}
		}}
	}
	done := 0
	defer func() {
		if v := recover(); v != nil {
			h.t.Errorf("Run panicked with a %T", v)
		}
	}()
	err := r.Run(context.Background(), func(ctx context.Context) error {
		h.root = ctx
		for range bystanders {
			h.bystander(ctx, &done)
		}
		villain := rondo.Go(ctx, h.villain)
		for done < bystanders {
			if err := rondo.Sleep(ctx, 100*time.Microsecond); err != nil {
				return err
			}
		}
		return villain.Wait(ctx)
	})
	if err != nil || done != bystanders {
		h.t.Errorf("Run returned a %T; %d of %d bystanders have ended", err, done, bystanders)
	}
}

// TestSoakHostile runs rounds in which errors, contexts, names, cases, hooks and the log of the
// program panic in whatever way they can. Nothing of that reaches those who have no part in it,
// and nothing is left.
func TestSoakHostile(t *testing.T) {
	seed := *soakSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d: repeat with -run TestSoakHostile -soak-seed %d", seed, seed)
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(hostileHandler{slog.DiscardHandler}))
	silent, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0) // for what the log does not write
	if err != nil {
		t.Fatal(err)
	}
	defer func(stderr *os.File) { os.Stderr = stderr; _ = silent.Close() }(os.Stderr)
	os.Stderr = silent
	start, goroutines := time.Now(), runtime.NumGoroutine()
	n := uint64(0)
	for ; n < 40 || time.Since(start) < *soakFor; n++ {
		h := &hostility{t: t, rnd: rand.New(rand.NewPCG(seed, n))}
		hang := time.AfterFunc(2*time.Minute, func() { panic(fmt.Sprintf("round %d of seed %d hangs", n, seed)) })
		h.round()
		hang.Stop()
		if left := leak.Settle(goroutines); left > goroutines {
			t.Errorf("%d goroutines before, %d after\n%s", goroutines, left, leak.Stacks())
		}
		if t.Failed() {
			t.Fatalf("in round %d of seed %d", n, seed)
		}
	}
	t.Logf("%d rounds", n)
}
