package main

// Rows of package inspect: how long a picture of another process takes,
// and how much it slows that process down.

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/inspect"
)

func inspectRow() row {
	return row{
		name: "inspect", section: looking, run: inspecting,
		why: "inspect opens the other process, reads its symbols and finds its loops before it reads a task; runtime.Stack is a call in the same process.",
	}
}

// bystanders is how many tasks sleep in a process that works while inspect reads
// it.
const bystanders = 1000

func inspecting(o options) ([]result, error) {
	onTarget, _, err := processors()
	if err != nil {
		return nil, err
	}
	all := "runtime.Stack of all goroutines, by the program itself, which stops for it"
	few := result{What: "picture of a process with 10 tasks, their stacks and the opening included", Rival: all, Unit: "ns", Allowed: unlimited}
	many := result{
		What:  fmt.Sprintf("picture of a process with %s tasks, their stacks and the opening included", thousands(o.many)),
		Rival: all, Unit: "ns", Allowed: unlimited,
	}
	slowed := result{
		What: "yields of a process that inspect reads once a second, with stacks", Rival: "the same, not read",
		Unit: "ns", Budget: 1.02, Allowed: unlimited,
	}
	// A picture takes so long that every one is disturbed, so the number of rounds
	// makes little difference.
	rounds := min(o.rounds, 5)
	if err := pictures(&few, onTarget, 10, rounds); err != nil {
		return nil, err
	}
	if err := pictures(&many, onTarget, o.many, rounds); err != nil {
		return nil, err
	}
	if err := disturbed(&slowed, onTarget, o, rounds); err != nil {
		return nil, err
	}
	return []result{few, many, slowed}, nil
}

// pictures measures pictures of a process with so many tasks.
func pictures(f *result, processor, tasks, rounds int) (err error) {
	target, err := startSelf(processor, "target", strconv.Itoa(tasks))
	if err != nil {
		return err
	}
	defer endWith(target, &err)
	if _, err := target.line(); err != nil {
		return err
	}
	var mine, theirs []float64
	for range rounds {
		began := time.Now()
		if err := picture(target.cmd.Process.Pid, tasks); err != nil {
			return err
		}
		took := float64(time.Since(began))
		rival, err := target.number("stacks")
		if err != nil {
			return err
		}
		mine, theirs = append(mine, took), append(theirs, rival)
	}
	*f = beside(*f, mine, theirs)
	return nil
}

// picture takes a picture of a process with at least so many tasks.
func picture(pid, tasks int) (err error) {
	t, err := inspect.OpenProcess(pid)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	p, err := t.Snapshot(inspect.Options{Stacks: true})
	if err == nil && (len(p.Loops) != 1 || len(p.Loops[0].Tasks) < tasks) {
		err = fmt.Errorf("the picture has %d loops, want one with %d tasks", len(p.Loops), tasks)
	}
	return err
}

// disturbed measures a process that works, with and without pictures taken of it.
func disturbed(f *result, processor int, o options, rounds int) (err error) {
	target, err := startSelf(processor, "target", strconv.Itoa(bystanders))
	if err != nil {
		return err
	}
	defer endWith(target, &err)
	if _, err := target.line(); err != nil {
		return err
	}
	const question = "work "
	yields := strconv.Itoa(max(o.many*100, 1))
	var mine, theirs []float64
	for range rounds {
		alone, err := target.number(question + yields)
		if err != nil {
			return err
		}
		stop := watch(target.cmd.Process.Pid)
		seen, err := target.number(question + yields)
		if err := errors.Join(err, stop()); err != nil {
			return err
		}
		mine, theirs = append(mine, seen), append(theirs, alone)
	}
	*f = beside(*f, mine, theirs)
	return nil
}

// watch takes a picture of a process at once, and then every second until stop is
// called.
func watch(pid int) (stop func() error) {
	quit, result := make(chan struct{}), make(chan error)
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			if err := picture(pid, bystanders); err != nil {
				result <- err
				return
			}
			select {
			case <-tick.C:
			case <-quit:
				result <- nil
				return
			}
		}
	}()
	return func() error {
		close(quit)
		return <-result
	}
}

// target is the process that inspect reads: args[0] tasks sleep, each a few calls
// deep, and a goroutine answers questions.
func target(args []string) error {
	count, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	return rondo.Run(context.Background(), func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			for i := range count {
				g.Go(func(ctx context.Context) error { return deep(ctx, i%8) })
			}
			if err := rondo.Yield(g); err != nil {
				return err
			}
			fmt.Println("ready")
			loop := rondo.LoopOf(ctx)
			_, err := rondo.Offload(g, func(context.Context) (int, error) { return 0, answer(reply(ctx, loop)) })
			g.Cancel(nil)
			return err
		})
	})
}

//go:noinline
func deep(ctx context.Context, n int) error {
	if n == 0 {
		return rondo.Sleep(ctx, time.Hour)
	}
	err := deep(ctx, n-1)
	return err
}

// reply answers on a goroutine how many nanoseconds something took.
func reply(ctx context.Context, loop *rondo.Loop) func(question string) (string, error) {
	var buf []byte
	return func(question string) (string, error) {
		var yields int
		if _, err := fmt.Sscanf(question, "work %d", &yields); err == nil {
			took := make(chan time.Duration, 1)
			if err := loop.Post(func() { rondo.Go(ctx, func(ctx context.Context) error { return work(ctx, yields, took) }) }); err != nil {
				return "", err
			}
			return strconv.FormatInt(int64(<-took), 10), nil
		}
		for {
			began := time.Now()
			if n := runtime.Stack(buf, true); n < len(buf) {
				return strconv.FormatInt(int64(time.Since(began)), 10), nil
			}
			buf = make([]byte, max(1<<20, 2*len(buf)))
		}
	}
}

// work lets two tasks yield to each other, and sends how long they took.
func work(ctx context.Context, yields int, took chan<- time.Duration) error {
	began := time.Now()
	err := rondo.Group(ctx, func(g *rondo.Scope) error {
		for range 2 {
			g.Go(func(ctx context.Context) error {
				for range yields / 2 {
					if err := rondo.Yield(ctx); err != nil {
						return err
					}
				}
				return nil
			})
		}
		return nil
	})
	took <- time.Since(began)
	return err
}
