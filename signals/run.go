package signals

import (
	"context"
	"os"
	"time"

	"github.com/rondo-go/rondo"
)

// Run calls body and waits for it and for the tasks of the scope, until the first of the
// signals comes: then the ctx of body is cancelled, with the signal's Error as the cause,
// and the tasks of the scope may go on for as long as grace. After that they are cancelled
// too. It is Serve for a program without a listener, such as a worker, a consumer of a
// queue or a job that runs every hour: body takes what comes in, and the tasks do the work
// that is not to be cut off.
//
//	return signals.Run(ctx, 10*time.Second, func(ctx context.Context, tasks *rondo.Scope) error {
//		for {
//			job, err := jobs.Next(ctx) // ends with the signal
//			if err != nil {
//				return err
//			}
//			tasks.Go(func(ctx context.Context) error { return do(ctx, job) }) // has the grace
//		}
//	})
//
// What body itself waits for with tasks as the ctx, such as do(tasks, job), has the grace
// as well. A wait without a ctx, such as the Read of a connection, belongs to body.
//
// An end by a signal was asked for, so Run returns nil then, and the program can end with
// status 0. After the first signal, the signals have their default effect, so that a
// second one ends the program at once. Without a signal Run is a Group: it returns when
// body and the tasks have ended, and the first of them to fail cancels the others. An
// error that says more than that there was a cancellation is always returned.
//
// If no signals are given, they are SIGINT, which is Ctrl-C, and SIGTERM. If ctx is
// cancelled, nothing gets any grace, and Run returns the cause. A grace of 0 or less
// cancels body and tasks together. Run suspends the task. It panics if body is nil,
// or if a signal is nil or cannot be caught.
func Run(ctx context.Context, grace time.Duration, body func(ctx context.Context, tasks *rondo.Scope) error, sigs ...os.Signal) error {
	if body == nil {
		panic("rondo: signals.Run with a nil body")
	}
	check("Run", sigs)
	var f first
	defer f.release()
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		asked := rondo.Event{Name: "signal"}
		var why error
		var main *rondo.Task
		f.catch(g, func(err error) {
			why = err
			asked.Set()
			if main != nil {
				main.Cancel(why)
			}
		}, sigs)
		work := g.Go(func(ctx context.Context) error {
			return rondo.Group(ctx, func(tasks *rondo.Scope) error {
				main = tasks.Go(func(ctx context.Context) error { return body(ctx, tasks) })
				main.SetName("body")
				if why != nil {
					main.Cancel(why)
				}
				return nil
			})
		})
		work.SetName("tasks")
		if i, err := rondo.Select(g, asked.WaitCase(), work.WaitCase()); i != 0 {
			return err
		}
		err := rondo.Timeout(g, grace, work.Wait)
		if rondo.TimedOut(g, err) {
			work.Cancel(nil) // what it fails with besides is an error of g
			return nil
		}
		return err
	})
}
