package kerneltest_test

import (
	"context"
	"errors"
	"regexp"
	"runtime"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
)

// blockedOutside matches the stack of a goroutine that waits for something of a loop.
var blockedOutside = regexp.MustCompile(`\[select.*\]:\n.*waitOutside`)

// startsToWaitFor are the ways to start a function whose error can be waited for.
var startsToWaitFor = map[string]func(ctx context.Context, fn func(ctx context.Context) error) (wait func(ctx context.Context) error){
	"Task": func(ctx context.Context, fn func(ctx context.Context) error) func(ctx context.Context) error {
		return rondo.Go(ctx, fn).Wait
	},
	"Future": func(ctx context.Context, fn func(ctx context.Context) error) func(ctx context.Context) error {
		f := rondo.Async(ctx, func(ctx context.Context) (int, error) { return 0, fn(ctx) })
		return func(ctx context.Context) error { _, err := f.Wait(ctx); return err }
	},
}

// TestErrorOfWaitFromOutside: an error in the root scope for which a goroutine waits goes
// to that goroutine and not to OnError, also if the loop ends at once. If the goroutine
// has given up, the error goes to OnError.
func TestErrorOfWaitFromOutside(t *testing.T) {
	for name, start := range startsToWaitFor {
		for _, givesUp := range []bool{false, true} {
			var reported error
			r := rondo.Runner{OnError: func(_ rondo.TaskInfo, err error) { reported = err }}
			waited := make(chan error, 1)
			outside, giveUp := context.WithCancelCause(context.Background())
			err := r.Run(t.Context(), func(ctx context.Context) error {
				var fails rondo.Event
				wait := start(ctx, func(ctx context.Context) error {
					_ = fails.Wait(ctx)
					return errBroken
				})
				go func() { waited <- wait(outside) }()
				for !blockedOutside.MatchString(leak.Stacks()) {
					if err := rondo.Sleep(ctx, time.Millisecond); err != nil {
						return err
					}
				}
				if givesUp {
					giveUp(errStop)
					err := <-waited
					waited <- err
				}
				if err := rondo.Sleep(ctx, time.Millisecond); err != nil {
					return err
				}
				fails.Set()
				return rondo.Yield(ctx)
			})
			giver, want := errBroken, error(nil)
			if givesUp {
				giver, want = errStop, errBroken
			}
			got := <-waited
			giveUp(nil)
			if err != nil || got != giver || reported != want {
				t.Errorf("%s, given up: %t: Run returned %v, the wait %v; OnError got %v", name, givesUp, err, got, reported)
			}
		}
	}
}

// TestErrorOfWaitThatIsCancelled: if a wait from outside is cancelled at the moment at which the
// error comes, either the wait returns the error, or OnError gets it.
func TestErrorOfWaitThatIsCancelled(t *testing.T) {
	for name, start := range startsToWaitFor {
		for who, c := range waitsThatAreCancelled {
			var reported error
			r := rondo.Runner{OnError: func(_ rondo.TaskInfo, err error) { reported = err }}
			var waited error
			err := r.Run(t.Context(), func(ctx context.Context) error {
				var begin rondo.Event
				begun, gaveUp, failed := make(chan struct{}), make(chan struct{}), make(chan struct{})
				wait := start(ctx, func(ctx context.Context) error {
					_ = begin.Wait(ctx)
					close(begun)
					if !c.answered {
						<-gaveUp // in a step of the loop, which cannot know yet that the wait is over
					}
					rondo.LoopOf(ctx).CallSoon(func() { close(failed) })
					return errBroken
				})
				l := rondo.LoopOf(ctx)
				_, err := rondo.Offload(ctx, func(context.Context) (int, error) {
					waited = c.wait(wait, func() { _ = l.Post(begin.Set); <-begun }, gaveUp, failed)
					return 0, nil
				})
				return err
			})
			if want := map[bool]error{true: errBroken, false: errStop}[c.answered]; err != nil || waited != want || (reported == errBroken) == c.answered {
				t.Errorf("%s, %s: Run returned %v, the wait %v; OnError got %v", name, who, err, waited, reported)
			}
		}
	}
}

