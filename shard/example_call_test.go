package shard_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/shard"
	"github.com/rondo-go/rondo/socket"
)

// Each loop of Run has its own main. The error of one ends all of them.
func ExampleRun() {
	err := shard.Run(context.Background(), func(ctx context.Context, s *shard.Shard) error {
		if s.Index() == 0 {
			return errors.New("this ends the program")
		}
		return rondo.WaitCanceled(ctx)
	})
	fmt.Println(err)
	// Output: this ends the program
}

// A limit for the caller is one for the function too.
func ExampleCall() {
	r := shard.Runner{Loops: 2}
	err := r.Run(context.Background(), func(ctx context.Context, s *shard.Shard) error {
		if s.Index() != 0 {
			return nil
		}
		answer, err := shard.Call(ctx, s.At(1), func(ctx context.Context) (string, error) {
			return "from " + shard.Of(ctx).Name(), nil
		})
		fmt.Println(answer, err)
		err = rondo.Timeout(ctx, time.Millisecond, func(ctx context.Context) error {
			_, err := shard.Call(ctx, s.At(1), func(ctx context.Context) (string, error) {
				return "", rondo.Sleep(ctx, time.Hour)
			})
			return err
		})
		fmt.Println(rondo.TimedOut(ctx, err))
		return nil
	})
	fmt.Println(err)
	// Output:
	// from shard-1 <nil>
	// true
	// <nil>
}

// The results are in the order of the shards.
func ExampleEach() {
	r := shard.Runner{Loops: 3}
	err := r.Run(context.Background(), func(ctx context.Context, s *shard.Shard) error {
		if s.Index() != 0 {
			return nil
		}
		squares, err := shard.Each(ctx, func(ctx context.Context, s *shard.Shard) (int, error) {
			return s.Index() * s.Index(), nil
		})
		fmt.Println(squares)
		return err
	})
	fmt.Println(err)
	// Output:
	// [0 1 4]
	// <nil>
}

// A function that has only a ctx finds the shard that it runs on.
func ExampleOf() {
	r := shard.Runner{Loops: 1}
	err := r.Run(context.Background(), func(ctx context.Context, _ *shard.Shard) error {
		fmt.Println(shard.Of(ctx), shard.Of(context.Background()) == nil)
		return nil
	})
	fmt.Println(err)
	// Output:
	// shard-0 true
	// <nil>
}

// One shard calls Serve, and the handlers run on all of them.
func ExampleServe() {
	s := &socket.Server{Handler: func(ctx context.Context, c net.Conn) error {
		_, err := io.Copy(c, c)
		return err
	}}
	r := shard.Runner{Loops: 2}
	err := r.Run(context.Background(), func(ctx context.Context, me *shard.Shard) error {
		if me.Index() != 0 {
			return nil
		}
		rondo.Go(ctx, func(ctx context.Context) error {
			return rondo.Timeout(ctx, time.Second, s.Shutdown) // at once, in this example
		})
		return shard.Serve(ctx, "tcp", "localhost:0", s)
	})
	fmt.Println(errors.Is(err, socket.ErrServerClosed))
	// Output: true
}
