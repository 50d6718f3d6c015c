// Package dropped drops errors of waits.
package dropped

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"slices"

	"github.com/rondo-go/rondo"
)

func value(ctx context.Context) int {
	rondo.Yield(ctx) // want `the error of rondo.Yield is dropped`
	return 1
}

func run() {
	rondo.Run(context.Background(), statementOf) // want `the error of rondo.Run is dropped`
}

func statementOf(ctx context.Context) error { return statement(ctx, new(rondo.Mutex)) }

func sum(ctx context.Context, fn func(ctx context.Context, n int) (int, error)) (total int, err error) {
	for n := range rondo.Map(ctx, 4, slices.Values([]int{1, 2}), fn) { // want `a range over rondo.Map drops the errors`
		total += n
	}
	for n, _ := range rondo.Map(ctx, 4, slices.Values([]int{1, 2}), fn) { // want `a range over rondo.Map drops the errors`
		total += n
	}
	for range rondo.Map(ctx, 4, slices.Values([]int{1, 2}), fn) { // nothing is taken: fn tells of its errors
	}
	for n, err := range rondo.Map(ctx, 4, slices.Values([]int{1, 2}), fn) {
		if err != nil {
			return total, err
		}
		total += n
	}
	return total, rondo.Check(ctx)
}

func forever(ctx context.Context, q *rondo.Queue[int]) error {
	for {
		v, _ := q.Get(ctx) // want `the error of rondo.Queue.Get is dropped in a loop: once the task is cancelled each wait fails at once, and the loop does not end: return the error`
		log.Print(v)
	}
}

// gives ends by a panic, and so does its task.
func gives(ctx context.Context, q *rondo.Queue[int]) error {
	for {
		v, _ := q.Get(ctx)
		if v == 0 {
			panic("no value")
		}
	}
}

// exits ends with the program.
func exits(ctx context.Context, q *rondo.Queue[int]) error {
	for {
		if v, err := q.Get(ctx); err != nil {
			log.Fatal(err)
			continue
		} else if v == 0 {
			log.Fatal("no value")
		}
	}
}

func goesOn(ctx context.Context, q *rondo.Queue[int]) error {
	for {
		v, err := q.Get(ctx)
		if err != nil {
			log.Print(err)
			continue // want `the loop goes on after an error of rondo.Queue.Get: once the task is cancelled`
		}
		if v == 0 {
			return nil
		}
	}
}

func right(ctx context.Context, q *rondo.Queue[int]) error {
	for {
		_ = rondo.Sleep(ctx, 1)
		if ctx.Err() != nil {
			break
		}
	}
	for range 3 {
		_ = rondo.Sleep(ctx, 1)
	}
	for {
		err := rondo.Timeout(ctx, 1, func(ctx context.Context) error { return rondo.Sleep(ctx, 2) })
		if err != nil {
			continue
		}
		v, err := q.Get(ctx)
		if errors.Is(err, rondo.ErrQueueClosed) {
			return nil
		}
		if err != nil {
			if ctx.Err() != nil {
				return err
			}
			continue
		}
		log.Print(v)
	}
}

func deferred(ctx context.Context, c net.Conn, q *rondo.Queue[int], log io.Writer) error {
	defer fmt.Fprintln(c, "bye") // want `fmt.Fprintln in a deferred call fails at once if the task was cancelled, and nobody sees the error: put it into rondo.Shield`
	defer q.Put(ctx, 1)          // want `q.Put in a deferred call fails at once`
	defer q.Put(context.WithoutCancel(ctx), 1)
	defer fmt.Fprintln(log, "done")
	defer c.Close()
	defer func() {
		_, err := c.Write([]byte("bye")) // the error is looked at, so this is meant
		if err != nil {
			fmt.Fprintln(log, err)
		}
	}()
	defer func() {
		io.WriteString(c, "bye") // want `io.WriteString in a deferred call fails at once`
	}()
	defer rondo.Shield(ctx, func(ctx context.Context) error {
		defer q.Put(ctx, 1)
		_, err := c.Write([]byte("bye"))
		return err
	})
	return rondo.Yield(ctx)
}

// unknown is no task for certain: it may be called by any goroutine.
func unknown(c net.Conn) { defer fmt.Fprintln(c, "bye") }
