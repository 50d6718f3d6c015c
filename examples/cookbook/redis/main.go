// Command redis counts in a Redis database, from 100 tasks over 8 connections.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

const conns = 8

func count(ctx context.Context, address string) (int64, error) {
	db := redis.NewClient(&redis.Options{
		Addr:     address,
		PoolSize: conns,
		// Connections of the loop suspend a task where those of package net block.
		Dialer: func(_ context.Context, network, address string) (net.Conn, error) {
			return socket.Dial(ctx, network, address)
		},
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	defer db.Close()
	// A task that finds the pool empty would stop the loop: no more tasks than connections.
	slots := rondo.NewSemaphore(conns)
	err := rondo.Group(ctx, func(g *rondo.Scope) error {
		for range 100 {
			g.Go(func(ctx context.Context) error {
				if err := slots.Acquire(ctx); err != nil {
					return err
				}
				defer slots.Release()
				return db.Incr(ctx, "visits").Err()
			})
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return db.Get(ctx, "visits").Int64()
}

func main() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		n, err := count(ctx, os.Args[1])
		fmt.Println(n, "visits")
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
}
