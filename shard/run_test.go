package shard_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/poll"
	"github.com/rondo-go/rondo/shard"
	"github.com/rondo-go/rondo/socket"
)

// TestShards: each shard is a loop of its own with its number and its name, and all
// have begun before any main runs.
func TestShards(t *testing.T) {
	var mu sync.Mutex
	loops := make(map[string]int)
	mustRun(t, 3, func(ctx context.Context, s *shard.Shard) error {
		if shard.Of(ctx) != s || s.At(s.Index()) != s || s.Len() != 3 || s.Loop() != rondo.LoopOf(ctx) {
			t.Errorf("shard %d of %d: Of, At or Loop is wrong", s.Index(), s.Len())
		}
		for i := range s.Len() {
			name, err := shard.Call(ctx, s.At(i), func(ctx context.Context) (string, error) { return rondo.LoopOf(ctx).Name(), nil })
			if want := fmt.Sprintf("shard-%d", i); name != want || s.At(i).Name() != want || err != nil {
				t.Errorf("shard %d is called %q and runs on %q: %v", i, s.At(i).Name(), name, err)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		loops[rondo.LoopOf(ctx).Name()]++
		return nil
	})
	if len(loops) != 3 {
		t.Errorf("main ran on %v", loops)
	}
	r := shard.Runner{Loop: rondo.Runner{Name: "room"}}
	n := 0
	err := r.Run(t.Context(), func(ctx context.Context, s *shard.Shard) error {
		mu.Lock()
		defer mu.Unlock()
		n++
		if s.Name() != fmt.Sprint("room-", s.Index()) {
			t.Errorf("the name is %q", s.Name())
		}
		return nil
	})
	if n != runtime.GOMAXPROCS(0) || err != nil {
		t.Errorf("%d shards by default: %v", n, err)
	}
	if shard.Of(t.Context()) != nil {
		t.Error("a ctx of no loop has a shard")
	}
}

// TestServesUntilAllMainsReturn: a shard whose main has returned serves calls, and its
// tasks run; they are cancelled when main has returned everywhere.
func TestServesUntilAllMainsReturn(t *testing.T) {
	var ended atomic.Int32
	mustRun(t, 2, func(ctx context.Context, s *shard.Shard) error {
		if s.Index() == 1 {
			rondo.Go(ctx, func(ctx context.Context) error {
				err := rondo.WaitCanceled(ctx)
				ended.Add(1)
				return err
			})
			return nil
		}
		for i := range 100 {
			got, err := shard.Call(ctx, s.At(1), func(ctx context.Context) (int, error) { return i, rondo.Yield(ctx) })
			if got != i || err != nil {
				return fmt.Errorf("call %d: %d, %v", i, got, err)
			}
		}
		if ended.Load() != 0 {
			t.Error("the task of shard 1 was cancelled while main runs on shard 0")
		}
		return nil
	})
	if ended.Load() != 1 {
		t.Error("the task of shard 1 did not end")
	}
}

var errBad = errors.New("bad")

// TestFirstError: it cancels all shards, is the cause, and comes out once; what another
// says beyond it is joined.
func TestFirstError(t *testing.T) {
	own := errors.New("rollback failed")
	var begun sync.WaitGroup
	begun.Add(3)
	err := run(t, 3, func(ctx context.Context, s *shard.Shard) error {
		begun.Done()
		switch s.Index() {
		case 0:
			begun.Wait() // where main has not begun when the cancellation comes, it never does
			return errBad
		case 1:
			cause := rondo.WaitCanceled(ctx)
			if cause != errBad {
				t.Errorf("the cause is %v", cause)
			}
			return &net.OpError{Op: "read", Err: cause} // as a connection has it
		}
		_ = rondo.WaitCanceled(ctx)
		return own
	})
	if !errors.Is(err, errBad) || !errors.Is(err, own) || strings.Count(err.Error(), "bad") != 1 {
		t.Errorf("Run: %v", err)
	}
	err = run(t, 2, func(ctx context.Context, s *shard.Shard) error {
		if s.Index() == 1 {
			return errBad
		}
		return nil // and waits for the others
	})
	if err != errBad {
		t.Errorf("Run: %v", err)
	}
}

// TestLoopFails: if a loop cannot begin, as when the process has no descriptors left, the others,
// which wait for it, end.
func TestLoopFails(t *testing.T) {
	var opened atomic.Int32
	ctx := driver.With(t.Context(), func() (driver.Driver, error) {
		if opened.Add(1) == 2 {
			return nil, errBad
		}
		return poll.Open()
	})
	watchdog := time.AfterFunc(time.Minute, func() { panic("TestLoopFails hangs") })
	defer watchdog.Stop()
	err := (&shard.Runner{Loops: 3}).Run(ctx, func(context.Context, *shard.Shard) error { t.Error("main ran"); return nil })
	if !errors.Is(err, errBad) {
		t.Errorf("Run: %v", err)
	}
}

// TestCancelled: cancelling Run's ctx cancels every shard with the cause.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	var begun sync.WaitGroup
	begun.Add(2)
	go func() { begun.Wait(); cancel(errBad) }()
	r := shard.Runner{Loops: 2}
	err := r.Run(ctx, func(ctx context.Context, _ *shard.Shard) error {
		begun.Done()
		return rondo.WaitCanceled(ctx)
	})
	if err != errBad {
		t.Errorf("Run: %v", err)
	}
	if err := shard.Run(ctx, func(context.Context, *shard.Shard) error { t.Error("main ran"); return nil }); err != errBad {
		t.Errorf("Run with a ctx that is cancelled: %v", err)
	}
}

// TestCancelledDoneInTime: if every main returns nil, so does Run, whichever shard notices the
// cancellation of Run's ctx first.
func TestCancelledDoneInTime(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	var begun sync.WaitGroup
	begun.Add(3)
	err := (&shard.Runner{Loops: 3}).Run(ctx, func(ctx context.Context, s *shard.Shard) error {
		begun.Done()
		if s.Index() == 0 {
			begun.Wait() // a main that has not begun when the cancellation comes never does
			cancel(errBad)
			_ = rondo.WaitCanceled(ctx)
			cleanup := func(ctx context.Context) error { return rondo.Sleep(ctx, 10*time.Millisecond) }
			return rondo.Shield(ctx, cleanup) // the other shards wait for this main, and notice
		}
		return nil
	})
	if err != nil {
		t.Errorf("Run: %v", err)
	}
}

// TestPanicOfMain: the panic of a main cancels the other shards.
func TestPanicOfMain(t *testing.T) {
	defer func() {
		if text := fmt.Sprint(recover()); !strings.Contains(text, "on purpose") {
			t.Errorf("it came out: %s", text)
		}
	}()
	_ = run(t, 2, func(ctx context.Context, s *shard.Shard) error {
		if s.Index() == 1 {
			panic("on purpose")
		}
		cause := rondo.WaitCanceled(ctx)
		if p, ok := cause.(*rondo.PanicError); !ok || p.Value != "on purpose" {
			t.Errorf("the cause on the other shard is %v", cause)
		}
		return cause
	})
}

// TestErrorsBesideAPanic: if Run panics or calls Goexit, what the shards return beyond their
// cancellation, and further panics, go to OnError, each once; a panic of OnError goes no further.
func TestErrorsBesideAPanic(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("on purpose") }, "Goexit": runtime.Goexit} {
		var reported sync.Map
		var begun sync.WaitGroup
		begun.Add(4)
		var text string
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			defer func() {
				if v := recover(); v != nil {
					text = fmt.Sprint(v)
				}
			}()
			r := shard.Runner{Loops: 5, Loop: rondo.Runner{OnError: func(task rondo.TaskInfo, err error) {
				if _, again := reported.LoadOrStore(task.Loop, true); again {
					t.Errorf("%s: %s is reported again: %v", name, task.Loop, err)
				}
				panic("OnError")
			}}}
			_ = r.Run(t.Context(), func(ctx context.Context, s *shard.Shard) error {
				if s.Index() == 0 {
					begun.Wait() // a main that has not begun when the cancellation comes never does
					end()
				}
				begun.Done()
				cause := rondo.WaitCanceled(ctx)
				switch s.Index() {
				case 1:
					return fmt.Errorf("clean-up: %w", cause)
				case 2:
					return cause
				case 3:
					panic("another")
				}
				return nil
			})
		}()
		<-ended
		if got := slices.Sorted(maps.Keys(keys(&reported))); name == "panic" && !slices.Equal(got, []string{"shard-1", "shard-3"}) || name == "Goexit" && !slices.Equal(got, []string{"shard-1"}) {
			t.Errorf("%s: the errors of %q are reported", name, got)
		}
		if want := map[string]string{"panic": "on purpose", "Goexit": "another"}[name]; !strings.Contains(text, want) {
			t.Errorf("%s: Run panicked with %q", name, text)
		}
	}
}

