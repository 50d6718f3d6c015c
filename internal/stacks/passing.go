package stacks

// The stacks of a panic that passes from a coroutine to the goroutine that resumed
// it. The panic goes on there with the same value, but iter.Pull does not pass the
// stack on, so it is kept aside.
//
// The law: the stack on which the panic began comes first, and then, in turn, those
// of the goroutines that waited for it, each from the user's innermost line on.

import (
	"strings"
	"unsafe"
)

// A Passing is the last panic that has left a coroutine of a task.
type Passing struct {
	value any
	stack []byte
}

// With returns what becomes of p when a panic with the given value leaves a coroutine,
// in which it was recovered with the given stack. p may be nil.
func (p *Passing) With(value any, stack []byte) *Passing {
	return &Passing{value, p.Stack(value, stack)}
}

// Stack returns the stacks of a panic with the given value that was recovered with
// the given stack: that one, and before it those of the coroutines that the panic
// has left. p may be nil.
func (p *Passing) Stack(value any, stack []byte) []byte {
	if p == nil || !identical(p.value, value) || !LeftCoroutine(stack) {
		return stack
	}
	return Resumed(p.stack, stack)
}

// identical reports whether two interfaces hold the same thing, of whatever type.
func identical(a, b any) bool {
	return *(*[2]unsafe.Pointer)(unsafe.Pointer(&a)) == *(*[2]unsafe.Pointer)(unsafe.Pointer(&b))
}

// LeftCoroutine reports whether a stack that was taken while a panic was recovered is
// that of a goroutine that resumed a coroutine and was passed the panic by it.
func LeftCoroutine(stack []byte) bool {
	_, frames, _ := strings.Cut(OfPanic(string(stack)), "\n")
	return strings.HasPrefix(frames, "iter.Pull[")
}

// Resumed returns the stacks of a panic that left a coroutine: inner, and outer, that
// of the goroutine which resumed the coroutine, taken while the panic was recovered.
func Resumed(inner, outer []byte) []byte {
	return Below(inner, "resumed by", []byte(OfPanic(string(outer))))
}

// Below returns the stack inner, and below it outer from the user's innermost line
// on, under a head that says how the one led to the other.
func Below(inner []byte, how string, outer []byte) []byte {
	lines := strings.Split(strings.TrimSpace(string(outer)), "\n")
	first := 1
	for first+1 < len(lines) && (Own(lines[first]) || strings.HasPrefix(lines[first], "runtime/debug.")) {
		first += 2
	}
	if first+1 >= len(lines) {
		first = 1
	}
	head := how + " " + strings.TrimSuffix(lines[0], ":") + ":"
	return []byte(strings.TrimSpace(string(inner)) + "\n\n" + head + "\n" + strings.Join(lines[first:], "\n") + "\n")
}
