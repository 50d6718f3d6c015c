package sim_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/sim"
)

// TestClockWaitsForOffload holds that the clock stands still while a function
// is offloaded, however long that takes.
func TestClockWaitsForOffload(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		start := rondo.Now(ctx)
		err := rondo.Timeout(ctx, time.Hour, func(ctx context.Context) error {
			_, err := rondo.Offload(ctx, func(ctx context.Context) (int, error) {
				ch := make(chan int)
				go func() { spin(); close(ch) }()
				<-ch
				return 1, nil
			})
			return err
		})
		if err != nil || rondo.Now(ctx) != start {
			t.Error(err, rondo.Now(ctx).Sub(start))
		}
	})
}

// TestPostsOfGoroutines: what a goroutine posts runs when the loop has nothing else to run, also on
// a host.
func TestPostsOfGoroutines(t *testing.T) {
	body := func(ctx context.Context) {
		ran, posted := false, make(chan error)
		loop := rondo.LoopOf(ctx)
		go func() { posted <- loop.Post(func() { ran = true }) }()
		if err := <-posted; err != nil { //rondovet:ignore the goroutine waits for nothing
			t.Error(err)
		}
		beside := rondo.Go(ctx, func(ctx context.Context) error {
			for rondo.Yield(ctx) == nil {
			}
			return nil
		})
		for i := range 100 {
			if _ = rondo.Yield(ctx); ran {
				t.Fatalf("it ran beside two busy tasks, in turn %d", i)
			}
		}
		beside.Cancel(nil)
		if _ = rondo.Sleep(ctx, 1); !ran {
			t.Error("it has not run")
		}
	}
	sim.Config{Exact: true}.Test(t, body)
	sim.Config{Exact: true}.Cluster(t, func(ctx context.Context, _ *sim.World) { body(ctx) })
}

// spin takes a while, and another while each time.
func spin() {
	rounds := 1000
	if runtime.GOARCH == "wasm" {
		// One thread runs all: on a busy machine more take longer than a simulation waits.
		rounds = 10
	}
	for range rounds {
		runtime.Gosched()
	}
}

// TestStandardCancel has a context of the standard library that a task cancels.
func TestStandardCancel(t *testing.T) {
	t.Setenv("RONDO_SEED", "1-200")
	sim.Config{Exact: true}.Test(t, func(ctx context.Context) {
		start := rondo.Now(ctx)
		std, cancel := context.WithCancel(ctx)
		defer cancel()
		rondo.Go(ctx, func(ctx context.Context) error {
			_ = rondo.Sleep(ctx, time.Second)
			cancel()
			return nil
		})
		for range 3 {
			rondo.Go(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, 2*time.Second) })
		}
		if err := rondo.Sleep(std, time.Hour); !errors.Is(err, context.Canceled) || rondo.Now(ctx).Sub(start) != time.Second {
			t.Error(err, rondo.Now(ctx).Sub(start))
		}
	})
}

// TestEndWithOffload has loops that end while functions come back.
func TestEndWithOffload(t *testing.T) {
	seeds := "1-1000"
	if testing.Short() {
		seeds = "1-100"
	}
	t.Setenv("RONDO_SEED", seeds)
	sim.Test(t, func(ctx context.Context) {
		for range 3 {
			rondo.Go(ctx, func(ctx context.Context) error {
				_, err := rondo.Offload(ctx, func(ctx context.Context) (int, error) {
					<-ctx.Done()
					return 1, nil
				})
				for range 3 {
					_ = rondo.Shield(ctx, func(ctx context.Context) error { return rondo.Yield(ctx) })
				}
				return err
			})
		}
		_ = rondo.Yield(ctx)
	})
}

// offloadsOf has three tasks that offload a function, and the order in which the functions ran
// and in which the tasks went on.
type offloadsOf struct{ ran, returned []byte }

func (o *offloadsOf) task(name byte) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		err := rondo.OffloadFunc(ctx, func(context.Context) error {
			if name != 'a' {
				spin() // so that the runtime's order is another one than the seed's
			}
			o.ran = append(o.ran, name)
			return nil
		})
		o.returned = append(o.returned, name)
		return err
	}
}

// TestOffloadsInAnyOrder: of functions that were offloaded any may run first, and return first,
// and a seed repeats in which order they do.
func TestOffloadsInAnyOrder(t *testing.T) {
	loop := func(orders map[string]bool) func(ctx context.Context) {
		return func(ctx context.Context) {
			var o offloadsOf
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				for _, name := range []byte("abc") {
					g.Go(o.task(name))
				}
				return nil
			})
			if err != nil || len(o.returned) != 3 {
				t.Errorf("they ran in the order %s and returned in the order %s: %v", o.ran, o.returned, err)
			}
			orders[string(o.ran)] = true
		}
	}
	seeds, explored := map[string]bool{}, map[string]bool{}
	many.Test(t, loop(seeds))
	sim.Config{Deviations: 3}.Explore(t, loop(explored))
	if len(seeds) != 6 || len(explored) != 6 {
		t.Errorf("the seeds try %v, Explore tries %v", seeds, explored)
	}
}

// TestOffloadsOfHosts is the same on three hosts: the functions of all hosts run one at a time.
func TestOffloadsOfHosts(t *testing.T) {
	orders, bySeed := map[string]bool{}, map[int]string{}
	for range 2 {
		seed := 0
		many.Cluster(t, func(ctx context.Context, w *sim.World) {
			var o offloadsOf
			for _, name := range []byte("abc") {
				w.Host(string(name), o.task(name))
			}
			_ = rondo.Sleep(ctx, time.Second)
			if len(o.ran) != 3 || len(o.returned) != 3 {
				t.Errorf("they ran in the order %s and returned in the order %s", o.ran, o.returned)
			}
			orders[string(o.ran)] = true
			if before := bySeed[seed]; before != "" && before != string(o.ran) {
				t.Errorf("run %d has the order %s, and had %s before", seed, o.ran, before)
			}
			bySeed[seed] = string(o.ran)
			seed++
		})
	}
	if len(orders) != 6 {
		t.Errorf("the seeds try %v", orders)
	}
}