// keys returns a map with the keys of m.
func keys(m *sync.Map) map[string]bool {
	out := make(map[string]bool)
	for k := range m.Range {
		out[k.(string)] = true
	}
	return out
}

// TestPanic: the panic of a task leaves Run, also if all mains have something to wait
// for, and cancels the others with a cause that says so.
func TestPanic(t *testing.T) {
	var causes sync.Map
	var begun sync.WaitGroup
	begun.Add(2)
	var got any
	func() {
		defer func() { got = recover() }()
		_ = run(t, 3, func(ctx context.Context, s *shard.Shard) error {
			if s.Index() == 1 {
				rondo.Go(ctx, func(ctx context.Context) error {
					begun.Wait() // a main that has not begun when the cancellation comes never does
					panic("on purpose")
				})
				return nil
			}
			begun.Done()
			err := rondo.WaitCanceled(ctx)
			causes.Store(s.Index(), err)
			return err
		})
	}()
	p, ok := got.(*rondo.PanicError)
	if !ok || p.Value != "on purpose" {
		t.Fatalf("it came out: %v", got)
	}
	for _, i := range []int{0, 2} {
		cause, _ := causes.Load(i)
		if p, ok := cause.(*rondo.PanicError); !ok || p.Value != "on purpose" {
			t.Errorf("shard %d was cancelled with %v", i, cause)
		}
	}
}

