package stacks_test

import (
	"reflect"
	"runtime"
	"testing"

	"github.com/rondo-go/rondo/internal/stacks"
)

//go:noinline
func called() (ours, runtimes int32) {
	var pcs [1]uintptr
	runtime.Callers(2, pcs[:])
	return stacks.Above(from()), int32(int64(pcs[0]) - int64(from()))
}

func from() uintptr { return reflect.ValueOf(TestAbove).Pointer() }

func inlined() (ours, runtimes int32) { return called() }

// TestAbove: it returns what package runtime returns, from whatever depth it is called.
func TestAbove(t *testing.T) {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		if stacks.Above(1) != 0 {
			t.Error("it knows something, and yet nobody has said where that stands")
		}
		return
	}
	check := func(ours, runtimes int32) {
		t.Helper()
		if ours == 0 || ours != runtimes {
			t.Errorf("%#x, package runtime has %#x", ours, runtimes)
		}
	}
	if far := stacks.Above(^uintptr(0) >> 1); far != 0 {
		t.Errorf("of what is too far away it says %d", far)
	}
	check(called())
	check(inlined())
	done := make(chan bool)
	go func() {
		defer close(done)
		check(called())
		defer func() { check(called()) }()
	}()
	<-done
}
