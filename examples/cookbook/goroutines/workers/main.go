// Command workers is cookbook/workers with goroutines.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// isPrime takes its time.
func isPrime(n int) bool {
	for d := 2; d*d <= n; d++ {
		if n%d == 0 {
			return false
		}
	}
	return n > 1
}

func primes(ctx context.Context, upTo int) (int, error) {
	jobs := make(chan int, 64)
	var count atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for range runtime.NumCPU() {
		g.Go(func() error {
			for n := range jobs {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if isPrime(n) {
					count.Add(1)
				}
			}
			return nil
		})
	}
	g.Go(func() error {
		defer close(jobs) // when all jobs are in it; workers finish what is left
		for n := range upTo {
			select {
			case jobs <- n:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	err := g.Wait()
	return int(count.Load()), err
}

func main() {
	upTo, bad := strconv.Atoi(os.Args[1])
	count, err := primes(context.Background(), upTo)
	fmt.Println(count, "primes")
	if err := errors.Join(bad, err); err != nil {
		log.Fatal(err)
	}
}
