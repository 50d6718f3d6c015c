package main

// Four walks of a tree, one of which does not work: what pauses a
// coroutine may stand in any function that it calls, what pauses a generator only
// in its own.

import (
	"fmt"
	"io"

	"github.com/rondo-go/rondo/coro"
)

// visits walks a tree in four ways. A generator that makes another one for each
// branch has to run it, which is an easy thing to forget; what has a stack calls
// itself.
func visits(w io.Writer) error {
	bushy, _, _ := trees()

	type visitor = coro.Generator[int, struct{}, struct{}]
	type yielder = coro.Yielder[int, struct{}]
	var forgetful, delegating func(t *tree[int]) *visitor
	forgetful = func(t *tree[int]) *visitor {
		return coro.NewGenerator(func(y *yielder) (none struct{}, err error) {
			if t != nil {
				forgetful(t.left)
				_, err = y.Yield(t.value)
				forgetful(t.right)
			}
			return none, err
		})
	}
	delegating = func(t *tree[int]) *visitor {
		return coro.NewGenerator(func(y *yielder) (none struct{}, err error) {
			if t == nil {
				return none, nil
			}
			if _, err = coro.YieldFrom(y, delegating(t.left)); err != nil {
				return none, err
			}
			if _, err = y.Yield(t.value); err != nil {
				return none, err
			}
			return coro.YieldFrom(y, delegating(t.right))
		})
	}
	fmt.Fprint(w, "generators that are made and not run:")
	for v := range forgetful(bushy).All() {
		fmt.Fprint(w, " ", v)
	}
	fmt.Fprint(w, "\ngenerators that delegate:")
	for v := range delegating(bushy).All() {
		fmt.Fprint(w, " ", v)
	}
	fmt.Fprint(w, "\na function that is called:")
	bushy.All(func(v int) bool {
		_, err := fmt.Fprint(w, " ", v)
		return err == nil
	})
	fmt.Fprint(w, "\na range:")
	for v := range bushy.All {
		fmt.Fprint(w, " ", v)
	}
	fmt.Fprintln(w)
	return nil
}
