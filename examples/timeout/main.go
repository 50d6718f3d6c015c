// Command timeout asks three mirrors at once, and takes what has come in a second.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/rondo-go/rondo"
)

func main() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		var answers []string // shared by all tasks, without a lock
		ask := func(mirror string, takes time.Duration) func(ctx context.Context) error {
			return func(ctx context.Context) error {
				if err := rondo.Sleep(ctx, takes); err != nil {
					return err
				}
				answers = append(answers, mirror)
				return nil
			}
		}
		err := rondo.Timeout(ctx, time.Second, func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(ask("Oslo", 200*time.Millisecond))
				g.Go(ask("Lima", 10*time.Millisecond))
				g.Go(ask("Pluto", 6*time.Hour))
				return nil
			})
		})
		fmt.Println(answers, err)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
}
