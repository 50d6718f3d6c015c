package main

import (
	"context"
	"time"

	"github.com/rondo-go/rondo"
)

// These are the mistakes that rondovet can correct.

func standardSleep(ctx context.Context) error {
	time.Sleep(time.Second) // want `time.Sleep stops the loop, because this runs in a task: use rondo.Sleep`
	return rondo.Yield(ctx)
}

func contextDone(ctx context.Context) error {
	return rondo.Timeout(ctx, 10*time.Millisecond, func(ctx context.Context) error {
		<-ctx.Done() // want `<-ctx.Done\(\) stops the loop, because this runs in a task: use rondo.WaitCanceled\(ctx\)`
		return ctx.Err()
	})
}

func outerInTimeout(ctx context.Context) error {
	return rondo.Timeout(ctx, 10*time.Millisecond, func(context.Context) error {
		return rondo.Sleep(ctx, 300*time.Millisecond) // want `rondo.Sleep with ctx, a ctx from outside, which the end of this rondo.Timeout does not reach: use the ctx of the function that rondo.Timeout calls`
	})
}
