package rondo

import (
	"testing"
	"unsafe"
)

// TestCaptured: the words that a function has captured are read only if they are on the page on
// which the function value begins.
func TestCaptured(t *testing.T) {
	const page, word = 4096, unsafe.Sizeof(uintptr(0))
	memory := make([]uintptr, 3*page/word)
	end := (2*page - uintptr(unsafe.Pointer(&memory[0]))%page) / word // the index at which a page begins
	for i := range memory {
		memory[i] = uintptr(i)
	}
	for _, at := range []uintptr{end - 4, end - 3, end - 2, end - 1, end} {
		two, ok := captured(unsafe.Pointer(&memory[at]))
		want := [2]uintptr{at + 1, at + 2}
		if at == end-2 || at == end-1 {
			want = [2]uintptr{}
		}
		if two != want || ok != (want[0] != 0) {
			t.Errorf("%d words before the end of a page: %d and %v, want %d", end-at, two, ok, want)
		}
	}
}

// TestFunctionOfSlot: the function that switches to a goroutine in a slot is the one that the next
// swap calls.
func TestFunctionOfSlot(t *testing.T) {
	called := ""
	s := &slot{
		next:  func() (unit, bool) { called = "next"; return unit{}, true },
		yield: func(unit) bool { called = "yield"; return true },
	}
	functions := map[string]unsafe.Pointer{
		"next": *(*unsafe.Pointer)(unsafe.Pointer(&s.next)), "yield": *(*unsafe.Pointer)(unsafe.Pointer(&s.yield)),
	}
	for range 2 {
		f := s.function()
		if s.swap(); f != functions[called] {
			t.Errorf("the slot's function is not %s, which is called", called)
		}
	}
}
