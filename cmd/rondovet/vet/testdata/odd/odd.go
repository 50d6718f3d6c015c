// Package odd has what is unusual and right. Nothing in it is reported.
package odd

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/signals"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/socket"
)

// choices asks a simulation with the ctx of the scope that is around: nothing waits.
func choices(ctx context.Context) error {
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		sim.Sometimes(ctx, sim.Choose(ctx, 2) == 1, "one")
		sim.Always(ctx, sim.HostOf(ctx) == nil, "no host")
		_ = sim.Rand(ctx)
		_ = sim.Disk(ctx)
		return rondo.Yield(g)
	})
}

// dialled dials on a goroutine, as libraries do, which blocks that one alone.
func dialled(ctx context.Context) (c net.Conn, err error) {
	done := make(chan struct{})
	go func() {
		c, err = socket.Dial(ctx, "tcp", "localhost:1")
		close(done)
	}()
	_, _, _ = rondo.Receive(ctx, done)
	return c, err
}

// loops runs two loops on goroutines, and waits for them where no loop is.
func loops(ctx context.Context) {
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			_ = rondo.Run(ctx, func(ctx context.Context) error { return rondo.Yield(ctx) })
		})
	}
	both.Wait()
	time.Sleep(time.Millisecond)
}

// one of two tasks reads, and never both: they are in different branches.
func branches(ctx context.Context, c net.Conn, lines bool) {
	if lines {
		rondo.Go(ctx, func(context.Context) error { return bufio.NewScanner(c).Err() })
	} else {
		rondo.Go(ctx, func(context.Context) error { _, err := c.Read(nil); return err })
	}
	switch {
	case lines:
		rondo.Go(ctx, func(context.Context) error { _, err := c.Read(nil); return err })
	default:
		rondo.Go(ctx, func(context.Context) error { _, err := c.Read(nil); return err })
	}
}

// parts are read one after the other: the first task has ended when the second begins.
func parts(ctx context.Context, c net.Conn) error {
	head := rondo.Go(ctx, func(context.Context) error { _, err := c.Read(nil); return err })
	if err := head.Wait(ctx); err != nil {
		return err
	}
	return rondo.Go(ctx, func(context.Context) error { _, err := c.Read(nil); return err }).Wait(ctx)
}

// early returns in a branch: what follows it is another life.
func early(ctx context.Context, c net.Conn, lines bool) *rondo.Task {
	if lines {
		return rondo.Go(ctx, func(context.Context) error { return bufio.NewScanner(c).Err() })
	}
	return rondo.Go(ctx, func(context.Context) error { _, err := c.Read(nil); return err })
}

// slow blocks, and runs only where it may.
func slow() { time.Sleep(time.Second) }

func offloaded(ctx context.Context) error {
	return rondo.OffloadFunc(ctx, func(context.Context) error {
		slow()
		var mu sync.Mutex
		mu.Lock()
		defer mu.Unlock()
		c := make(chan int)
		go func() { c <- 1 }()
		<-c
		return exec.Command("true").Run()
	})
}

// locked holds a lock of package sync only where it does not wait.
func locked(ctx context.Context, mu *sync.Mutex, n *int) error {
	for range 3 {
		mu.Lock()
		*n++
		if *n == 2 {
			mu.Unlock()
			return rondo.Yield(ctx)
		}
		mu.Unlock()
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
	}
	return nil
}

// polled never blocks on a channel.
func polled(ctx context.Context, c chan int) error {
	for {
		select {
		case <-c:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		default:
		}
		if err := rondo.Sleep(ctx, time.Millisecond); err != nil {
			return err
		}
	}
}

// outside is a handler of net/http's own server, which has a goroutine for each.
func outside(l *rondo.Loop) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(time.Millisecond)
		_, _ = rondo.Submit(l, func(ctx context.Context) (int, error) { return 1, rondo.Yield(ctx) }).Wait(r.Context())
	}
}

// reloads ends in a signal that another scope catches.
func reloads(ctx context.Context) error {
	return signals.Cancel(ctx, func(inner context.Context) error {
		for range signals.Notify(inner) {
			return rondo.Check(ctx)
		}
		return nil
	})
}

// TestLoop is a test that sleeps outside the loop.
func TestLoop(t *testing.T) {
	sim.Test(t, func(ctx context.Context) { _ = rondo.Sleep(ctx, time.Hour) })
	time.Sleep(time.Millisecond)
}
