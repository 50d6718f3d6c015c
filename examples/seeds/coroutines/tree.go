package main

// Walks of binary trees, and comparisons of two of them value by value, whatever
// their shapes are. Two walks are under way at once then, each with its recursion
// where it stands, so that one at least needs a stack of its own.

import (
	"fmt"
	"io"

	"github.com/rondo-go/rondo/coro"
)

// A tree has smaller values on the left, by convention. nil is the empty one.
type tree[V any] struct {
	left  *tree[V]
	value V
	right *tree[V]
}

// node makes a tree.
func node[V any](left *tree[V], value V, right *tree[V]) *tree[V] {
	return &tree[V]{left, value, right}
}

// All hands each value to yield, until that gives false.
func (t *tree[V]) All(yield func(V) bool) { t.push(yield) }

func (t *tree[V]) push(yield func(V) bool) bool {
	return t == nil || t.left.push(yield) && yield(t.value) && t.right.push(yield)
}

// trees gives two that have the values 1 to 5 and different shapes, and one that
// ends with 6 instead.
func trees() (bushy, slanted, other *tree[int]) {
	leaf := func(v int) *tree[int] { return node(nil, v, nil) }
	slant := func(last *tree[int]) *tree[int] { return node(nil, 1, node(nil, 2, node(nil, 3, node(nil, 4, last)))) }
	return node(node(leaf(1), 2, leaf(3)), 4, leaf(5)), slant(leaf(5)), slant(leaf(6))
}

// comparison compares trees in two ways.
func comparison(w io.Writer) error {
	bushy, slanted, other := trees()
	fmt.Fprintln(w, "same values, other shape:", sameByResume(bushy, slanted), sameByPull(bushy, slanted))
	fmt.Fprintln(w, "another value at the end:", sameByResume(bushy, other), sameByPull(bushy, other))
	fmt.Fprintln(w, "one value more:", sameByResume(slanted, slanted.right), sameByPull(slanted.right, slanted))
	fmt.Fprintln(w, "nothing and nothing:", sameByResume[int](nil, nil), sameByPull[int](nil, nil))
	return nil
}

// sameByResume resumes two visitors, which are given their tree by the first call.
func sameByResume[V comparable](a, b *tree[V]) bool {
	visitor := func() (func(*tree[V]) (V, bool), func()) {
		return coro.New(func(t *tree[V], yield func(V) *tree[V]) (none V) {
			var visit func(t *tree[V])
			visit = func(t *tree[V]) {
				if t != nil {
					visit(t.left)
					yield(t.value)
					visit(t.right)
				}
			}
			visit(t)
			return none
		})
	}
	nextA, cancelA := visitor()
	defer cancelA()
	nextB, cancelB := visitor()
	defer cancelB()
	for {
		v, moreA := nextA(a)
		u, moreB := nextB(b)
		if v != u || moreA != moreB {
			return false
		}
		if !moreA {
			return true
		}
	}
}

// sameByPull pulls from the iterators that range uses as well.
func sameByPull[V comparable](a, b *tree[V]) bool {
	nextA, stopA := coro.Pull(a.All)
	defer stopA()
	nextB, stopB := coro.Pull(b.All)
	defer stopB()
	for {
		v, moreA := nextA()
		u, moreB := nextB()
		if v != u || moreA != moreB {
			return false
		}
		if !moreA {
			return true
		}
	}
}
