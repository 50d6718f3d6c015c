//go:build !rondo_portable

package soak

// The chaos soak is made of rounds in which a loop meets many failures at once. A
// seed chooses the failures; their times are up to the machine, so a seed repeats
// the choices only.
//
// The law: in whatever way a round ends, nothing is left of it.

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
)

var (
	soakFor  = flag.Duration("soak", 0, "how long TestSoak goes on; 0: some rounds")
	soakSeed = flag.Uint64("soak-seed", 0, "the seed of TestSoak's choices; 0: one by the clock")
)

// TestSoak runs rounds of chaos. Each has some hundred tasks with groups, timeouts,
// shields, queues, futures across two loops, cancellations by tasks and goroutines,
// processes and signals, servers whose peers stall, reset, send bytes one by one or
// urgent ones, and whose handlers fail in all ways that are contained; and in most rounds one
// function of the user panics or calls Goexit.
// After each round there are as many goroutines and descriptors as before it, and at
// the end as many objects on the heap as in the middle.
func TestSoak(t *testing.T) {
	seed := *soakSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d: repeat with -run TestSoak -soak-seed %d", seed, seed)
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.DiscardHandler))
	rounds := 30
	if testing.Short() {
		rounds = 8
	}
	goroutines, fds := runtime.NumGoroutine(), leak.Descriptors()
	start := time.Now()
	var middle uint64
	seen := make(map[string]int)
	total := make(map[string]int64)
	n := 0
	for ; n < rounds || time.Since(start) < *soakFor; n++ {
		c := newChaos(t, seed, uint64(n))
		c.round()
		if c.exploded.Load() {
			seen[c.place]++
		}
		for i, name := range counted {
			total[name] += c.counts[i].Load()
		}
		if left := leak.Settle(goroutines); left > goroutines {
			t.Errorf("%d goroutines before, %d after\n%s", goroutines, left, leak.Stacks())
		}
		if left := leak.Descriptors(); left > fds {
			t.Errorf("%d descriptors before, %d after: %s", fds, left, opened())
		}
		if t.Failed() {
			t.Fatalf("in round %d of seed %d, with %s in %s", n, seed, c.kind(), c.place)
		}
		if n == rounds/2 {
			middle = objects()
		}
	}
	last := objects()
	t.Logf("%d rounds in %v: %v; %d objects on the heap in the middle, %d at the end; exploded in %v", n, time.Since(start).Round(time.Second), total, middle, last, seen)
	if last > middle+middle/5+2000 {
		t.Errorf("%d objects on the heap after %d rounds, %d after %d", middle, rounds/2, last, n)
	}
	if n > 40*len(places) && len(seen) < len(places) {
		t.Errorf("nothing exploded in some of %q, only in %q", places, slices.Sorted(maps.Keys(seen)))
	}
}

// opened names the open descriptors.
func opened() string {
	names, _ := os.ReadDir("/proc/self/fd")
	text := ""
	for _, name := range names {
		to, _ := os.Readlink("/proc/self/fd/" + name.Name())
		text += fmt.Sprintf("\n%s: %s", name.Name(), to)
	}
	return text
}

// objects returns the number of objects on the heap that are in use.
func objects() uint64 {
	runtime.GC()
	runtime.GC() // what the first one finalised
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs - m.Frees
}

// counted are the names of what a round counts.
var counted = [...]string{"tasks", "connections", "posts", "crossings", "processes", "signals", "failures"}

const (
	tasks = iota
	connections
	posts
	crossings
	processes
	caught
	failures
)

// chaos is one round.
type chaos struct {
	t        *testing.T
	rnd      *rand.Rand // used on the first loop only
	place    string     // where the user's function explodes
	goexit   bool       // by Goexit; else it panics
	calm     bool       // nothing explodes
	recovers bool       // the Runner's Recover
	fuse     atomic.Int32
	exploded atomic.Bool
	root     context.Context
	second   *rondo.Loop
	address  [4]string      // of the Server, the Protocol, the one with sessions, and HTTP's
	starved  atomic.Bool    // there were no descriptors for a moment, so anything may have failed
	outside  sync.WaitGroup // goroutines of the round
	running  atomic.Int64   // activities that have begun and not ended
	counts   [len(counted)]atomic.Int64
}

func newChaos(t *testing.T, seed, round uint64) *chaos {
	rnd := rand.New(rand.NewPCG(seed, round))
	c := &chaos{t: t, rnd: rnd, place: places[rnd.IntN(len(places))], goexit: rnd.IntN(2) == 0, calm: rnd.IntN(5) == 0, recovers: rnd.IntN(2) == 0}
	if strings.HasPrefix(c.place, "Tracer") {
		c.goexit = false // it may not; see rondo.Tracer
	}
	c.fuse.Store(1 + int32(rnd.IntN(3)))
	return c
}

