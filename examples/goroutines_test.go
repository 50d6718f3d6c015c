package examples_test

// These examples are both sides of docs/FROM-GOROUTINES.md and what
// docs/WHY-NOT-GOROUTINES.md shows, whose snippets are stretches of this file.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rondo-go/rondo"
)

// fetch stands for work that takes a while.
func fetch(ctx context.Context, name string) (string, error) {
	if name == "bad" {
		return "", errors.New("no such page")
	}
	select {
	case <-time.After(time.Millisecond):
		return name + "!", nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// get is fetch for a task.
func get(ctx context.Context, name string) (string, error) {
	if name == "bad" {
		return "", errors.New("no such page")
	}
	return name + "!", rondo.Sleep(ctx, time.Millisecond)
}

// Several at once, the first error ends the others: with errgroup.
func Example_goErrgroup() {
	all := func(ctx context.Context, names []string) (int, error) {
		var mu sync.Mutex
		total := 0
		g, ctx := errgroup.WithContext(ctx)
		for _, name := range names {
			g.Go(func() error {
				page, err := fetch(ctx, name)
				mu.Lock()
				defer mu.Unlock()
				total += len(page)
				return err
			})
		}
		err := g.Wait()
		return total, err
	}
	n, err := all(context.Background(), []string{"a", "b"})
	fmt.Println(n > 0, err)
	_, err = all(context.Background(), []string{"a", "bad"})
	fmt.Println(err)
	// Output:
	// true <nil>
	// no such page
}

// The same in tasks.
func Example_rondoGroup() {
	all := func(ctx context.Context, names []string) (int, error) {
		total := 0
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			for _, name := range names {
				g.Go(func(ctx context.Context) error {
					page, err := get(ctx, name)
					total += len(page)
					return err
				})
			}
			return nil
		})
		return total, err
	}
	run(func(ctx context.Context) error {
		n, err := all(ctx, []string{"a", "b"})
		fmt.Println(n > 0, err)
		_, err = all(ctx, []string{"a", "bad"})
		fmt.Println(err)
		return nil
	})
	// Output:
	// true <nil>
	// no such page
}

// A channel that is closed by its sender, and a Queue.
func Example_goChannel() {
	values := make(chan int, 2)
	go func() {
		defer close(values)
		for i := range 3 {
			values <- i
		}
	}()
	for v := range values {
		fmt.Println(v)
	}
	// Output:
	// 0
	// 1
	// 2
}

func Example_rondoQueue() {
	run(func(ctx context.Context) error {
		values := rondo.NewQueue[int](2)
		rondo.Go(ctx, func(ctx context.Context) error {
			defer values.Close()
			for i := range 3 {
				if err := values.Put(ctx, i); err != nil {
					return err
				}
			}
			return nil
		})
		for v := range values.All(ctx) {
			fmt.Println(v)
		}
		return rondo.Check(ctx)
	})
	// Output:
	// 0
	// 1
	// 2
}

func Example_goSelect() {
	ctx, jobs, patience := context.Background(), make(chan func(), 1), time.Hour
	jobs <- func() {
		fmt.Println("a job")
		patience = 10 * time.Millisecond // before that, a slow process could find both cases ready
	}
	for {
		select {
		case job := <-jobs:
			job()
		case <-time.After(patience):
			fmt.Println("nothing to do")
			return
		case <-ctx.Done():
			return
		}
	}
	// Output:
	// a job
	// nothing to do
}

func Example_rondoSelect() {
	const patience = 10 * time.Millisecond
	work := func(ctx context.Context, jobs *rondo.Queue[func()]) error {
		for {
			var job func()
			i, err := rondo.Select(ctx, jobs.GetCase(&job), rondo.After(patience))
			switch {
			case err != nil: // ctx is cancelled, or jobs is closed
				return err
			case i == 0:
				job()
			case i == 1:
				fmt.Println("nothing to do")
				return nil
			}
		}
	}
	run(func(ctx context.Context) error {
		jobs := rondo.NewQueue[func()](1)
		jobs.TryPut(func() { fmt.Println("a job") })
		return work(ctx, jobs)
	})
	// Output:
	// a job
	// nothing to do
}

