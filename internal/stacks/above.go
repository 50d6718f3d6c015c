package stacks

// The caller of a function is found in a few nanoseconds, by frame pointers.
// Package runtime takes a hundred or more, because it looks for inlined calls.

import (
	"reflect"
	"runtime"
)

// Above says where the caller of the function is that calls it: how far the address to
// which that function returns is behind another one in the program's code. It is 0 if
// that is not known: on processors other than amd64 and arm64. The function must not be
// inlined.
//
//go:noinline
func Above(from uintptr) int32 {
	if !trusted {
		return 0
	}
	pc := above()
	far := int64(pc) - int64(from)
	if pc == 0 || far != int64(int32(far)) {
		return 0
	}
	return int32(far)
}

// trusted says that above returns what package runtime does. It is tried out when the
// program starts, because no document promises where frame pointers are.
var trusted bool

func init() {
	trusted = true
	ours, runtimes := probe()
	trusted = ours == runtimes
}

// probe returns how far the address to which it returns is behind its own code, by Above
// and by package runtime.
//
//go:noinline
func probe() (ours, runtimes int32) {
	var pcs [1]uintptr
	runtime.Callers(2, pcs[:])
	from := reflect.ValueOf(probe).Pointer()
	return Above(from), int32(int64(pcs[0]) - int64(from))
}
