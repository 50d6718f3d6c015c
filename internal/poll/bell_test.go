package poll

import "testing"

// TestBell goes through every sequence of six calls that Poll and Wake can
// make, against what the words of bell.go say.
//
// Method: a ring that no Poll has taken must be seen by the next take, doze or
// rise, whichever comes, by that one alone; and exactly the first ring of a
// doze must rouse.
func TestBell(t *testing.T) {
	const calls, length = 3, 6
	total := 1
	for range length {
		total *= calls
	}
	for code := range total {
		var b bell
		asleep, pending := false, false
		for step, rest := 0, code; step < length; step, rest = step+1, rest/calls {
			var got, want bool
			var name string
			switch {
			case rest%calls == 0:
				name, got, want = "ring", b.ring(), asleep && !pending
				pending = true
			case asleep && rest%calls == 1:
				name, got, want = "rise", b.rise(), pending
				asleep, pending = false, false
			case asleep:
				name, got, want = "quiet", b.quiet(), !pending
			case rest%calls == 1:
				name, got, want = "doze", b.doze(), !pending
				asleep, pending = !pending, false
			default:
				name, got, want = "take", b.take(), pending
				pending = false
			}
			if got != want {
				t.Fatalf("sequence %d, step %d: %s gave %v", code, step, name, got)
			}
		}
	}
}

func TestBellSilenced(t *testing.T) {
	var b bell
	b.doze()
	b.silence()
	if b.ring() {
		t.Error("a ring after silence wants to rouse")
	}
}
