package rondo_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rondo-go/rondo"
)

// Ask several mirrors, and take the first answer.
func ExampleRace() {
	ask := func(mirror string, takes time.Duration) func(ctx context.Context) (string, error) {
		return func(ctx context.Context) (string, error) {
			if err := rondo.Sleep(ctx, takes); err != nil {
				return "", err
			}
			if mirror == "down" {
				return "", errors.New("no answer")
			}
			return "hello from " + mirror, nil
		}
	}
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		answer, err := rondo.Race(ctx, ask("down", 0), ask("far", time.Hour), ask("near", time.Millisecond))
		fmt.Println(answer, err)
		return nil
	})
	// Output: hello from near <nil>
}

// Work on three at a time, and have the results in order.
func ExampleMap() {
	square := func(ctx context.Context, n int) (int, error) {
		if n == 4 {
			return 0, errors.New("four is broken")
		}
		return n * n, rondo.Sleep(ctx, time.Duration(10-n)*time.Millisecond)
	}
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		for v, err := range rondo.Map(ctx, 3, slices.Values([]int{1, 2, 3, 4, 5, 6}), square) {
			if err != nil {
				fmt.Println(err)
				break // the others are cancelled, and have ended after the loop
			}
			fmt.Println(v)
		}
		return nil
	})
	// Output:
	// 1
	// 4
	// 9
	// four is broken
}

// See what became of each.
func ExampleSettle() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		for _, r := range rondo.Settle(ctx,
			func(ctx context.Context) (string, error) { return "done", rondo.Sleep(ctx, time.Millisecond) },
			func(ctx context.Context) (string, error) { return "", errors.New("disk full") },
		) {
			fmt.Printf("%q %v\n", r.Value, r.Err)
		}
		return nil
	})
	// Output:
	// "done" <nil>
	// "" disk full
}

// Take from a channel that goroutines send to.
func ExampleReceive() {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for _, s := range []string{"one", "two"} {
			lines <- s
		}
	}()
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		for {
			line, ok, err := rondo.Receive(ctx, lines)
			if err != nil || !ok {
				return err
			}
			fmt.Println(line)
		}
	})
	// Output:
	// one
	// two
}

// Results as they come, whatever the order of the questions.
func ExampleAsCompleted() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		gate := rondo.NewFuture[string](ctx)
		late := rondo.Async(ctx, func(ctx context.Context) (string, error) { return gate.Wait(ctx) })
		soon := rondo.Async(ctx, func(ctx context.Context) (string, error) { return "soon", nil })
		for f := range rondo.AsCompleted(ctx, late, soon) {
			fmt.Println(f.Result())
			gate.Set("late")
		}
		return rondo.Check(ctx) // the range also ends when ctx is cancelled
	})
	// Output:
	// soon <nil>
	// late <nil>
}

// The first of several tasks to end; the others go on.
func ExampleWaitAny() {
	_ = rondo.Run(context.Background(), func(ctx context.Context) error {
		var open rondo.Event
		reader := rondo.Go(ctx, open.Wait)
		writer := rondo.Go(ctx, func(ctx context.Context) error { return errors.New("broken pipe") })
		t, err := rondo.WaitAny(ctx, reader, writer)
		if err != nil {
			return err
		}
		fmt.Println(t == writer, t.Err(), reader.Done())
		open.Set()
		return reader.Wait(ctx)
	})
	// Output: true broken pipe false
}
