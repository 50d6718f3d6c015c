// Command workers computes with as many goroutines as there are processors, for tasks that
// put jobs into a queue. The first error ends everything.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"runtime"
	"strconv"

	"github.com/rondo-go/rondo"
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

func primes(ctx context.Context, upTo int) (count int, err error) {
	jobs := rondo.NewQueue[int](64)
	err = rondo.Group(ctx, func(g *rondo.Scope) error {
		for range runtime.NumCPU() {
			g.Go(func(ctx context.Context) error {
				for n := range jobs.All(ctx) {
					prime, err := rondo.Offload(ctx, func(context.Context) (bool, error) { return isPrime(n), nil })
					if err != nil {
						return err
					}
					if prime {
						count++ // on the loop again, so no lock
					}
				}
				return rondo.Check(ctx)
			})
		}
		defer jobs.Close() // when all jobs are in it; workers finish what is left
		for n := range upTo {
			if err := jobs.Put(g, n); err != nil { // waits while the queue is full
				return err
			}
		}
		return nil
	})
	return count, err
}

func main() {
	upTo, bad := strconv.Atoi(os.Args[1])
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		count, err := primes(ctx, upTo)
		fmt.Println(count, "primes")
		return errors.Join(bad, err)
	})
	if err != nil {
		log.Fatal(err)
	}
}
