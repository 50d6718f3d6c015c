//go:build !lean

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/shard"
	"github.com/rondo-go/rondo/socket"
)

func init() { modes["shards"], modes["ring"] = shards, ringed }

// shards has two loops more. Each serves connections at a Unix socket that an argument
// names, and ends one when its peer has sent all.
func shards(ctx context.Context) error {
	return beside(ctx, func(ctx context.Context, s *shard.Shard) error {
		l, err := socket.Listen(ctx, "unix", os.Args[2+s.Index()])
		if err != nil {
			return err
		}
		up <- true
		return socket.Serve(ctx, l, func(_ context.Context, c net.Conn) error {
			if _, err := io.WriteString(c, "x"); err != nil {
				return err
			}
			heard, err := io.ReadAll(c)
			if string(heard) == "panic" {
				panic("the client has asked for it")
			}
			return err
		})
	}, 2)
}

// up has a value for each shard that is as it is to be.
var up = make(chan bool, 2)

// beside runs main on two shards while the calling task sleeps, and says that the program
// is ready when n shards are.
func beside(ctx context.Context, main func(ctx context.Context, s *shard.Shard) error, n int) error {
	go func() {
		r := shard.Runner{Loops: 2}
		fmt.Fprintln(os.Stderr, r.Run(context.Background(), main))
		os.Exit(1)
	}()
	for range n {
		if _, _, err := rondo.Receive(ctx, up); err != nil {
			return err
		}
	}
	return idle(ctx)
}

// ringed has two loops more, on which three tasks wait for each other.
func ringed(ctx context.Context) error {
	return beside(ctx, func(ctx context.Context, s *shard.Shard) error {
		if s.Index() > 0 {
			return nil
		}
		var caller *rondo.Task
		caller = rondo.Go(ctx, func(ctx context.Context) error {
			_, err := shard.Call(ctx, s.At(1), func(ctx context.Context) (int, error) {
				return shard.Call(ctx, s, func(ctx context.Context) (int, error) {
					up <- true
					return 0, caller.Wait(ctx)
				})
			})
			return err
		})
		caller.SetName("caller")
		return caller.Wait(ctx)
	}, 1)
}
