package main

// A million tasks that all sleep at once: the memory of the
// process while they sleep, and its CPU time to their end.

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-go/rondo"
)

func millionRow() row {
	return row{
		name: "million", section: oneCPU, run: million,
		why: "A task needs a stack of its own, of at least 2 KiB, and what iter.Pull and the runtime keep for a coroutine beside that. " + whyStacks,
	}
}

func million(o options) (found []result, err error) {
	processor, _, err := processors()
	if err != nil {
		return nil, err
	}
	pairs := []*pair{
		{name: "rondo", ours: true, costs: make(map[string][]float64)},
		{name: goroutines, label: goroutines, costs: make(map[string][]float64)},
	}
	program, absent := builtRust(o, tokioCrate, "tasks")
	if absent == nil {
		pairs = append(pairs, &pair{name: "tokio", label: tokioThread, costs: make(map[string][]float64)})
	} else if skip := new(skipped); !errors.As(absent, &skip) {
		return nil, absent
	}
	asleep := o.asleep
	// A round takes half a minute.
	err = inTurns(min(o.rounds, 5), pairs, func(p *pair) error {
		for {
			early, err := p.sleepers(o.million, asleep, processor, program)
			if err != nil || early == 0 {
				return err
			}
			// The first ones woke before the last one slept.
			asleep *= 2
		}
	})
	if err != nil {
		return nil, err
	}
	what := thousands(o.million) + " tasks asleep at once: "
	allowed := budgets{"": {goroutines: 1.25}}
	found = compared(result{What: what + "memory", Unit: "B"}, "memory", pairs, allowed)
	return append(found, compared(result{What: what + "CPU time to the end", Unit: "ns"}, "cpu", pairs, allowed)...), absent
}

// sleepers runs a process with so many tasks, and records what they cost, unless
// some woke early.
func (p *pair) sleepers(tasks int, long time.Duration, processor int, program string) (early int, err error) {
	var child *process
	if p.name == "tokio" {
		child, err = start(processor, program)
	} else {
		child, err = startSelf(processor, "million", p.name)
	}
	if err != nil {
		return 0, err
	}
	defer endWith(child, &err)
	reply, err := child.ask(fmt.Sprintf("million %d %d", tasks, long.Milliseconds()))
	if err != nil {
		return 0, err
	}
	if early, err = strconv.Atoi(reply); err != nil {
		return 0, err
	}
	bytes, err := child.memory()
	if err != nil {
		return 0, err
	}
	if _, err := child.line(); err != nil {
		return 0, err
	}
	spent, err := child.processorTime()
	if err != nil || early > 0 {
		return early, err
	}
	p.costs["memory"] = append(p.costs["memory"], bytes)
	p.costs["cpu"] = append(p.costs["cpu"], float64(spent))
	return 0, nil
}

// millionChild is the process in Go: it answers with how many tasks ended before all
// slept, and prints a further line when all have ended.
func millionChild(args []string) error {
	return answer(func(question string) (string, error) {
		var tasks, milliseconds int
		if _, err := fmt.Sscanf(question, "million %d %d", &tasks, &milliseconds); err != nil {
			return "", fmt.Errorf("%q: %w", question, err)
		}
		long := time.Duration(milliseconds) * time.Millisecond
		if args[0] == goroutines {
			manyGoroutines(tasks, long)
			return "ended", nil
		}
		return "ended", rondo.Run(context.Background(), func(ctx context.Context) error { return manyTasks(ctx, tasks, long) })
	})
}

func manyTasks(ctx context.Context, tasks int, long time.Duration) error {
	asleep, ended := 0, 0
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		for range tasks {
			g.Go(func(ctx context.Context) error {
				asleep++
				err := rondo.Sleep(ctx, long)
				ended++
				return err
			})
		}
		for asleep < tasks {
			if err := rondo.Yield(g); err != nil {
				return err
			}
		}
		fmt.Println(ended)
		return nil
	})
}

func manyGoroutines(tasks int, long time.Duration) {
	var asleep, ended atomic.Int64
	var all sync.WaitGroup
	for range tasks {
		all.Go(func() {
			asleep.Add(1)
			time.Sleep(long)
			ended.Add(1)
		})
	}
	for asleep.Load() < int64(tasks) {
		time.Sleep(time.Millisecond)
	}
	fmt.Println(ended.Load())
	all.Wait()
}
