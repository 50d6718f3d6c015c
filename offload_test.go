package rondo

import "testing"

// TestReceiver stops receivers at channels that have a value, are closed, or are not
// ready.
func TestReceiver(t *testing.T) {
	full, closed := make(chan int, 2), make(chan int)
	full <- 7
	close(closed)
	for _, c := range []struct {
		name         string
		ch           chan int
		value        int
		ok, received bool
	}{
		{"a value", full, 7, true, true},
		{"the end", closed, 0, false, true},
		{"nothing", make(chan int), 0, false, false},
	} {
		r := newReceiver(c.ch)
		called := false
		go r.run(func() { called = true })
		value, ok, received := r.end()
		if value != c.value || ok != c.ok || received != c.received || called != received {
			t.Errorf("%s: received %v: %d, %v; received was called: %v", c.name, received, value, ok, called)
		}
	}
}

// TestReceiverLosesNothing stops receivers while values are sent: each value is received, by
// one of them or afterwards.
func TestReceiverLosesNothing(t *testing.T) {
	const values = 2000
	ch := make(chan int)
	go func() {
		for i := range values {
			ch <- i
		}
		close(ch)
	}()
	for next := 0; next < values; {
		r := newReceiver(ch)
		go r.run(func() {})
		value, _, received := r.end()
		if !received {
			value = <-ch
		}
		if value != next {
			t.Fatalf("received %d, want %d", value, next)
		}
		next++
	}
}