// TestGoexit: Goexit in a task, as of testing.T.FailNow, ends Run's goroutine when all
// loops have ended.
func TestGoexit(t *testing.T) {
	var cancelled atomic.Bool
	done := make(chan bool)
	go func() {
		returned := false
		defer func() { done <- returned }()
		_ = run(t, 2, func(ctx context.Context, s *shard.Shard) error {
			if s.Index() == 1 {
				runtime.Goexit()
			}
			err := rondo.WaitCanceled(ctx)
			cancelled.Store(true)
			return err
		})
		returned = true
	}()
	if <-done || !cancelled.Load() {
		t.Errorf("Run returned, or shard 0 was not cancelled: %v", cancelled.Load())
	}
}

// TestNested: shards in a shard, or in a task, are refused by a sentence.
func TestNested(t *testing.T) {
	nested := func(ctx context.Context) error {
		return shard.Run(ctx, func(context.Context, *shard.Shard) error { t.Error("main ran"); return nil })
	}
	check := func(err error) {
		t.Helper()
		if err == nil || !strings.HasPrefix(err.Error(), "rondo: shard.Run inside a task: ") {
			t.Errorf("nested: %v", err)
		}
	}
	onFirst(t, 2, func(ctx context.Context, s *shard.Shard) error { check(nested(ctx)); return nil })
	if err := rondo.Run(t.Context(), func(ctx context.Context) error { check(nested(ctx)); return nil }); err != nil {
		t.Error(err)
	}
}

// TestMistakes: what Run refuses, by a panic with a sentence.
func TestMistakes(t *testing.T) {
	var none context.Context
	for want, call := range map[string]func(){
		"shard.Run with a nil function":  func() { _ = shard.Run(t.Context(), nil) },
		"shard.Run with a nil context":   func() { _ = shard.Run(none, nothing) },
		"shard.Runner.Loops is negative": func() { r := shard.Runner{Loops: -1}; _ = r.Run(t.Context(), nothing) },
		"shard.Call with a nil Shard":    func() { _, _ = shard.Call(t.Context(), nil, one) },
		"shard.Each with a nil function": func() { _, _ = shard.Each[int](t.Context(), nil) },
		"shard.NewChan with a size":      func() { shard.NewChan[int](-1) },
		"shard.Chan.TrySend of a zero":   func() { new(shard.Chan[int]).TrySend(1) },
		"shard.ServeListener with a nil Server": func() {
			_ = new(shard.ServeConfig).ServeListener(t.Context(), new(socket.Listener), nil)
		},
		"shard.Serve with a nil Server":                     func() { _ = shard.Serve(t.Context(), "tcp", "127.0.0.1:0", nil) },
		"shard.Shard.Index of nil, which shard.Of returns":  func() { shard.Of(context.Background()).Index() },
		"shard.Shard.Len of nil, which shard.Of returns":    func() { shard.Of(context.Background()).Len() },
		"shard.Shard.At of nil, which shard.Of returns":     func() { shard.Of(context.Background()).At(0) },
		"shard.Shard.Name of nil, which shard.Of returns":   func() { _ = shard.Of(context.Background()).Name() },
		"shard.Shard.Loop of nil, which shard.Of returns":   func() { shard.Of(context.Background()).Loop() },
		"shard.Shard.String of nil, which shard.Of returns": func() { _ = shard.Of(context.Background()).String() },
		"shard.Shard.At(2): there are 2": func() {
			var mistake any
			onFirst(t, 2, func(_ context.Context, s *shard.Shard) error {
				defer func() { mistake = recover() }()
				s.At(2)
				return nil
			})
			panic(mistake)
		},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "rondo: "+want) {
					t.Errorf("%q, want %q", got, want)
				}
			}()
			call()
		}()
	}
}

func nothing(context.Context, *shard.Shard) error { return nil }

func one(context.Context) (int, error) { return 1, nil }

// TestGoexitCause: the cause on the other shards says that a task has called Goexit, and
// nothing of a Call.
func TestGoexitCause(t *testing.T) {
	var cause error
	done := make(chan bool)
	go func() {
		defer close(done)
		_ = (&shard.Runner{Loops: 2}).Run(t.Context(), func(ctx context.Context, s *shard.Shard) error {
			if s.Index() == 0 {
				runtime.Goexit()
			}
			_ = rondo.WaitCanceled(ctx)
			if s.Index() == 1 {
				cause = context.Cause(ctx)
			}
			return nil
		})
	}()
	<-done
	if cause == nil || !strings.Contains(cause.Error(), "shard.Run: a task called runtime.Goexit") {
		t.Errorf("the cause is %v", cause)
	}
}
