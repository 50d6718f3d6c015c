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

func raise(ctx context.Context, names []string) ([]int64, error) {
	db := redis.NewClient(&redis.Options{
		Addr:                     os.Args[1],
		PoolSize:                 8,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	defer db.Close()
	counts := make([]int64, len(names))
	g, ctx := errgroup.WithContext(ctx)
	for i, name := range names {
		g.Go(func() (err error) {
			counts[i], err = db.Incr(ctx, name).Result()
			return err
		})
	}
	return counts, g.Wait()
}

func main() {
	counts, err := raise(context.Background(), os.Args[2:])
	if err != nil {
		log.Fatal(err)
	}
	for _, n := range counts {
		fmt.Println(n)
	}
}
