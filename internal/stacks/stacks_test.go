package stacks

import (
	"iter"
	"runtime"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/internal/gid"
)

// TestUserLine skips what is Rondo's or below, and takes the first line that is
// the user's.
func TestUserLine(t *testing.T) {
	stack := strings.Join([]string{
		"goroutine 7 [chan receive]:",
		"github.com/rondo-go/rondo.(*Task).park(0xc000, 0x1)",
		"\t/src/rondo/park.go:10 +0x1d",
		"internal/poll.(*FD).Read(0xc000)",
		"\t/go/src/internal/poll/fd.go:160 +0x2a",
		"example.com/shop.(*Cart).fill(0xc000)",
		"\t/src/shop/cart.go:42 +0x77",
		"example.com/shop.main()",
		"\t/src/shop/main.go:7 +0x11",
	}, "\n")
	if got, want := UserLine(stack), "example.com/shop.(*Cart).fill at /src/shop/cart.go:42"; got != want {
		t.Errorf("the user's line is %q, want %q", got, want)
	}
	if got := UserLine("goroutine 7 [running]:"); got != "" {
		t.Errorf("a stack without frames has the line %q", got)
	}
}

// TestOfCoroutine looks for a goroutine that is parked in a coroutine.
func TestOfCoroutine(t *testing.T) {
	asked, id := make(chan bool), make(chan uint64)
	done := make(chan bool)
	go func() {
		id <- gid.ID()
		next, stop := iter.Pull(func(yield func(int) bool) { innermost(asked, done) })
		defer stop()
		next()
	}()
	outer := <-id
	<-asked
	state, stack := Of(outer)
	for state == "runnable" || state == "running" { // it is on its way to the second channel
		runtime.Gosched()
		state, stack = Of(outer)
	}
	if !strings.HasPrefix(state, "chan") || !strings.Contains(stack, "innermost") {
		t.Errorf("the goroutine is in state %q with the stack\n%s", state, stack)
	}
	done <- true
}

//go:noinline
func innermost(asked, done chan bool) {
	asked <- true
	<-done
}
