// Command target is a program for tests to read. Its first argument says what it
// does. It prints "ready" when it does it, and ends when its standard input does.
package main

import (
	"bufio"
	"context"
	"fmt"
	"iter"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/rondo-go/rondo"
)

var modes = map[string]func(ctx context.Context) error{
	"waits": waits, "many": many, "churn": churn, "idle": idle,
	"spin": hang(spin), "channel": hang(channel), "select": hang(selects), "mutex": hang(mutex), "sleep": hang(sleep),
	"syscall": hang(readPipe), "raw": hang(readRaw), "coroutine": hang(spinPulled), "callback": callback, "crash": crash,
	"generator": hang(spinGenerated), "swallow": hang(swallow), "spun": spun, "generator in a callback": generatedCallback,
}

func main() {
	mode, ok := modes[os.Args[1]]
	if !ok {
		fmt.Fprintln(os.Stderr, "target: no such mode")
		os.Exit(2)
	}
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadByte()
		if len(os.Args) > 2 && os.Args[2] == "replaced" {
			fmt.Fprintln(os.Stderr, syscall.Exec("/bin/sleep", []string{"sleep", "1000"}, nil))
		}
		os.Exit(0)
	}()
	r := rondo.Runner{Name: "target"}
	if err := r.Run(context.Background(), mode); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func ready() { fmt.Println("ready") }

// waits has a task of each kind of wait, and three that wait for each other.
func waits(ctx context.Context) error {
	var audit, accounts rondo.Mutex
	audit.Name, accounts.Name = "audit", "accounts"
	held := rondo.NewBarrier(2)
	jobs := rondo.NewQueue[int](0)
	jobs.Name = "jobs"
	peers, err := connect(ctx)
	if err != nil {
		return err
	}
	return rondo.Timeout(ctx, time.Hour, func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			start := func(name string, fn func(ctx context.Context) error) *rondo.Task {
				t := g.Go(fn)
				t.SetName(name)
				return t
			}
			start("dead-a", func(ctx context.Context) error { return both(ctx, &accounts, &audit, held) }) // line of dead-a
			start("dead-b", func(ctx context.Context) error { return both(ctx, &audit, &accounts, held) }) // line of dead-b
			sleeper := start("sleeper", func(ctx context.Context) error { return deep(ctx, 5) })           // line of sleeper
			start("joiner", sleeper.Wait)
			start("getter", func(ctx context.Context) error { _, err := jobs.Get(ctx); return err }) // line of getter
			start("reader", func(ctx context.Context) error { return readConn(ctx, peers) })         // line of reader
			start("acceptor", func(ctx context.Context) error { return peers.accept(ctx) })          // line of acceptor
			start("puller", func(ctx context.Context) error { return pulled(ctx) })                  // line of puller
			start("nester", func(ctx context.Context) error { return nested(ctx) })                  // line of nester
			start("offloader", func(ctx context.Context) error {
				_, err := rondo.Offload(ctx, func(context.Context) (int, error) { select {} }) // line of offloader
				return err
			})
			start("ready", func(ctx context.Context) error { ready(); return nil })
			return rondo.Sleep(ctx, time.Hour) // line of main
		})
	})
}

//go:noinline
func both(ctx context.Context, first, second *rondo.Mutex, held *rondo.Barrier) error {
	if err := first.Lock(ctx); err != nil {
		return err
	}
	defer first.Unlock()
	if _, err := held.Wait(ctx); err != nil { // each has one of the two
		return err
	}
	return second.Lock(ctx) // line of both
}

//go:noinline
func deep(ctx context.Context, n int) error {
	if n > 0 {
		err := deep(ctx, n-1) // line of deep
		return err
	}
	err := nap(ctx) // line of the call of nap
	return err
}

// nap is small enough to be inlined.
func nap(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) } // line of nap

//go:noinline
func readConn(ctx context.Context, peers *pair) error {
	err := peers.read(ctx) // line of readConn
	return err
}