// waitsThatAreCancelled are waits that are given up before the error comes, or when the answer is
// under way already. begin has the task that fails begin its last step, in which it waits for
// gaveUp unless answered is true. failed is closed when it has failed.
var waitsThatAreCancelled = map[string]struct {
	answered bool
	wait     func(wait func(ctx context.Context) error, begin func(), gaveUp, failed chan struct{}) error
}{
	"a goroutine gives up": {false, func(wait func(ctx context.Context) error, begin func(), gaveUp, _ chan struct{}) error {
		ctx, cancel := context.WithCancelCause(context.Background())
		waited := make(chan error)
		go func() { waited <- wait(ctx) }()
		for !blockedOutside.MatchString(leak.Stacks()) {
			runtime.Gosched()
		}
		begin()
		cancel(errStop)
		err := <-waited
		close(gaveUp)
		return err
	}},
	"another loop gives up": {false, func(wait func(ctx context.Context) error, begin func(), gaveUp, _ chan struct{}) error {
		return onAnotherLoop(wait, func(waiter *rondo.Task) {
			begin()
			waiter.Cancel(errStop)
			waiter.OnDone(func() { close(gaveUp) })
		})
	}},
	"another loop has the answer": {true, func(wait func(ctx context.Context) error, begin func(), _, failed chan struct{}) error {
		return onAnotherLoop(wait, func(waiter *rondo.Task) {
			begin()
			<-failed // in a step of the loop, which takes the answer when the step is over
			waiter.Cancel(errStop)
		})
	}},
}

// onAnotherLoop has a task of a loop of its own wait, calls then in a step of another task, and
// returns the result of the wait.
func onAnotherLoop(wait func(ctx context.Context) error, then func(waiter *rondo.Task)) error {
	return rondo.Run(context.Background(), func(ctx context.Context) error {
		waiter := rondo.Go(ctx, wait)
		for waiter.Info().State != "waiting" {
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
		}
		then(waiter)
		return waiter.Wait(ctx)
	})
}

// TestErrorOfSelectThatIsOver: OnError gets the error of a task that fails when a Select on another
// loop has taken another case, also if the task's loop cannot know that yet.
func TestErrorOfSelectThatIsOver(t *testing.T) {
	var reported error
	r := rondo.Runner{OnError: func(_ rondo.TaskInfo, err error) { reported = err }}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		var begin, other rondo.Event
		begun, over := make(chan struct{}), make(chan struct{})
		task := rondo.Go(ctx, func(ctx context.Context) error {
			_ = begin.Wait(ctx)
			close(begun)
			<-over
			return errBroken
		})
		l := rondo.LoopOf(ctx)
		taken, err := rondo.Offload(ctx, func(context.Context) (taken int, err error) {
			err = onAnotherLoop(func(ctx context.Context) (err error) {
				defer close(over)
				taken, err = rondo.Select(ctx, task.WaitCase(), other.WaitCase())
				return err
			}, func(*rondo.Task) {
				_ = l.Post(begin.Set)
				<-begun
				other.Set()
			})
			return taken, err
		})
		if taken != 1 {
			t.Errorf("Select has taken case %d", taken)
		}
		return err
	})
	if err != nil || reported != errBroken {
		t.Errorf("Run returned %v, OnError got %v", err, reported)
	}
}

// TestErrorOfFutureThatIsReadyToo: a goroutine whose ctx is cancelled and whose Future has a result
// by the time that it looks gets the result, because OnError does not get its error.
func TestErrorOfFutureThatIsReadyToo(t *testing.T) {
	for range 20 {
		r := rondo.Runner{OnError: func(_ rondo.TaskInfo, err error) { t.Errorf("OnError got %v", err) }}
		err := r.Run(t.Context(), func(ctx context.Context) error {
			var begin rondo.Event
			failed := make(chan struct{})
			l := rondo.LoopOf(ctx)
			f := rondo.Async(ctx, func(ctx context.Context) (int, error) {
				_ = begin.Wait(ctx)
				l.CallSoon(func() { close(failed) })
				return 0, errBroken
			})
			_, err := rondo.Offload(ctx, func(context.Context) (int, error) {
				return f.Wait(cancelledByDone{context.Background(), func() { _ = l.Post(begin.Set); <-failed }})
			})
			return err
		})
		if err != errBroken {
			t.Fatalf("Wait returned %v", err)
		}
	}
}

// cancelledByDone is a context that is cancelled when it is asked for Done, after a call of its
// function.
type cancelledByDone struct {
	context.Context
	before func()
}

func (c cancelledByDone) Done() <-chan struct{} {
	c.before()
	done := make(chan struct{})
	close(done)
	return done
}

func (cancelledByDone) Err() error { return errStop }

