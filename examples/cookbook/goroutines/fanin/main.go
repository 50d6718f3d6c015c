// Command fanin is cookbook/fanin with goroutines.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"golang.org/x/sync/errgroup"
)

// source sends n values, one every d.
func source(ctx context.Context, name string, n int, d time.Duration, to chan<- string) error {
	for i := range n {
		select {
		case <-time.After(d):
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case to <- fmt.Sprint(name, i):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func merge(ctx context.Context, take func(v string)) error {
	ctx, cancel := context.WithCancel(ctx)
	merged := make(chan string, 64)
	g, inner := errgroup.WithContext(ctx)
	g.Go(func() error { return source(inner, "a", 3, 20*time.Millisecond, merged) })
	g.Go(func() error { return source(inner, "b", 2, 31*time.Millisecond, merged) })
	ended := make(chan error, 1)
	go func() {
		ended <- g.Wait()
		close(merged)
	}()
	for {
		select {
		case v, ok := <-merged:
			if !ok {
				cancel()
				return <-ended
			}
			take(v)
		case <-time.After(time.Second):
			cancel()
			return errors.Join(errors.New("a second without a value"), <-ended)
		}
	}
}

func main() {
	if err := merge(context.Background(), func(v string) { fmt.Println(v) }); err != nil {
		log.Fatal(err)
	}
}
