package coro

// This file is delegation, Python's yield from (PEP 380): a generator that lets
// another do its work for a while.

import "errors"

// YieldFrom runs sub as if its function were a part of the calling generator,
// whose Yielder y is, and returns what it returned.
//
// What sub yields, the calling generator yields. What is sent to that, sub is
// sent; an error thrown at it is thrown at sub. If it is closed, or ErrClosed
// is thrown at it, sub is closed first and YieldFrom then returns ErrClosed, or
// the error of sub's Close if there is one.
//
// A sub that has started goes on from where it is. One that has finished gives
// its result at once. If YieldFrom is left by a panic, sub is closed.
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
		// Not always sub's own: it may be running, or may have been finished by
		// somebody else before the error could be thrown at it.
		return result, err
	}
	return result, own
}
