package main

// The rows about growth: what a task, a switch, a wake-up and a timer cost beside 10 and beside
// 1,000,000 others. The parties are those of the other rows on one CPU.
//
// The law: an operation is done once for each of the tasks, so a round of a size visits all of
// their memory, and what counts is the cost for one task.

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/rondo-go/rondo"
)

// growing are the contests that are measured with each number of tasks in options.sizes. An
// operation is a batch.
var growing = []contest{
	{name: "growth-switch", what: "task switch", batches: true, mine: laps(turns), theirs: laps(goschedTurns), why: whyGrowing},
	{name: "growth-task", what: "start a task in a group, to its end", batches: true, mine: groupTasks, theirs: groupWaitGroup, why: whyCollector},
	{name: "growth-wait", what: "start, wait on one event, wake, end", batches: true, mine: eventMany, theirs: channelMany, why: whyGrowing},
	{
		name: "growth-timer", what: "a timer set and cancelled beside those of sleeping tasks", batches: true, mine: timerTasks, theirs: timerGoroutines,
		why: "A Timeout is a scope that can be cancelled, and so is a context.WithTimeout; tokio's timeout is only a timer.",
	},
}

func growthRows() (list []row) {
	for _, c := range growing {
		list = append(list, row{name: c.name, section: growth, why: c.why, run: c.grow})
	}
	return list
}

// grow measures the contest with each number of tasks.
func (c contest) grow(o options) (found []result, absent error) {
	for _, size := range o.sizes {
		o := o
		o.many, o.batches = size, max(o.batches, o.growth/size)
		if size >= 100_000 {
			o.rounds = min(o.rounds, 3) // a round of a million takes a minute
		}
		results, err := c.run(o)
		if absent = err; err != nil && !errors.As(err, new(*skipped)) {
			return found, err
		}
		for _, f := range results {
			f.What, f.Tasks = c.what+": "+thousands(size)+" tasks", size
			f.Own, f.Theirs = f.Own/float64(size), f.Theirs/float64(size)
			found = append(found, f)
		}
	}
	return found, absent
}

// laps makes an operation a turn of each task.
func laps(turns func(int, order) func(options) side) func(options) side {
	return func(o options) side {
		all := turns(o.many, started)(o)
		return func(c clock, n int) { all(c, n*o.many) }
	}
}

// later is when the i-th sleeper is due: hours from now, in no order.
func later(i int) time.Duration {
	return time.Hour + time.Duration(i)*7919*time.Millisecond%(4*time.Hour)
}

// timerTasks sets and cancels a timer for each of the sleeping tasks.
func timerTasks(o options) side {
	return func(c clock, n int) {
		inLoop(func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				asleep := 0
				for i := range o.many {
					g.Go(func(ctx context.Context) error {
						asleep++
						return rondo.Sleep(ctx, later(i))
					})
				}
				for asleep < o.many {
					if err := rondo.Yield(g); err != nil {
						return err
					}
				}
				err := warmed(c, n*o.many, func(n int) error {
					for i := range n {
						if err := rondo.Timeout(g, later(i), rondo.Yield); err != nil {
							return err
						}
					}
					return nil
				})
				g.Cancel(nil)
				return err
			})
		})
	}
}

// timerGoroutines is timerTasks with goroutines and contexts.
func timerGoroutines(o options) side {
	return func(c clock, n int) {
		var asleep, ended sync.WaitGroup
		stop := make(chan struct{})
		asleep.Add(o.many)
		for i := range o.many {
			ended.Go(func() {
				due := time.NewTimer(later(i))
				defer due.Stop()
				asleep.Done()
				select {
				case <-due.C:
				case <-stop:
				}
			})
		}
		asleep.Wait()
		infallible(c, n*o.many, func(n int) {
			for i := range n {
				_, cancel := context.WithTimeout(context.Background(), later(i))
				runtime.Gosched()
				cancel()
			}
		})
		close(stop)
		ended.Wait()
	}
}
