package prefetch

import (
	"testing"
	"unsafe"
)

// TestAnyAddress asks for addresses that no program may read: nothing happens.
func TestAnyAddress(t *testing.T) {
	var s Switch
	Ask(&s)
	words := unsafe.Slice((*uintptr)(unsafe.Pointer(&s)), unsafe.Sizeof(s)/unsafe.Sizeof(uintptr(0)))
	for _, at := range []uintptr{0, 1, 4096, 1 << 20, 1 << 30, ^uintptr(0) >> 17, ^uintptr(0) >> 1, ^uintptr(4095), ^uintptr(0)} {
		for i := range words {
			words[i] = at
		}
		Ask(&s)
	}
}

func TestStackPointer(t *testing.T) {
	var local [8]uintptr
	at, near := StackPointer(), uintptr(unsafe.Pointer(&local))
	if far := max(at, near) - min(at, near); Works && far > 4096 || !Works && at != 0 {
		t.Errorf("the stack pointer is %d bytes from a local variable", far)
	}
}

func BenchmarkAsk(b *testing.B) {
	var s Switch
	for b.Loop() {
		Ask(&s)
	}
}