// pulled waits in a coroutine of its own making.
//
//go:noinline
func pulled(ctx context.Context) error {
	next, stop := iter.Pull(func(yield func(int) bool) { inPulled(ctx) }) // line of the coroutine
	defer stop()
	next() // line of pulled
	return nil
}

//go:noinline
func inPulled(ctx context.Context) {
	_ = rondo.Sleep(ctx, time.Hour) // line of inPulled
}

// nested waits in a coroutine within a coroutine, with one beside that has ended
// and one that waits for its turn.
//
//go:noinline
func nested(ctx context.Context) error {
	for _, turns := range []int{0, 1} {
		next, stop := iter.Pull(func(yield func(int) bool) {
			_ = rondo.Yield(ctx)
			for i := range turns {
				yield(i)
			}
		})
		defer stop()
		next()
	}
	next, stop := iter.Pull(func(yield func(int) bool) { outer(ctx) })
	defer stop()
	next() // line of nested
	return nil
}

//go:noinline
func outer(ctx context.Context) {
	_ = rondo.Yield(ctx)
	next, stop := iter.Pull(func(yield func(int) bool) { inPulled(ctx) })
	defer stop()
	next() // line of outer
}

// many has as many tasks as the second argument says, in eight shapes.
func many(ctx context.Context) error {
	n, err := strconv.Atoi(os.Args[2])
	if err != nil {
		return err
	}
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		for i := range n {
			g.Go(func(ctx context.Context) error { return deep(ctx, i%8) }).SetName("worker-" + strconv.Itoa(i))
		}
		g.Go(func(ctx context.Context) error { ready(); return nil })
		return nil
	})
}

// churn starts and ends tasks without a pause. A task's name says how deep it
// waits, so that a test can recognise a wrong stack.
func churn(ctx context.Context) error {
	ready()
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		for maker := range 5 {
			g.Go(func(ctx context.Context) error {
				for n := maker; ; n += 7 {
					depth := n % 11
					t := g.Go(func(ctx context.Context) error { return naps(ctx, depth, n%3) })
					t.SetName("deep-" + strconv.Itoa(depth))
					if maker == 0 && n%5 == 0 {
						if err := t.Wait(ctx); err != nil {
							return err
						}
					} else if err := rondo.Yield(ctx); err != nil {
						return err
					}
				}
			}).SetName("maker")
		}
		for n := range 20 {
			g.Go(func(ctx context.Context) error { return wander(ctx, n) })
		}
		return nil
	})
}

// wander waits at one depth after the other, under another name each time.
func wander(ctx context.Context, n int) error {
	for {
		n += 37
		rondo.Current(ctx).SetName("deep-" + strconv.Itoa(n%113))
		if err := naps(ctx, n%113, 1+n%2); err != nil {
			return err
		}
	}
}

//go:noinline
func naps(ctx context.Context, depth, times int) error {
	switch {
	case depth > 0 && depth%3 == 1:
		return pulls(ctx, depth, times)
	case depth > 0:
		err := naps(ctx, depth-1, times)
		return err
	}
	for range times {
		if err := rondo.Sleep(ctx, time.Duration(times)*time.Millisecond/4); err != nil {
			return err
		}
	}
	return nil
}

// pulls goes one call deeper in a coroutine that passes a value on: every second one
// never calls the loop itself.
//
//go:noinline
func pulls(ctx context.Context, depth, times int) (err error) {
	next, stop := iter.Pull(func(yield func(int) bool) {
		if depth%2 == 0 {
			rondo.Current(ctx)
		}
		err = naps(ctx, depth-1, times)
		yield(1)
	})
	defer stop()
	next()
	return err
}

func idle(ctx context.Context) error {
	ready()
	return rondo.Sleep(ctx, time.Hour)
}

// spun is hang of spin that is ready when it spins.
func spun(ctx context.Context) error {
	go func() {
		for !spinning.Load() {
			time.Sleep(time.Millisecond)
		}
		ready()
	}()
	t := rondo.Go(ctx, func(ctx context.Context) error { spin(ctx); return nil })
	t.SetName("culprit")
	return t.Wait(ctx)
}

