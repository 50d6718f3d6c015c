// Command redis raises counters of a Redis database, eight at once, and prints them in order.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"slices"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

func main() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		db := redis.NewClient(&redis.Options{
			Addr:     os.Args[1],
			PoolSize: 8,
			// Connections of the loop suspend a task where those of package net block.
			Dialer: func(_ context.Context, network, address string) (net.Conn, error) {
				return socket.Dial(ctx, network, address)
			},
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		})
		defer db.Close()
		// Not more than 8 at once: a task that finds the pool empty would stop the loop.
		for n, err := range rondo.Map(ctx, 8, slices.Values(os.Args[2:]), func(ctx context.Context, name string) (int64, error) {
			return db.Incr(ctx, name).Result()
		}) {
			if err != nil {
				return err
			}
			fmt.Println(n)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
}
