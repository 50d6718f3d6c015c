// Command oracle is random programs that know the truth about themselves; tests compare it with
// the verdicts. Its arguments are a seed and the number of loops. When each loop is as it will
// stay it prints "ready", and a line of JSON with the Truth of each. It ends when its standard
// input does. What Rondo itself reports of the loops is JSON on standard error.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/rondo-go/rondo"
)

// A Truth is the truth about a loop. Tasks are named.
type Truth struct {
	Parts     []string          // of what it is made
	Dead      bool              // nothing can run, and nothing can wake it
	Stuck     []string          // the tasks that are in cycles
	Ends      map[string]string // of these, those that a Timeout ends, by the task that opened it
	Abandoned []string          // the tasks that wait for a lock whose holder has ended
	Held      string            // on what the goroutine is blocked that holds the loop
}

// A builder makes one loop of parts. Until a part is as it will stay its tasks yield, so that
// all is built when each of them waits.
type builder struct {
	ctx   context.Context
	rand  *rand.Rand
	truth *Truth
	set   *[]*rondo.Task // those that wait in the end
	part  int
}

func main() {
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	seed, _ := strconv.ParseUint(os.Args[1], 10, 64)
	n, _ := strconv.Atoi(os.Args[2])
	truths := make(map[string]*Truth)
	var built sync.WaitGroup
	for i := range n {
		name := "loop-" + strconv.Itoa(i)
		truth := &Truth{Ends: make(map[string]string)}
		truths[name] = truth
		built.Add(1)
		b := &builder{rand: rand.New(rand.NewPCG(seed, uint64(i))), truth: truth, set: new([]*rondo.Task)}
		go func() {
			r := rondo.Runner{Name: name, OnError: func(rondo.TaskInfo, error) {}, HangAfter: time.Second}
			if err := r.Run(context.Background(), func(ctx context.Context) error { return b.run(ctx, built.Done) }); err != nil {
				fmt.Fprintln(os.Stderr, name, err)
			}
		}()
	}
	built.Wait()
	text, err := json.Marshal(truths)
	if err != nil {
		panic(err)
	}
	fmt.Printf("ready\n%s\n", text)
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
}

// run makes the loop of some parts, and calls done when nothing changes any more.
func (b *builder) run(ctx context.Context, done func()) error {
	b.ctx = ctx
	if len(holds) > 0 && b.rand.IntN(5) == 0 {
		kinds := make([]string, 0, len(holds))
		for kind := range holds {
			kinds = append(kinds, kind)
		}
		slices.Sort(kinds)
		b.truth.Held = kinds[b.rand.IntN(len(kinds))]
		b.truth.Parts = []string{"held: " + b.truth.Held}
		done()
		holds[b.truth.Held]()
		return nil
	}
	b.truth.Dead = true
	names := make([]string, 0, len(parts))
	for name := range parts {
		names = append(names, name)
	}
	slices.Sort(names)
	asleep := b.rand.IntN(2) == 0
	for part := range 1 + b.rand.IntN(3) {
		name := names[b.rand.IntN(len(names))]
		b.truth.Parts = append(b.truth.Parts, name)
		one := *b
		one.part = part
		parts[name](&one)
	}
	for waiting := false; !waiting; {
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
		waiting = true
		for _, t := range *b.set {
			waiting = waiting && t.Info().State == "waiting"
		}
	}
	if asleep {
		b.alive()
	}
	done()
	if asleep {
		return rondo.Sleep(ctx, time.Hour)
	}
	return rondo.WaitCanceled(ctx)
}
