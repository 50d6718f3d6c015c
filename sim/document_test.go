package sim_test

// The programs of docs/SIMULATION.md, run as tests.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// An Account has a mistake: between its read and its write others may come in.
type Account struct{ Balance int }

func (a *Account) Pay(ctx context.Context, n int, approve func(ctx context.Context) error) error {
	balance := a.Balance
	if err := approve(ctx); err != nil {
		return err
	}
	a.Balance = balance + n
	return nil
}

func checkAccount(t *testing.T) {
	sim.Config{Seeds: 500}.Test(t, func(ctx context.Context) { payTwice(ctx, t) })
}

func payTwice(ctx context.Context, t testing.TB) {
	var a Account
	slow := func(ctx context.Context) error { return rondo.Sleep(ctx, 2*time.Millisecond) }
	_ = rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(func(ctx context.Context) error {
			_ = rondo.Sleep(ctx, 5*time.Millisecond)
			return a.Pay(ctx, 10, slow)
		}).SetName("till 1")
		g.Go(func(ctx context.Context) error {
			_ = rondo.Sleep(ctx, 8*time.Millisecond)
			return a.Pay(ctx, 20, slow)
		}).SetName("till 2")
		return nil
	})
	if a.Balance != 30 {
		t.Error("the balance is", a.Balance)
	}
}

// A Role is what a server is in a term.
type Role struct {
	Name string
	Term int
}

func (r Role) String() string { return fmt.Sprintf("%s of term %d", r.Name, r.Term) }

func lead(ctx context.Context, term int) {
	sim.Show(ctx, "role", Role{"leader", term})
}

func FuzzQueue(f *testing.F) { sim.Fuzz(f, checkQueue) }

// TestStateInReport: the report of a failure that is drawn lists what Show said before it.
func TestStateInReport(t *testing.T) {
	t.Setenv("RONDO_SEED", "7:-")
	contains(t, failing(t, func(t *tester) {
		sim.Cluster(t, func(ctx context.Context, w *sim.World) {
			w.Host("a", func(ctx context.Context) error { lead(ctx, 3); lead(ctx, 4); return nil })
			_ = rondo.Sleep(ctx, time.Minute)
			t.Fatal("so it is")
		})
	}), "state at the failure:\n\t  a: role = leader of term 4")
}

// A SafeAccount holds a lock from its read to its write.
type SafeAccount struct {
	Account
	lock rondo.Mutex
}

func (a *SafeAccount) Pay(ctx context.Context, n int, approve func(ctx context.Context) error) error {
	if err := a.lock.Lock(ctx); err != nil {
		return err
	}
	defer a.lock.Unlock()
	return a.Account.Pay(ctx, n, approve)
}

func checkQueue(t *testing.T) {
	sim.Config{Seeds: 100}.Test(t, func(ctx context.Context) {
		q := rondo.NewQueue[int](1 + sim.Choose(ctx, 3))
		n := sim.Choose(ctx, 8)
		rondo.Go(ctx, func(ctx context.Context) error {
			for i := range n {
				if err := q.Put(ctx, i); err != nil {
					return err
				}
				sim.Sometimes(ctx, q.Len() > 1, "the queue holds more than one")
			}
			q.Close()
			return nil
		})
		next := 0
		for v := range q.All(ctx) {
			sim.Always(ctx, v == next, "values keep their order")
			next++
		}
		if next != n {
			t.Error("of", n, "values", next, "came")
		}
	})
}

func checkOnce(t *testing.T) {
	sim.Explore(t, func(ctx context.Context) {
		var lock rondo.Mutex
		opened, open := 0, false
		_ = rondo.Group(ctx, func(g *rondo.Scope) error {
			for range 3 {
				g.Go(func(ctx context.Context) error {
					if err := lock.Lock(ctx); err != nil {
						return err
					}
					defer lock.Unlock()
					if !open {
						_ = rondo.Yield(ctx) // it takes a while
						opened++
						open = true
					}
					return nil
				})
			}
			return nil
		})
		sim.Always(ctx, opened == 1, "it is opened once")
	})
}

func checkAccountOrders(t testing.TB, late time.Duration) {
	sim.Config{Late: late}.Explore(t, func(ctx context.Context) { payTwice(ctx, t) })
}

func checkDeadline(t *testing.T) {
	sim.Config{Goroutines: true, Exact: true}.Test(t, func(ctx context.Context) {
		start := rondo.Now(ctx)
		_, err := rondo.Offload(ctx, func(ctx context.Context) (int, error) {
			ctx, cancel := context.WithTimeout(ctx, time.Hour) // that of package context
			defer cancel()
			<-ctx.Done()
			return 0, ctx.Err()
		})
		if !errors.Is(err, context.DeadlineExceeded) || rondo.Now(ctx).Sub(start) != time.Hour {
			t.Error(err, "after", rondo.Now(ctx).Sub(start))
		}
	})
}

// TestDocument: the document has these programs, and they do what it says.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile("../docs/SIMULATION.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("document_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(text, -1)
	if len(blocks) != 9 {
		t.Error(len(blocks), "programs")
	}
	for _, b := range blocks {
		if !strings.Contains(string(source), string(b[1])) {
			t.Errorf("the document has a program that is not in this file:\n%s", b[1])
		}
	}
	for name, check := range map[string]func(t *testing.T){
		"queue": checkQueue, "once": checkOnce, "deadline": checkDeadline,
	} {
		t.Run(name, check)
	}
	t.Run("safe account", func(t *testing.T) {
		sim.Config{Seeds: 500}.Test(t, func(ctx context.Context) {
			var a SafeAccount
			approve := func(ctx context.Context) error { return rondo.Sleep(ctx, 2*time.Millisecond) }
			_ = rondo.Group(ctx, func(g *rondo.Scope) error {
				for i := range 3 {
					g.Go(func(ctx context.Context) error { return a.Pay(ctx, i, approve) })
				}
				return nil
			})
			if a.Balance != 3 {
				t.Error("the balance is", a.Balance)
			}
		})
	})
	tried, _ := try(func(t *tester) { checkAccountOrders(t, 0) })
	contains(t, tried.Text(), "sim: 2 orders, with each timer exact")
	late := failing(t, func(t *tester) { checkAccountOrders(t, 2*time.Millisecond) })
	contains(t, late, "the balance is ", "replay: RONDO_SEED=x:")
	report := runVictim(t, "account", "", "RONDO_SHRINK=1m")
	contains(t, report, "the balance is ", "sim: seed 2", " matter (", "  1. after ", " late", "replay these alone: ", "picture: ",
		"nearest run: without 1. it passes; the first step that differs is the ", "here the clock jumps to ", "there the clock jumps to 5ms")
}