// hang makes a mode of a function that keeps the loop.
func hang(f func(ctx context.Context)) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		rondo.Go(ctx, func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) }).SetName("innocent")
		t := rondo.Go(ctx, func(ctx context.Context) error {
			ready()
			f(ctx)
			return nil
		})
		t.SetName("culprit")
		return t.Wait(ctx)
	}
}

var sum int

// spinning says that a task has come to spin.
var spinning atomic.Bool

//go:noinline
func spin(context.Context) {
	spinning.Store(true)
	for { // line of the hang
		sum++
	}
}

//go:noinline
func channel(context.Context) { <-make(chan int) } // line of channel

//go:noinline
func selects(context.Context) {
	select { // line of select
	case <-make(chan int):
	case <-make(chan bool):
	}
}

//go:noinline
func mutex(context.Context) {
	var m sync.Mutex
	m.Lock()
	m.Lock() // line of mutex
}

//go:noinline
func sleep(context.Context) { time.Sleep(time.Hour) } // line of sleep

//go:noinline
func readPipe(context.Context) {
	var p [2]int
	if syscall.Pipe(p[:]) == nil {
		_, _ = syscall.Read(p[0], make([]byte, 1)) // line of syscall
	}
}

// spinPulled keeps the loop in a coroutine that the loop knows of.
//
//go:noinline
func spinPulled(ctx context.Context) {
	next, stop := iter.Pull(func(yield func(int) bool) {
		_ = rondo.Yield(ctx)
		spin(ctx)
	})
	defer stop()
	next() // line of coroutine
}

// spinGenerated keeps the loop in a coroutine, within another, that the loop does
// not know of.
//
//go:noinline
func spinGenerated(ctx context.Context) {
	next, stop := iter.Pull(func(yield func(int) bool) {
		next, stop := iter.Pull(func(yield func(int) bool) { spin(ctx) })
		defer stop()
		next()
	})
	defer stop()
	next() // line of generator
}

// swallow goes on waiting after it was cancelled.
//
//go:noinline
func swallow(ctx context.Context) {
	_ = rondo.Timeout(ctx, time.Millisecond, func(ctx context.Context) error {
		for {
			_ = rondo.Sleep(ctx, time.Second) // line of swallow
		}
	})
}

// generatedCallback keeps the loop in a coroutine of a callback.
func generatedCallback(ctx context.Context) error {
	rondo.LoopOf(ctx).CallSoon(func() {
		ready()
		spinGenerated(ctx)
	})
	return rondo.Sleep(ctx, time.Hour)
}

// readRaw waits in the system without telling the runtime.
//
//go:noinline
func readRaw(context.Context) {
	var p [2]int
	if syscall.Pipe(p[:]) == nil {
		_, _, _ = syscall.RawSyscall(syscall.SYS_READ, uintptr(p[0]), uintptr(unsafe.Pointer(new([8]byte))), 1) // line of raw
	}
}

// callback keeps the loop in a callback.
func callback(ctx context.Context) error {
	rondo.LoopOf(ctx).CallSoon(func() {
		ready()
		spin(ctx)
	})
	return rondo.Sleep(ctx, time.Hour)
}

// crash kills the program while a task computes.
func crash(ctx context.Context) error {
	rondo.Go(ctx, func(ctx context.Context) error { return deep(ctx, 3) }).SetName("sleeper")
	rondo.Go(ctx, func(ctx context.Context) error {
		go func() {
			for !spinning.Load() {
				time.Sleep(time.Millisecond)
			}
			time.Sleep(50 * time.Millisecond) // it goes round by then
			_ = syscall.Kill(os.Getpid(), syscall.SIGABRT)
		}()
		spin(ctx)
		return nil
	}).SetName("culprit")
	return rondo.Sleep(ctx, time.Hour)
}
