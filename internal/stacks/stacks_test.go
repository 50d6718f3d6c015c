package stacks

import (
	"iter"
	"runtime"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/internal/gid"
)

// TestUserLine: the line is the innermost one that is the program's own, whatever is called there:
// Rondo, the standard library, or modules of others. What the line calls comes with it.
func TestUserLine(t *testing.T) {
	const user = "example.com/shop.(*Cart).fill"
	for _, c := range []struct {
		name         string
		calls        []string // innermost first, each with its file
		place, outer string
	}{
		{"a connection", []string{"github.com/rondo-go/rondo.(*Task).park /src/rondo/park.go", "internal/poll.(*FD).Read /go/src/internal/poll/fd.go", user + " /src/shop/cart.go"},
			user, "internal/poll.(*FD).Read"},
		{"an error that is looked into", []string{"errors.Is /go/src/errors/wrap.go", "slices.IndexFunc[...] /go/src/slices/slices.go", user + " /src/shop/cart.go"},
			user, "slices.IndexFunc[...]"},
		{"a module of others", []string{"sync.(*WaitGroup).Wait /go/src/sync/waitgroup.go", "golang.org/x/sync/singleflight.(*Group).Do /root/go/pkg/mod/golang.org/x/sync@v0.24.0/singleflight/singleflight.go", user + " /src/shop/cart.go"},
			user, "golang.org/x/sync/singleflight.(*Group).Do"},
		{"one that is vendored", []string{"golang.org/x/time/rate.(*Limiter).Wait C:\\src\\shop\\vendor\\golang.org\\x\\time\\rate\\rate.go", user + " /src/shop/cart.go"},
			user, "golang.org/x/time/rate.(*Limiter).Wait"},
		{"only others", []string{"time.Sleep /go/src/runtime/time.go", "example.org/lib.pause /root/go/pkg/mod/example.org/lib@v1.0.0/lib.go", "example.org/lib.Run /root/go/pkg/mod/example.org/lib@v1.0.0/lib.go"},
			"example.org/lib.pause", "time.Sleep"},
		{"a host that begins like a package", []string{"net.example/shop.fill /src/shop/cart.go"}, "net.example/shop.fill", ""},
		{"nothing but the runtime", []string{"runtime.gopark /go/src/runtime/proc.go"}, "", ""},
		{"nothing", nil, "", ""},
	} {
		stack := "goroutine 7 [chan receive]:"
		for _, call := range c.calls {
			name, file, _ := strings.Cut(call, " ")
			stack += "\n" + name + "(0xc000, {0x1, 0x2})\n\t" + file + ":42 +0x1d"
		}
		place, calls := UserCall(stack)
		outer := ""
		if len(calls) > 0 {
			outer = calls[len(calls)-1]
		}
		if c.place == "" && place == "" {
			continue
		}
		if !strings.HasPrefix(place, c.place+" at ") || !strings.HasSuffix(place, ":42") || outer != c.outer {
			t.Errorf("%s: the user's line is %q, which calls %q; want one of %s, which calls %q", c.name, place, outer, c.place, c.outer)
		}
	}
}

// TestStartedAt: a goroutine whose stack has no place of the program's own has its go statement.
func TestStartedAt(t *testing.T) {
	for end, want := range map[string]string{
		"\ncreated by main.serve in goroutine 1\n\t/src/shop/main.go:29 +0x1d\n":              "/src/shop/main.go:29",
		"\ncreated by main.serve.func1\n\t/src/shop/main.go:29 +0x1d":                         "/src/shop/main.go:29",
		"\ncreated by time.goFunc in goroutine 9\n\t/go/src/time/sleep.go:215 +0x2d\n":        "",
		"\ncreated by github.com/rondo-go/rondo.Go in goroutine 9\n\t/src/rondo/a.go:2 +0x2d": "",
		"": "",
	} {
		stack := "goroutine 7 [running]:\ngithub.com/rondo-go/rondo.(*Event).Set(0xc000)\n\t/src/rondo/event.go:42 +0x1d" + end
		if at := startedAt(stack); at != want {
			t.Errorf("%q is the go statement, not %q, of\n%s", at, want, stack)
		}
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
