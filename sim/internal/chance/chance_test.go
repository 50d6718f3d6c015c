package chance

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/rondo-go/rondo/internal/gid"
)

// choices asks the runtime for choices of each kind.
func choices() (s string) {
	a, b := make(chan int, 1), make(chan int, 1)
	a <- 1
	b <- 1
	for range 20 {
		select {
		case <-a:
			s, a = s+"a", make(chan int, 1)
			a <- 1
		case <-b:
			s, b = s+"b", make(chan int, 1)
			b <- 1
		}
	}
	m := map[int]bool{}
	for i := range 20 {
		m[i] = true
	}
	for i := range m {
		s += fmt.Sprint(" ", i)
	}
	return s + fmt.Sprint(" ", rand.Uint64(), rand.N(1000))
}

// TestSet: the choices of the runtime are those of the seed.
func TestSet(t *testing.T) {
	if !Works() {
		if gid.Record() != 0 { // which it is where there is no assembly
			t.Error("the random numbers of this runtime were not found")
		}
		return
	}
	defer Still()()
	all, differ := map[string]bool{}, 0
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for seed := range uint64(50) {
		Set(seed)
		one := choices()
		Set(seed)
		if two := choices(); one != two {
			t.Logf("seed %d: %s\nthen %s", seed, one, two)
			differ++
		}
		all[one] = true
	}
	if len(all) != 50 || differ > 10 { // other threads may draw numbers of this one too
		t.Error("50 seeds gave", len(all), "lists of choices, and", differ, "gave others the second time")
	}
}

// TestStacks: that a thread looks through a stack has no part in what the runtime chooses.
func TestStacks(t *testing.T) {
	if !Works() {
		return
	}
	if found().lookups == 0 {
		t.Fatal("the lookups of this runtime were not found")
	}
	defer Still()()
	differ := 0
	for seed := range uint64(50) {
		var with [2]string
		for i := range with {
			ended := make(chan bool)
			go func() {
				defer close(ended)
				Set(seed)
				if i == 1 {
					debug.Stack()
				}
				with[i] = choices()
			}()
			<-ended
		}
		if with[0] != with[1] {
			differ++
		}
	}
	if differ > 10 { // other threads may draw numbers of this one too
		t.Errorf("50 seeds gave %d times other choices after a look at the stack", differ)
	}
}

// TestFreshThread: what a thread has is found although it has just begun.
func TestFreshThread(t *testing.T) {
	if !Works() {
		return
	}
	missing := 0
	for range 100 {
		at := make(chan place)
		go func() {
			runtime.LockOSThread() // the thread ends with this goroutine
			at <- find()
		}()
		if got := <-at; got.lookups == 0 || got.generator == 0 || got.lookups != found().lookups {
			missing++
		}
	}
	if missing > 0 {
		t.Errorf("on %d of 100 new threads not all was found", missing)
	}
}
