package main

import (
	"bufio"
	"context"
	"net"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

func errorUnread(ctx context.Context) error {
	rondo.Go(ctx, func(context.Context) error { return errFull }).SetName("saver")
	return rondo.Sleep(ctx, 10*time.Millisecond)
}

func twoLocks(ctx context.Context) error {
	accounts, audit := rondo.Mutex{Name: "accounts"}, rondo.Mutex{Name: "audit"}
	held := rondo.NewBarrier(2)
	lock := func(first, second *rondo.Mutex) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			if err := first.Lock(ctx); err != nil {
				return err
			}
			defer first.Unlock()
			if _, err := held.Wait(ctx); err != nil { // each has one of the two
				return err
			}
			if err := second.Lock(ctx); err != nil {
				return err
			}
			defer second.Unlock()
			return nil
		}
	}
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(lock(&accounts, &audit))
		g.Go(lock(&audit, &accounts))
		return nil
	})
}

func nobodyPuts(ctx context.Context) error {
	_, err := rondo.NewQueue[int](0).Get(ctx)
	return err
}

func lockTwice(ctx context.Context) error {
	var m rondo.Mutex
	if err := m.Lock(ctx); err != nil {
		return err
	}
	return m.Lock(ctx)
}

func unlockUnlocked(context.Context) error {
	new(rondo.Mutex).Unlock()
	return nil
}

func forgottenWait(ctx context.Context) error {
	rondo.Go(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) }).SetName("forgotten")
	return nil
}

func dropsInLoop(ctx context.Context) error {
	return rondo.Timeout(ctx, 10*time.Millisecond, func(ctx context.Context) error {
		for {
			_ = rondo.Sleep(ctx, time.Millisecond) // want `the error of rondo.Sleep is dropped in a loop: once the task is cancelled each wait fails at once, and the loop does not end: return the error`
		}
	})
}

func panics(ctx context.Context) error {
	var ages map[string]int
	return rondo.Go(ctx, func(context.Context) error { ages["x"] = 1; return nil }).Wait(ctx)
}

func waitsForItself(ctx context.Context) error { return rondo.Current(ctx).Wait(ctx) }

func barrierShort(ctx context.Context) error {
	_, err := rondo.NewBarrier(2).Wait(ctx)
	return err
}

func noFunction(ctx context.Context) error {
	rondo.Go(ctx, nil)
	return rondo.Yield(ctx)
}

func everyZero(ctx context.Context) error {
	for range rondo.Every(ctx, 0) {
	}
	return nil
}

func nilQueue(ctx context.Context) error {
	var q *rondo.Queue[int]
	return q.Put(ctx, 1)
}

func twoReaders(ctx context.Context) error {
	near, far := socket.Pipe(ctx)
	defer near.Close()
	defer far.Close()
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(func(context.Context) error { _, err := bufio.NewReader(far).ReadString('\n'); return err })
		g.Go(func(context.Context) error { _, err := bufio.NewReader(far).ReadString('\n'); return err }) // want `a second task reads far, as the one in line 108 does: each gets a part of the input: let one task read`
		_, err := near.Write([]byte("one\ntwo\n"))
		return err
	})
}

func standardListener(ctx context.Context) error {
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return err
	}
	time.AfterFunc(time.Second, func() { l.Close() })
	rondo.Go(ctx, nothing)
	_, err = l.Accept() // want `Accept of a listener of package net stops the loop, because this runs in a task: use socket.Listen`
	return err
}

func wrappedListener(ctx context.Context) error {
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return err
	}
	time.AfterFunc(time.Second, func() { l.Close() })
	counted := struct{ net.Listener }{l}
	return socket.Serve(ctx, counted, func(context.Context, net.Conn) error { return nil }) // want `socket.Serve with a struct around a listener of package net stops the loop, because this runs in a task: use socket.Listen`
}

func leftReader(ctx context.Context) error {
	_, far := socket.Pipe(ctx)
	rondo.Go(ctx, func(context.Context) error { return read(far) }).SetName("reader")
	return rondo.Yield(ctx)
}
