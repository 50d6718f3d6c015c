// Command goroutines starts goroutines that wait in every way, of a number and an order that a seed
// says, and prints the truth about them: what it made each to wait for, and what the runtime prints
// of all. It has no Rondo in it.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A Truth is what is to be seen of one goroutine.
type Truth struct {
	ID    uint64
	State string
	Func  string // the innermost call of the program
}

// id returns the number of the calling goroutine.
func id() uint64 {
	b := make([]byte, 64)
	f := strings.Fields(string(b[:runtime.Stack(b, false)]))
	n, err := strconv.ParseUint(f[1], 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

var (
	channel, full = make(chan int), make(chan int)
	mutex         sync.Mutex
	both          sync.RWMutex
	group         sync.WaitGroup
	once          sync.Once
	lock          sync.Mutex
	cond          = sync.NewCond(&lock)
	turning       atomic.Int64
	ends          [2]int
)

func receive() { <-channel }
func send()    { full <- 1 }
func nothing() { var never chan int; <-never }
func nowhere() { var never chan int; never <- 1 }
func choose() {
	select {
	case <-channel:
	case full <- 1:
	}
}
func forever()   { select {} }
func locks()     { mutex.Lock() }
func reads()     { both.RLock() }
func writes()    { var m sync.RWMutex; m.RLock(); m.Lock() }
func awaits()    { group.Wait() }
func onceMore()  { once.Do(func() {}) }
func condition() { lock.Lock(); cond.Wait() }
func sleeps()    { time.Sleep(time.Hour) }
func pipe()      { r, w, err := os.Pipe(); check(err); _, _ = r.Read(make([]byte, 1)); _ = w.Close() }
func call()      { _, _ = syscall.Read(ends[0], make([]byte, 1)) }
func spins() {
	for {
		turning.Add(1)
	}
}

func pulls() {
	next, stop := iter.Pull(func(yield func(int) bool) { <-channel; yield(1) })
	defer stop()
	next()
}

// deep has a stack of many calls, some of them inlined.
func deep(n int) {
	if n == 0 {
		inner()
		return
	}
	deep(n - 1)
}

func inner() { <-channel }

// ways are what goroutines do, with the runtime's words for it and the innermost call.
var ways = []struct {
	state, at string
	do        func()
}{
	{"chan receive", "main.receive", receive},
	{"chan send", "main.send", send},
	{"chan receive (nil chan)", "main.nothing", nothing},
	{"chan send (nil chan)", "main.nowhere", nowhere},
	{"select", "main.choose", choose},
	{"select (no cases)", "main.forever", forever},
	{"sync.Mutex.Lock", "main.locks", locks},
	{"sync.RWMutex.RLock", "main.reads", reads},
	{"sync.RWMutex.Lock", "main.writes", writes},
	{"sync.WaitGroup.Wait", "main.awaits", awaits},
	{"sync.Mutex.Lock", "main.onceMore", onceMore},
	{"sync.Cond.Wait", "main.condition", condition},
	{"sleep", "main.sleeps", sleeps},
	{"IO wait", "main.pipe", pipe},
	{"syscall", "main.call", call},
	{"coroutine", "main.pulls", pulls},
	{"chan receive", "main.inner", func() { deep(40) }},
}

func main() {
	seed, err := strconv.ParseUint(os.Args[1], 10, 64)
	check(err)
	check(syscall.Pipe(ends[:]))
	mutex.Lock()
	both.Lock()
	group.Add(1)
	begun := make(chan Truth)
	go once.Do(func() { begun <- Truth{id(), "chan receive", "main.main.func1"}; <-channel })
	truths := []Truth{<-begun}
	random := rand.New(rand.NewPCG(seed, 0))
	for range 30 + random.IntN(100) {
		way := ways[random.IntN(len(ways))]
		if random.IntN(4) == 0 {
			// Its record is used again for another one.
			ended := make(chan bool)
			go close(ended)
			<-ended
		}
		go func() {
			begun <- Truth{id(), way.state, way.at}
			way.do()
		}()
		truths = append(truths, <-begun)
	}
	if len(os.Args) > 2 {
		go spins()
	}
	text := settle(truths)
	fmt.Println("ready")
	check(json.NewEncoder(os.Stdout).Encode(map[string]any{"Truths": truths, "Text": text}))
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// settle returns what the runtime prints of all goroutines once each waits as it is to.
func settle(truths []Truth) string {
	b := make([]byte, 4<<20)
	for end := time.Now().Add(time.Minute); ; {
		text := b[:runtime.Stack(b, true)]
		rest := false
		for _, t := range truths {
			_, of, found := bytes.Cut(text, fmt.Appendf(nil, "goroutine %d [%s", t.ID, t.State))
			rest = rest || !found || len(of) == 0 || of[0] != ']' && of[0] != ','
		}
		if !rest {
			return string(text)
		}
		if time.Now().After(end) {
			panic("a goroutine does not wait as it is to:\n" + string(text))
		}
		runtime.Gosched()
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
