package main

// The tasks that there are, and the one that runs. Each loop has its own
// list, which its own tasks change without a lock; to see all of them,
// ask each loop.

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rondo-go/rondo"
)

// current asks for the running task in various places.
func current(ctx context.Context, w io.Writer) error {
	name := func(ctx context.Context) string {
		if t := rondo.Current(ctx); t != nil {
			return t.Name()
		}
		return "none"
	}
	rondo.Current(ctx).SetName("main")
	fmt.Fprintln(w, "in main:", name(ctx))
	task := rondo.Go(ctx, func(ctx context.Context) error {
		rondo.Current(ctx).SetName("child")
		fmt.Fprintln(w, "in a child:", name(ctx))
		err := rondo.Sleep(ctx, time.Second)
		fmt.Fprintln(w, "in a child that has slept:", name(ctx))
		return err
	})
	called := rondo.NewFuture[string](ctx)
	rondo.LoopOf(ctx).CallSoon(func() { called.Set(name(ctx)) })
	in, err := called.Wait(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "in a callback:", in)
	if in, err = rondo.Offload(ctx, func(ctx context.Context) (string, error) { return name(ctx), nil }); err != nil {
		return err
	}
	fmt.Fprintln(w, "on another goroutine:", in)
	fmt.Fprintln(w, "with a ctx of no loop:", name(context.Background()))
	err = task.Wait(ctx)
	fmt.Fprintln(w, "in main, at the end:", name(ctx))
	return err
}

// list prints the tasks of a loop as a table, and as a tree of who started whom,
// while they wait for this and that.
func list(ctx context.Context, w io.Writer) error {
	var lock rondo.Mutex
	jobs := rondo.NewQueue[int](0)
	named := func(name string, wait func(ctx context.Context) error) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			rondo.Current(ctx).SetName(name)
			return wait(ctx)
		}
	}
	rondo.Current(ctx).SetName("main")
	err := rondo.Group(ctx, func(g *rondo.Scope) error {
		if err := lock.Lock(g); err != nil {
			return err
		}
		defer lock.Unlock()
		g.Go(named("sleeper", func(ctx context.Context) error { return rondo.Sleep(ctx, time.Hour) }))
		g.Go(named("parent", func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				g.Go(named("consumer", func(ctx context.Context) error {
					_, err := jobs.Get(ctx)
					return err
				}))
				g.Go(named("locker", lock.Lock))
				return nil
			})
		}))
		if err := rondo.Sleep(g, time.Second); err != nil {
			return err
		}
		tasks := rondo.Tasks(g)
		for _, t := range tasks {
			fmt.Fprintln(w, strings.TrimSpace(fmt.Sprintf("%-8s %-7s %s", t.Name, t.State, t.Waiting)))
		}
		tree(w, tasks, 0, "")
		g.Cancel(nil)
		return nil
	})
	for _, t := range rondo.Tasks(ctx) {
		fmt.Fprintln(w, "left:", t.Name)
	}
	return err
}

// tree prints the tasks that parent has started, and what those have.
func tree(w io.Writer, tasks []rondo.TaskInfo, parent uint64, indent string) {
	for _, t := range tasks {
		if t.Parent == parent {
			fmt.Fprintln(w, indent+t.Name)
			tree(w, tasks, t.ID, indent+"  ")
		}
	}
}

// count has tasks start and end, and looks how many the loop knows. That a task
// is still referred to does not keep it in the list.
func count(ctx context.Context, w io.Writer) error {
	var started []*rondo.Task
	for i := range 100 {
		started = append(started, rondo.Go(ctx, func(ctx context.Context) error {
			return rondo.Sleep(ctx, time.Duration(1+i%2)*time.Second)
		}))
	}
	for _, after := range []time.Duration{0, 1500 * time.Millisecond, time.Second} {
		if err := rondo.Sleep(ctx, after); err != nil {
			return err
		}
		ended := 0
		for _, t := range started {
			if t.Done() {
				ended++
			}
		}
		fmt.Fprintf(w, "%d have ended, and the loop knows %d besides main\n", ended, len(rondo.Tasks(ctx))-1)
	}
	return nil
}
