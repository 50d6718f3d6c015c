package main

import (
	"context"
	"sync"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

func backgroundSleep(context.Context) error {
	return rondo.Sleep(context.Background(), time.Second) // want `rondo.Sleep with context.Background\(\), which belongs to no loop: use the ctx that Run or Go hands down`
}

func backgroundGo(context.Context) error {
	ctx := context.Background()
	rondo.Go(ctx, nothing) // want `rondo.Go with context.Background\(\), which belongs to no loop`
	return nil
}

func backgroundNow(context.Context) error {
	_ = rondo.Now(context.TODO()) // want `rondo.Now with context.TODO\(\), which belongs to no loop`
	return nil
}

func backgroundListen(context.Context) error {
	_, err := socket.Listen(context.Background(), "tcp", "localhost:0") // want `socket.Listen with context.Background\(\), which belongs to no loop`
	return err
}

func compute(context.Context) error {
	for began := time.Now(); time.Since(began) < time.Second; {
	}
	return nil
}

func mutexAcrossWait(ctx context.Context) error {
	var mu sync.Mutex
	add := func(ctx context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		return rondo.Sleep(ctx, 10*time.Millisecond) // want `rondo.Sleep waits while mu, a sync.Mutex, is locked in line 41: the next task that locks it stops the loop: use rondo.Mutex, or unlock it before`
	}
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(add)
		g.Go(add)
		return nil
	})
}

func channelOfTasks(ctx context.Context) error {
	found := make(chan string)
	rondo.Go(ctx, func(context.Context) error {
		found <- "x" // want `a send to a channel stops the loop, because this runs in a task: use rondo.Queue between tasks, or rondo.Receive for a channel of goroutines`
		return nil
	})
	<-found // want `a receive from a channel stops the loop`
	return nil
}

func waitGroup(ctx context.Context) error {
	var left sync.WaitGroup
	for range 2 {
		left.Add(1)
		rondo.Go(ctx, func(context.Context) error { left.Done(); return nil })
	}
	left.Wait() // want `sync.WaitGroup.Wait stops the loop, because this runs in a task: use rondo.Group, which waits for its tasks, or rondo.OffloadFunc`
	return nil
}
