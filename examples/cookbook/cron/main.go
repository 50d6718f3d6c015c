// Command cron runs jobs again and again until Ctrl-C, each with a limit of time. A job that
// fails, hangs or panics does not disturb the others.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/signals"
)

type job struct {
	name         string
	every, limit time.Duration
	run          func(ctx context.Context) error
}

func (j job) repeat(ctx context.Context) error {
	for range rondo.Every(ctx, j.every) {
		err := rondo.Timeout(ctx, j.limit, func(ctx context.Context) error {
			return rondo.Go(ctx, j.run).Wait(ctx) // in a task, whose panic is its error
		})
		fmt.Println(j.name, err)
	}
	return rondo.Check(ctx)
}

var jobs = []job{
	{"tick", 50 * time.Millisecond, time.Second, func(ctx context.Context) error { return nil }},
	{"fails", 70 * time.Millisecond, time.Second, func(ctx context.Context) error { return errors.New("no disk") }},
	{"hangs", 80 * time.Millisecond, 20 * time.Millisecond, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) }},
	{"panics", 90 * time.Millisecond, time.Second, func(ctx context.Context) error { panic("lost") }},
}

func main() {
	runner := rondo.Runner{Recover: true}
	err := runner.Run(context.Background(), func(ctx context.Context) error {
		return signals.Run(ctx, 0, func(ctx context.Context, _ *rondo.Scope) error {
			for _, j := range jobs {
				rondo.Go(ctx, j.repeat).SetName(j.name)
			}
			return nil
		})
	})
	if err != nil {
		log.Fatal(err)
	}
}
