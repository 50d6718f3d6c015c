package coro

// Delegation is Python's yield from (PEP 380): a generator lets another one yield
// in its place for a while.

import "errors"

// YieldFrom runs sub as if its function were a part of the calling generator,
// whose Yielder y is, and returns what it returned.
//
// The calling generator yields what sub yields, and passes to sub each value that it
// is sent and each error that is thrown at it. If it is closed, or ErrClosed is
// thrown at it, sub is closed first, and YieldFrom then returns ErrClosed, or the
// error of sub's Close if there is one.
//
// A sub that has started continues where it is. If sub has finished, YieldFrom
// returns its result at once. If YieldFrom is left by a panic, sub is closed.
func YieldFrom[Y, S, R any](y *Yielder[Y, S], sub *Generator[Y, S, R]) (R, error) {
	defer func() { _ = sub.Close() }() // finished, unless this is a panic
	v, ok := sub.Next()
	var err error
	for ok {
		s, thrown := y.Yield(v)
		switch {
		case thrown == nil:
			v, ok, err = sub.Send(s)
		case errors.Is(thrown, ErrClosed):
			var none R
			if err := sub.Close(); err != nil {
				return none, err
			}
			return none, thrown
		default:
			v, ok, err = sub.Throw(thrown)
		}
	}
	result, own := sub.Result()
	if err != nil {
		// The error need not be sub's own: sub may be running, or another goroutine
		// may have finished it before the error could be thrown at it.
		return result, err
	}
	return result, own
}
