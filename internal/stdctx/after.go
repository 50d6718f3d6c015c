package stdctx

import (
	"context"
	"sync/atomic"
)

// AfterDone returns what context.AfterFunc does for ctx, of which done is the Done. If that is not
// a channel of package context, context.AfterFunc would call methods of ctx on a goroutine, where a
// panic ends the program. So for such a ctx a goroutine, which spawn starts, waits for the channel,
// and calls no method of ctx. AfterDone itself calls Value, whose panic is the caller's; after
// calls none.
func AfterDone(ctx context.Context, done <-chan struct{}, spawn func(fn func())) (after func(fn func()) (stop func() bool)) {
	if done == nil {
		return func(func()) func() bool { return func() bool { return true } }
	}
	if decider := Decider(ctx, done); decider != nil {
		return func(fn func()) func() bool { return context.AfterFunc(decider, fn) }
	}
	return func(fn func()) func() bool {
		var decided atomic.Bool // fn is called, or will never be
		stopped := make(chan struct{})
		spawn(func() {
			select {
			case <-done:
				if !decided.Swap(true) {
					fn()
				}
			case <-stopped:
			}
		})
		return func() bool {
			if decided.Swap(true) {
				return false
			}
			close(stopped)
			return true
		}
	}
}
