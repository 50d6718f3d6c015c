package chance

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/rondo-go/rondo/internal/gid"
)

type plain int

func (plain) String() string { return "" }

// asks asks for interfaces of a value, until the answers are in the caches.
//
//go:noinline
func asks(v any) (n int) {
	for range 20_000 {
		if _, ok := v.(fmt.Stringer); ok {
			n++
		}
		switch v.(type) {
		case fmt.Formatter, error:
			n++
		case fmt.Stringer:
		}
	}
	return n
}

// TestForget: how many numbers the runtime draws does not depend on what it has learned before.
func TestForget(t *testing.T) {
	if !Works() || runtime.GOOS != "linux" {
		return
	}
	if len(foundCaches().assertions) == 0 {
		t.Fatal("the caches of assertions were not found")
	}
	defer Still()()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	draw := func() string {
		Set(1)
		asks(plain(1))
		return choices()
	}
	same, kept := 0, 0
	for range 20 {
		Forget()
		one := draw()
		if draw() == one {
			kept++
		}
		Forget()
		if draw() == one {
			same++
		}
	}
	if same < 15 { // other threads may draw numbers of this one too
		t.Errorf("%d of 20 pairs made the same choices", same)
	}
	if kept > 5 {
		t.Errorf("%d of 20 pairs made the same choices although the second one had the caches of the first", kept)
	}
}

// TestForgetAll: what was learned before the caches were looked for is forgotten, too.
func TestForgetAll(t *testing.T) {
	if len(foundCaches().assertions) == 0 {
		return
	}
	asks(plain(1))
	var learned uintptr
	c := findCaches()
	for _, at := range c.assertions {
		if word(at) != c.emptyAssertion && word(at)>>32 == uint64(gid.Record())>>32 {
			learned++
		}
	}
	if learned == 0 {
		t.Error("no cache was found that has learned something")
	}
	t.Logf("%d assertions, %d switches", len(c.assertions), len(c.switches))
}

// TestPools: nothing is left in a sync.Pool.
func TestPools(t *testing.T) {
	var p sync.Pool
	p.Put(new(int))
	Forget()
	if v := p.Get(); v != nil {
		t.Error(v)
	}
}
