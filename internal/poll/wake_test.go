package poll

import "testing"

// TestWakeFlag calls the methods in every sequence of six that Poll and Wake
// can make, and compares with the states of wake.go: a signal that no Poll has
// taken is seen once, by the next take, sleepBegin or sleepEnd; and only the
// first signal of a sleep reports that there is a sleeper to wake.
func TestWakeFlag(t *testing.T) {
	const calls, length = 3, 6
	total := 1
	for range length {
		total *= calls
	}
	for code := range total {
		var w wakeFlag
		asleep, pending := false, false
		for step, rest := 0, code; step < length; step, rest = step+1, rest/calls {
			var got, want bool
			var name string
			switch {
			case rest%calls == 0:
				name, got, want = "set", w.set(), asleep && !pending
				pending = true
			case asleep && rest%calls == 1:
				name, got, want = "sleepEnd", w.sleepEnd(), pending
				asleep, pending = false, false
			case asleep:
				name, got, want = "asleep", w.asleep(), !pending
			case rest%calls == 1:
				name, got, want = "sleepBegin", w.sleepBegin(), !pending
				asleep, pending = !pending, false
			default:
				name, got, want = "take", w.take(), pending
				pending = false
			}
			if got != want {
				t.Fatalf("sequence %d, step %d: %s returned %v", code, step, name, got)
			}
		}
	}
}