// TestOffloadsThatNeedOthers: a function may wait for another one that is offloaded, or for an
// answer of its loop.
func TestOffloadsThatNeedOthers(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		loop, met := rondo.LoopOf(ctx), make(chan int)
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error {
				return rondo.OffloadFunc(ctx, func(context.Context) error { met <- 1; return nil })
			})
			g.Go(func(ctx context.Context) error {
				return rondo.OffloadFunc(ctx, func(context.Context) error { <-met; return nil })
			})
			g.Go(func(ctx context.Context) error {
				n, err := rondo.Offload(ctx, func(std context.Context) (int, error) {
					return rondo.Submit(loop, func(ctx context.Context) (int, error) { return 7, rondo.Yield(ctx) }).Wait(std)
				})
				if n != 7 {
					t.Error(n)
				}
				return err
			})
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestOffloadWithoutReturn: what a function calls Goexit in, or panics, comes out of Offload.
func TestOffloadWithoutReturn(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		if err := rondo.OffloadFunc(ctx, func(context.Context) error { runtime.Goexit(); return nil }); err == nil {
			t.Error("no error of a function that called Goexit")
		}
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		_ = rondo.OffloadFunc(ctx, func(context.Context) error { panic("on purpose") })
	})
}

// TestOffloadReturnsEarly: a result may come while the loop is busy, also with every seed if a
// task Yields, or a callback posts itself, until it has come.
func TestOffloadReturnsEarly(t *testing.T) {
	early := 0
	body := func(ctx context.Context) {
		done := false
		offload := func(ctx context.Context) error {
			err := rondo.OffloadFunc(ctx, func(context.Context) error { return nil })
			done = true
			return err
		}
		rondo.Go(ctx, offload)
		for range 5 {
			_ = rondo.Yield(ctx)
		}
		if done {
			early++
		}
		for !done {
			_ = rondo.Yield(ctx)
		}
		done = false
		task := rondo.Go(ctx, offload)
		var again func()
		again = func() {
			if !done {
				_ = rondo.LoopOf(ctx).Post(again)
			}
		}
		again()
		_ = task.Wait(ctx)
	}
	for what, run := range map[string]func(){
		"loop": func() { many.Test(t, body) },
		"host": func() { many.Cluster(t, func(ctx context.Context, _ *sim.World) { body(ctx) }) },
	} {
		early = 0
		run()
		if early == 0 || early == many.Seeds {
			t.Errorf("on a %s the result comes early in %d of %d seeds", what, early, many.Seeds)
		}
	}
	sim.Config{Deviations: 1}.Explore(t, func(ctx context.Context) {
		task := rondo.Go(ctx, func(ctx context.Context) error {
			return rondo.OffloadFunc(ctx, func(context.Context) error { return nil })
		})
		for !task.Done() {
			_ = rondo.Yield(ctx)
		}
	})
}

// TestOffloadBesideBusyHost: a result also comes while another host is busy until it has come.
func TestOffloadBesideBusyHost(t *testing.T) {
	many.Cluster(t, func(ctx context.Context, w *sim.World) {
		done := false
		w.Host("a", func(ctx context.Context) error {
			err := rondo.OffloadFunc(ctx, func(context.Context) error { return nil })
			done = true
			return err
		})
		for !done {
			_ = rondo.Yield(ctx)
		}
	})
}

// TestOffloadThatNeedsBusyLoop: a function may wait for what a busy loop does later.
func TestOffloadThatNeedsBusyLoop(t *testing.T) {
	many.Test(t, func(ctx context.Context) {
		enough := make(chan int)
		task := rondo.Go(ctx, func(ctx context.Context) error {
			return rondo.OffloadFunc(ctx, func(context.Context) error { <-enough; return nil })
		})
		for range 20 {
			_ = rondo.Yield(ctx)
		}
		close(enough)
		for !task.Done() {
			_ = rondo.Yield(ctx)
		}
	})
}

// TestOffloadBesideReceive: a function that is offloaded and a goroutine that receives may come
// back in any order, also if nobody waits for the first of them any more. From there on the two
// runs of a seed are not compared.
func TestOffloadBesideReceive(t *testing.T) {
	ch := make(chan int, 1)
	offload := func(ctx context.Context) error {
		return rondo.OffloadFunc(ctx, func(context.Context) error { return nil })
	}
	receive := func(ctx context.Context) error { _, _, err := rondo.Receive(ctx, ch); return err }
	for name, two := range map[string][2]func(context.Context) error{
		"function first": {offload, receive}, "receive first": {receive, offload},
	} {
		t.Run(name, func(t *testing.T) {
			sim.Config{Seeds: 20}.Test(t, func(ctx context.Context) {
				first := rondo.Go(ctx, two[0])
				for range 3 {
					_ = rondo.Yield(ctx)
				}
				first.Cancel(nil)
				second := rondo.Go(ctx, two[1])
				rondo.Go(ctx, func(context.Context) error { ch <- 1; return nil })
				_ = rondo.Settle(ctx, func(ctx context.Context) (int, error) { return 0, second.Wait(ctx) })
				_ = rondo.Sleep(ctx, time.Second)
				for len(ch) > 0 {
					<-ch
				}
			})
		})
	}
}
