// Package chance makes the random numbers of Go's runtime those of a seed: which of several
// ready cases a select takes, which of two timers of one instant comes first, where the range
// of a map begins, what the functions of math/rand/v2 return.
//
// The runtime has no call for that. So the package finds, when it is first used, where the
// record of a thread has these numbers, by what changes there when one is drawn. Where that is
// not found, Works is false and the runtime's choices stay its own.
package chance

import (
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rondo-go/rondo/internal/gid"
	"github.com/rondo-go/rondo/sim/internal/choice"
)

// A generator is ChaCha8 (internal/chacha8rand): 32 numbers, a seed of four words, then how many
// of the numbers are used, how many there are, and a counter.
const (
	numbers   = 32
	usedAt    = (numbers + 4) * 8
	counterAt = usedAt + 8
	size      = counterAt + 8
)

const (
	threadAt    = 48   // where the record of a goroutine has that of its thread
	threadBytes = 2000 // of that record are searched; it has 2,048
	cheapBytes  = 64   // behind the generator are searched for the cheap numbers
)

// The record of a processor has a counter of switches: at each 61st the scheduler takes a
// goroutine that has called Gosched before those that were woken.
const (
	running  = 1 // its state, behind its number
	ticksAt  = 16
	threadOf = 48 // where it has its thread
	period   = 61
)

// place is where things are in the record of a thread.
type place struct {
	generator uintptr   // 0: not found
	cheap     []uintptr // the word from which the cheap numbers are made
	processor uintptr   // the processor of the thread; 0: not found
	lookups   uintptr   // how many look at what the thread has looked up; 0: not found
}

// A stack that has to grow is looked through, and for each frame the thread looks up where its
// variables are. It keeps some of these lookups, of two kinds of addresses, and a number is drawn
// for which one a new one replaces. When a stack grows depends on what the allocator of memory
// finds, which no seed repeats. While a signal handler may have interrupted a lookup, nothing is
// kept and no number is drawn: Set lets the thread believe that.
const (
	lookupKinds = 2
	lookupsEach = 8
	lookupBytes = 24 // an address, the table with what was found, where that begins
	tableAt     = 8  // 0: there is no lookup
	beginAt     = 16
	lookupsSize = lookupKinds * lookupsEach * lookupBytes
	frameMost   = 1 << 20 // so far apart are the address and where what was found begins
)

var found = sync.OnceValue(find)

// Works reports whether Set has an effect.
func Works() bool { return found().generator != 0 }

// Set seeds the numbers of the thread on which the caller runs, and begins a new period of the
// scheduler.
func Set(seed uint64) {
	at := found()
	if at.generator == 0 {
		return
	}
	thread := uintptr(word(gid.Record() + threadAt))
	g := thread + at.generator
	for i := range uintptr(numbers + 4) {
		seed += 0x9e3779b97f4a7c15
		setWord(g+i*8, choice.Mix(seed))
	}
	setWord(g+usedAt, numbers<<32)
	setWord(g+counterAt, word(g+counterAt)>>32<<32)
	for _, c := range at.cheap {
		seed += 0x9e3779b97f4a7c15
		setWord(thread+c, choice.Mix(seed))
	}
	if at.lookups != 0 {
		setWord(thread+at.lookups, 1)
	}
	if at.processor == 0 {
		return
	}
	if p := uintptr(word(thread + at.processor)); p != 0 {
		ticks := word(p + ticksAt)
		// It counts on, because the runtime takes one that stands still for a goroutine that
		// does not stop.
		next := uint64(uint32(ticks)/period+1)*period + 1
		setWord(p+ticksAt, ticks>>32<<32|uint64(uint32(next)))
	}
}

// still is held while a caller of Still has the processor for itself.
var still sync.Mutex

// Still makes the runtime do nothing by itself at moments that no seed repeats: it has one
// processor, on which goroutines run in the order in which they were woken; it collects no
// garbage, which Collect does; and takes no samples of memory, which draws numbers. The function
// that it returns ends that. A second caller waits.
func Still() (end func()) {
	still.Lock()
	processors, percent, rate := runtime.GOMAXPROCS(1), debug.SetGCPercent(-1), runtime.MemProfileRate
	runtime.MemProfileRate = 0
	collect() // nothing is left to be swept
	return func() {
		if at := found(); at.lookups != 0 {
			setWord(uintptr(word(gid.Record()+threadAt))+at.lookups, 0)
		}
		emptyPools() // what is in them belongs to a simulation
		runtime.MemProfileRate = rate
		debug.SetGCPercent(percent)
		runtime.GOMAXPROCS(processors)
		still.Unlock()
	}
}

// SlowAfter is after how much real time goroutines may go on in another order: a sync.Mutex for
// which one has waited so long is handed over in another way, and after 10 ms the scheduler
// interrupts the one that runs. Only tests change it.
var SlowAfter = time.Millisecond

