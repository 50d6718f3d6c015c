// Command cron is cookbook/cron with goroutines.
package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

type job struct {
	name         string
	every, limit time.Duration
	run          func(ctx context.Context) error
}

var mu sync.Mutex // of what jobs share, and of the output

func (j job) once(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, j.limit)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in %s: %v", j.name, p)
		}
	}()
	return j.run(ctx)
}

func (j job) repeat(ctx context.Context) {
	every := time.NewTicker(j.every)
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
		err := j.once(ctx)
		mu.Lock()
		fmt.Println(j.name, err)
		mu.Unlock()
	}
}

var jobs = []job{
	{"tick", 50 * time.Millisecond, time.Second, func(ctx context.Context) error { return nil }},
	{"fails", 70 * time.Millisecond, time.Second, func(ctx context.Context) error { return errors.New("no disk") }},
	{"hangs", 80 * time.Millisecond, 20 * time.Millisecond, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }},
	{"panics", 90 * time.Millisecond, time.Second, func(ctx context.Context) error { panic("lost") }},
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var all sync.WaitGroup
	for _, j := range jobs {
		all.Go(func() { j.repeat(ctx) })
	}
	all.Wait()
}