// The end of a timeout, and of what it was for.
func Example_goTimeout() {
	answer, ended := make(chan bool), make(chan bool)
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	go func() {
		<-answer // stands for a call without a ctx
		fmt.Println("the work goes on")
		close(ended)
	}()
	<-ctx.Done()
	fmt.Println(ctx.Err())
	close(answer)
	<-ended // only so that the example can show it
	// Output:
	// context deadline exceeded
	// the work goes on
}

func Example_rondoTimeout() {
	run(func(ctx context.Context) error {
		err := rondo.Timeout(ctx, time.Millisecond, func(ctx context.Context) error {
			rondo.Go(ctx, func(ctx context.Context) error {
				defer fmt.Println("the work has ended")
				return rondo.Sleep(ctx, time.Hour)
			})
			return nil
		})
		fmt.Println(err)
		return nil
	})
	// Output:
	// the work has ended
	// context deadline exceeded
}

// A lock that is held while its holder waits.
func Example_rondoMutex() {
	run(func(ctx context.Context) error {
		var mu rondo.Mutex
		transfer := func(ctx context.Context) error {
			if err := mu.Lock(ctx); err != nil {
				return err
			}
			defer mu.Unlock()
			return rondo.Sleep(ctx, time.Millisecond) // the others wait for mu, not the loop
		}
		_, err := rondo.Gather(ctx,
			func(ctx context.Context) (int, error) { return 1, transfer(ctx) },
			func(ctx context.Context) (int, error) { return 2, transfer(ctx) })
		fmt.Println(err)
		return nil
	})
	// Output: <nil>
}

// A ticker.
func Example_rondoEvery() {
	run(func(ctx context.Context) error {
		n := 0
		for range rondo.Every(ctx, time.Millisecond) {
			if n++; n == 3 {
				break // nothing to stop
			}
		}
		fmt.Println(n)
		return rondo.Check(ctx)
	})
	// Output: 3
}

// A result that several wait for.
func Example_rondoFuture() {
	run(func(ctx context.Context) error {
		page := rondo.Async(ctx, func(ctx context.Context) (string, error) { return get(ctx, "a") })
		text, err := page.Wait(ctx) // any number may wait
		fmt.Println(text, err)
		return nil
	})
	// Output: a! <nil>
}

// A goroutine that hands values to a task.
func Example_rondoReceive() {
	run(func(ctx context.Context) error {
		values := make(chan int)
		go func() { values <- 42 }() // a goroutine, such as one of a library
		v, ok, err := rondo.Receive(ctx, values)
		fmt.Println(v, ok, err)
		return nil
	})
	// Output: 42 true <nil>
}

// A names has a mutex, and each of its methods holds it. It has no data race.
type names struct {
	mu    sync.Mutex
	taken map[string]bool
}

func (n *names) has(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.taken[name]
}

func (n *names) add(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.taken[name] = true
}

// enter has a race all the same: two callers may both find that the name is free.
func (n *names) enter(client io.Writer, name string) bool {
	if n.has(name) {
		return false
	}
	fmt.Fprintln(client, "welcome,", name)
	n.add(name)
	return true
}

// TestUnseen runs the race 10,000 times. The race detector is silent. How often both
// callers get in depends on the machine, and is only logged.
func TestUnseen(t *testing.T) {
	const times = 10_000
	both := 0
	for range times {
		n := names{taken: make(map[string]bool)}
		entered := make(chan bool, 2)
		for range 2 {
			go func() { entered <- n.enter(io.Discard, "ann") }()
		}
		if a, b := <-entered, <-entered; a && b {
			both++
		}
	}
	t.Logf("both got in %d of %d times", both, times)
}