// Slow reports whether it was called so long ago that goroutines may have gone on in another
// order since. last is when that was, which it sets.
func Slow(last *time.Duration) bool {
	var now syscall.Timeval // the clock of package time may be simulated
	_ = syscall.Gettimeofday(&now)
	before := *last
	*last = time.Duration(now.Nano())
	return before != 0 && (*last < before || *last-before > SlowAfter)
}

// Collect collects the garbage, if there is so many times as much as after the last collection, and
// reports whether it did. A caller that has made the runtime still calls it in long runs: with more
// garbage the runtime gives memory to the system at moments of its own.
func Collect(times uint64) bool {
	if heap() <= times*garbage.Load() {
		return false
	}
	collect()
	return true
}

// collect collects the garbage, and lets the goroutines of the runtime run that this has woken:
// later they would push others from their places.
func collect() {
	runtime.GC()
	for range 10 {
		runtime.Gosched()
	}
	garbage.Store(max(leastGarbage, 2*heap()))
}

// emptyPools takes from all sync.Pools what is in them: a collection sets it aside, and the next
// one drops it.
func emptyPools() {
	collect()
	collect()
}

const leastGarbage = 64 << 20

// heap returns how many bytes the objects of the heap have.
func heap() uint64 {
	sample := [...]metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample[:])
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}

// garbage is how large the heap is when it is time to collect.
var garbage atomic.Uint64

// find looks for the numbers on a thread that no other goroutine gets meanwhile. It looks
// again, because the runtime draws numbers too.
func find() (at place) {
	if gid.Record() == 0 {
		return place{}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for range 20 {
		if at = look(); at.generator != 0 && at.lookups != 0 {
			break
		}
	}
	return at
}

func look() (at place) {
	thread := uintptr(word(gid.Record() + threadAt))
	rand.Uint64() // now there are unused numbers
	for o := uintptr(8); o < threadBytes-size; o += 8 {
		if isGenerator(thread + o) {
			if at.generator != 0 {
				return place{} // two places: none is certain
			}
			at.generator = o
		}
	}
	if at.generator == 0 {
		return place{}
	}
	for o := at.generator + size; o < at.generator+size+cheapBytes; o += 8 {
		before := word(thread + o)
		choose()
		if word(thread+o) != before {
			at.cheap = append(at.cheap, o)
		}
	}
	if len(at.cheap) != 1 {
		return place{}
	}
	for o := uintptr(8); o < threadBytes; o += 8 {
		p := uintptr(word(thread + o))
		// Only what looks like the address of something on the heap is followed.
		if at.processor == 0 && p%8 == 0 && p>>32 == gid.Record()>>32 && word(p)>>32 == running && word(p+threadOf) == uint64(thread) {
			at.processor = o
		}
	}
	lookUp(2 * lookupKinds * lookupsEach)
	for o := uintptr(8); o < threadBytes-lookupsSize; o += 8 {
		if areLookups(thread + o) {
			at.lookups = o + lookupsSize
			break
		}
	}
	return at
}

// lookUp has the thread look through a stack with n frames of its own, which go on at different
// addresses. A new lookup takes a place at random, and a thread that has just begun has none: so
// there must be far more than there are places.
func lookUp(n int) {
	switch {
	case n == 0:
		debug.Stack()
	case n%8 == 0:
		lookUp(n - 1)
	case n%8 == 1:
		lookUp(n - 1)
	case n%8 == 2:
		lookUp(n - 1)
	case n%8 == 3:
		lookUp(n - 1)
	case n%8 == 4:
		lookUp(n - 1)
	case n%8 == 5:
		lookUp(n - 1)
	case n%8 == 6:
		lookUp(n - 1)
	default:
		lookUp(n - 1)
	}
}

// areLookups reports whether lookups are at an address, and nobody looks at them.
func areLookups(at uintptr) bool {
	for i := range uint64(lookupKinds * lookupsEach) {
		l := at + uintptr(i)*lookupBytes
		address, begin := word(l), word(l+beginAt)
		if address == 0 || word(l+tableAt) == 0 || address/8%lookupKinds != i/lookupsEach || begin > address || address-begin > frameMost {
			return false
		}
	}
	return word(at+lookupsSize) == 0
}

// choose has the runtime choose between two cases that are ready.
func choose() {
	a, b := make(chan int, 1), make(chan int, 1)
	a <- 0
	b <- 0
	select {
	case <-a:
	case <-b:
	}
}

// isGenerator reports whether a generator is at g.
func isGenerator(g uintptr) bool {
	for range 3 {
		used, has := word(g+usedAt)&0xffffffff, word(g+usedAt)>>32
		if has == 0 || has > numbers || used >= has {
			return false
		}
		next := word(g + uintptr(used)*8)
		if rand.Uint64() != next || word(g+usedAt) != has<<32|(used+1) {
			return false
		}
	}
	return true
}