// TestErrorOfSelectFromAnotherLoop: an error of a task that a Select on another loop has
// waited for goes to OnError if the Select has taken another case.
func TestErrorOfSelectFromAnotherLoop(t *testing.T) {
	for _, taken := range []bool{false, true} {
		var reported error
		r := rondo.Runner{OnError: func(_ rondo.TaskInfo, err error) { reported = err }}
		err := r.Run(t.Context(), func(ctx context.Context) error {
			var fails rondo.Event
			task := rondo.Go(ctx, func(ctx context.Context) error { _ = fails.Wait(ctx); return errBroken })
			_, err := rondo.Offload(ctx, func(context.Context) (int, error) {
				return 0, rondo.Run(context.Background(), func(there context.Context) error {
					d := time.Millisecond
					if taken {
						d = time.Hour
						_ = rondo.LoopOf(ctx).Post(fails.Set)
					}
					i, err := rondo.Select(there, task.WaitCase(), rondo.After(d))
					if taken && (i != 0 || err != errBroken) || !taken && i != 1 {
						return errors.New("the Select has taken the wrong case")
					}
					return nil
				})
			})
			fails.Set()
			return errors.Join(err, rondo.Yield(ctx))
		})
		if err != nil || (reported == nil) != taken {
			t.Errorf("taken: %t: Run returned %v, OnError got %v", taken, err, reported)
		}
	}
}

// TestErrorBehindAFutureThatWasSet: if others have set the Future of a task, and that was
// waited for, the error with which the task ends later goes to OnError all the same.
func TestErrorBehindAFutureThatWasSet(t *testing.T) {
	for name, set := range map[string]func(f *rondo.Future[int]){
		"Set":  func(f *rondo.Future[int]) { f.Set(1) },
		"Fail": func(f *rondo.Future[int]) { f.Fail(errStop) },
	} {
		var reported error
		r := rondo.Runner{OnError: func(_ rondo.TaskInfo, err error) { reported = err }}
		err := r.Run(t.Context(), func(ctx context.Context) error {
			var fails rondo.Event
			f := rondo.Async(ctx, func(ctx context.Context) (int, error) { _ = fails.Wait(ctx); return 0, errBroken })
			waiter := rondo.Go(ctx, func(ctx context.Context) error { _, _ = f.Wait(ctx); return nil })
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
			set(f)
			if err := waiter.Wait(ctx); err != nil {
				return err
			}
			fails.Set()
			return rondo.Yield(ctx)
		})
		if err != nil || reported != errBroken {
			t.Errorf("%s: Run returned %v, OnError got %v", name, err, reported)
		}
	}
}

// TestCaseOfAnotherLoopAgain: a case that waits for a task of another loop may be in several
// Selects. One that takes another case leaves the error to the others, and to a later one, also if
// it does so when the answer is under way.
func TestCaseOfAnotherLoopAgain(t *testing.T) {
	for _, underWay := range []bool{false, true} {
		run(t, func(ctx context.Context) error {
			var begin rondo.Event
			failed, release := make(chan struct{}), make(chan struct{})
			l := rondo.LoopOf(ctx)
			task := rondo.Go(ctx, func(ctx context.Context) error {
				_ = begin.Wait(ctx)
				l.CallSoon(func() { close(failed); <-release }) // until then nobody gets another answer
				return errBroken
			})
			fail := func() { _ = l.Post(begin.Set); <-failed }
			return rondo.OffloadFunc(ctx, func(context.Context) error {
				return rondo.Run(context.Background(), func(ctx context.Context) error {
					if err := selectAgain(ctx, task.WaitCase(), underWay, fail, func() { close(release) }); err != errBroken {
						t.Errorf("answer under way: %t: Select returned %v", underWay, err)
					}
					return nil
				})
			})
		})
	}
}

// selectAgain has a Select with the case end take another case, before fail is called or when the
// answer of fail is under way. It returns the result of another Select with end.
func selectAgain(ctx context.Context, end rondo.Case, underWay bool, fail, release func()) error {
	var other rondo.Event
	first := rondo.Go(ctx, selects(end, other.WaitCase()))
	second := first
	if !underWay {
		second = rondo.Go(ctx, selects(end))
	}
	if err := rondo.Yield(ctx); err != nil {
		return err
	}
	if underWay {
		fail()
		other.Set()
		second = rondo.Go(ctx, selects(end))
		soon := rondo.LoopOf(ctx).CallSoon
		_ = rondo.LoopOf(ctx).Post(func() { soon(func() { soon(release) }) }) // behind the answer
	} else {
		other.Set()
		first.OnDone(func() { fail(); release() })
	}
	if err := first.Wait(ctx); err != nil {
		return errors.Join(errStop, err)
	}
	return second.Wait(ctx)
}
