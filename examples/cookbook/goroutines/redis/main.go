// Command redis is cookbook/redis with goroutines.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"golang.org/x/sync/errgroup"
)

func count(ctx context.Context, address string) (int64, error) {
	db := redis.NewClient(&redis.Options{
		Addr:                     address,
		PoolSize:                 8,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	defer db.Close()
	g, inner := errgroup.WithContext(ctx)
	for range 100 {
		g.Go(func() error { return db.Incr(inner, "visits").Err() })
	}
	if err := g.Wait(); err != nil {
		return 0, err
	}
	return db.Get(ctx, "visits").Int64()
}

func main() {
	n, err := count(context.Background(), os.Args[1])
	fmt.Println(n, "visits")
	if err != nil {
		log.Fatal(err)
	}
}