var errBomb = errors.New("a planned explosion")

// at is called where a user's function stands, and explodes there if it is the place
// and the time.
func (c *chaos) at(place string) {
	if place != c.place || c.calm || c.fuse.Add(-1) != 0 {
		return
	}
	c.exploded.Store(true)
	if c.goexit {
		runtime.Goexit()
	}
	panic(errBomb)
}

// disturbed reports whether activities may fail.
func (c *chaos) disturbed() bool { return c.exploded.Load() || c.starved.Load() }

func (c *chaos) kind() string {
	switch {
	case c.calm:
		return "nothing"
	case c.goexit:
		return "a Goexit"
	}
	return "a panic"
}

// another returns a source of choices for a goroutine.
func (c *chaos) another() *rand.Rand { return rand.New(rand.NewPCG(c.rnd.Uint64(), 0)) }

// some returns a random duration of less than n microseconds.
func (c *chaos) some(n int) time.Duration { return time.Duration(c.rnd.IntN(n)) * time.Microsecond }

// round runs two loops, of which the second only answers the first, and checks how
// the first ends.
func (c *chaos) round() {
	hang := time.AfterFunc(2*time.Minute, func() { panic(fmt.Sprintf("a round hangs, with %s in %s", c.kind(), c.place)) })
	defer hang.Stop()
	opened, over := make(chan bool), make(chan bool)
	end := sync.OnceFunc(func() { close(over) })
	var first, second sync.WaitGroup
	second.Go(func() {
		r := rondo.Runner{Name: "second", OnError: func(rondo.TaskInfo, error) {}}
		err := r.Run(context.Background(), func(ctx context.Context) error {
			c.second = rondo.LoopOf(ctx)
			close(opened)
			_, _, err := rondo.Receive(ctx, over)
			return err
		})
		if err != nil {
			c.t.Errorf("the second loop ended with %v", err)
		}
	})
	<-opened
	if c.rnd.IntN(4) == 0 { // it ends while the first waits for it
		pause := c.some(50_000)
		c.outside.Go(func() { <-time.After(pause); end() })
	}
	first.Go(c.first)
	first.Wait()
	end()
	c.outside.Wait()
	second.Wait()
}

// first runs the first loop.
func (c *chaos) first() {
	var err error
	returned := false
	defer func() {
		v := recover()
		switch e, _ := v.(error); {
		case v != nil && !errors.Is(e, errBomb):
			c.t.Errorf("Run panicked with %v", v)
		case v == nil && !returned && !(c.exploded.Load() && c.goexit):
			c.t.Error("Run called Goexit, and nothing of the program did")
		case err != nil && !c.disturbed():
			c.t.Errorf("Run returned %v", err)
		}
		if n := c.running.Load(); n != 0 {
			c.t.Errorf("%d activities have not ended", n)
		}
	}()
	r := rondo.Runner{Name: "first", Recover: c.recovers, Tracer: c.tracer(), OnError: func(rondo.TaskInfo, error) { c.at("Runner.OnError") }}
	err = r.Run(context.Background(), c.main)
	returned = true
}

// main runs activities for some time.
func (c *chaos) main(ctx context.Context) error {
	c.root = ctx
	life := 50*time.Millisecond + c.some(150_000)
	err := rondo.Timeout(ctx, life, func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			if err := c.serve(g); err != nil {
				return err
			}
			for range 8 {
				g.Go(func(ctx context.Context) error { return c.live(ctx, 0) })
			}
			return nil
		})
	})
	if err != nil && !errors.Is(err, context.DeadlineExceeded) && !c.disturbed() {
		return err
	}
	return nil
}

// live does one thing after another until its scope is cancelled.
func (c *chaos) live(ctx context.Context, depth int) error {
	for ctx.Err() == nil {
		c.counts[tasks].Add(1)
		c.running.Add(1)
		err := c.something(ctx, depth)
		if err != nil && ctx.Err() == nil && !expected(err) && !c.disturbed() {
			return err
		}
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
		if depth > 0 && c.rnd.IntN(2) == 0 {
			return nil
		}
	}
	return rondo.Check(ctx)
}

// expected reports whether an activity may end with err.
func expected(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, rondo.ErrLoopClosed) ||
		errors.Is(err, io.EOF) || errors.Is(err, errBomb)
}
