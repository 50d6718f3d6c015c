package rondo

import (
	"context"
	"testing"
)

// TestContextSet watches contexts that are cancelled, and others, and stops some watches.
func TestContextSet(t *testing.T) {
	var s contextSet
	calls := make([]int, 3)
	var cancels []func()
	var stops []func()
	for i := range calls {
		ctx, cancel := context.WithCancel(t.Context())
		cancels = append(cancels, cancel)
		stops = append(stops, s.add(ctx.Done(), func() { calls[i]++ }))
	}
	look := func() { s.look(func(fn func()) { fn() }) }
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
	stops[1]()
	stops[0]()
	cancels[1]()
	cancels[2]()
	want(1, 0, 1)
	if len(s) != 1 {
		t.Errorf("%d contexts are watched, want 1", len(s))
	}
}
