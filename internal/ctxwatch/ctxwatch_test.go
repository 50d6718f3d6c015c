package ctxwatch

import (
	"context"
	"testing"
)

// TestSet watches contexts that are cancelled, and others, and stops some watches.
func TestSet(t *testing.T) {
	var s Set
	calls := make([]int, 3)
	var cancels []func()
	var stops []func() bool
	for i := range calls {
		ctx, cancel := context.WithCancel(t.Context())
		cancels = append(cancels, cancel)
		stops = append(stops, s.Add(ctx, func() { calls[i]++ }))
	}
	look := func() { s.Look(func(fn func()) { fn() }) }
	want := func(a, b, c int) {
		t.Helper()
		if look(); calls[0] != a || calls[1] != b || calls[2] != c {
			t.Fatalf("the calls are %v, want %d %d %d", calls, a, b, c)
		}
	}
	want(0, 0, 0)
	cancels[0]()
	want(1, 0, 0)
	want(1, 0, 0)
	if !stops[1]() || stops[0]() {
		t.Error("stop is to report whether it was in time")
	}
	cancels[1]()
	cancels[2]()
	want(1, 0, 1)
	if s.Len() != 1 {
		t.Errorf("%d contexts are watched, want 1", s.Len())
	}
}
