package kerneltest_test

// A table of mistakes that are easily made, with Rondo's message for each: what is
// wrong, in which line of the program, and the cure. Those that hold the loop are
// in watchdog_test.go.

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
)

// A mistake is a program with one, and what its message has in it besides the line.
type mistake struct {
	program func(ctx context.Context) error
	says    []string
	debug   bool // it is seen with Debug only
}

// byGoroutine runs call on a goroutine that is not a task, while the loop stands
// still, and returns what call returns or panics with.
func byGoroutine(call func() error) (err error) {
	done := make(chan error)
	go func() {
		defer func() {
			if v := recover(); v != nil {
				done <- fmt.Errorf("panic: %v", v)
			}
		}()
		done <- call()
	}()
	return <-done
}

const useTheCtx = "this ctx belongs to no running loop; use the one that Run or Go hands down"

var mistakes = map[string]mistake{
	"Sleep with another ctx": {func(context.Context) error {
		return rondo.Sleep(context.Background(), 1)
	}, []string{"rondo: Sleep: " + useTheCtx}, false},
	"Go with another ctx": {func(context.Context) error {
		rondo.Go(context.Background(), nothing)
		return nil
	}, []string{"rondo: Go: " + useTheCtx}, false},
	"Now with another ctx": {func(context.Context) error {
		rondo.Now(context.Background())
		return nil
	}, []string{"rondo: Now: " + useTheCtx}, false},
	"a goroutine sleeps": {func(ctx context.Context) error {
		return byGoroutine(func() error { return rondo.Sleep(ctx, 1) })
	}, []string{"rondo: Sleep from a goroutine that is not a task of loop-", "use Post or Submit"}, false},
	"a goroutine starts a task": {func(ctx context.Context) error {
		return byGoroutine(func() error { rondo.Go(ctx, nothing); return nil })
	}, []string{"rondo: Go from a goroutine that is not a task of loop-", "use Post or Submit"}, false},
	"a goroutine puts": {func(ctx context.Context) error {
		return byGoroutine(func() error { return rondo.NewQueue[int](1).Put(ctx, 1) })
	}, []string{"rondo: Queue.Put from a goroutine that is not a task of loop-", "use Post or Submit"}, false},
	"an offloaded function waits": {func(ctx context.Context) error {
		_, err := rondo.Offload(ctx, func(inner context.Context) (int, error) { return 0, rondo.Sleep(inner, 1) })
		return err
	}, []string{"rondo: Sleep from a goroutine that is not a task of loop-", "use Post or Submit"}, false},
	"a goroutine wakes a task": {func(ctx context.Context) error {
		var e rondo.Event
		rondo.Go(ctx, e.Wait)
		_ = rondo.Yield(ctx)
		return byGoroutine(func() error { e.Set(); return nil })
	}, []string{"rondo: Event.Set from a goroutine that is not a task of loop-", "use Post or Submit"}, true},
	"a callback waits": {func(ctx context.Context) error {
		rondo.LoopOf(ctx).CallSoon(func() { _ = rondo.Sleep(ctx, 1) })
		return rondo.Yield(ctx)
	}, []string{"panic in a callback: ", "rondo: Sleep in a callback", "start a task with Go"}, false},
	"Unlock without Lock": {func(context.Context) error {
		new(rondo.Mutex).Unlock()
		return nil
	}, []string{"rondo: Unlock of unlocked Mutex", "once for each Lock that returned nil"}, false},
	"Cond without L": {func(ctx context.Context) error {
		return new(rondo.Cond).Wait(ctx)
	}, []string{"rondo: Cond.Wait without L", "set L to a Mutex"}, false},
	"Go after the end of a Group": {func(ctx context.Context) error {
		var kept *rondo.Scope
		_ = rondo.Group(ctx, func(g *rondo.Scope) error { kept = g; return nil })
		kept.Go(nothing)
		return nil
	}, []string{"rondo: Go in a scope that has ended", "before the Group"}, false},
	"a task waits for itself": {func(ctx context.Context) error {
		return rondo.Current(ctx).Wait(ctx)
	}, []string{"rondo: Task.Wait of the task itself", "wait in another task"}, false},
	"no function": {func(ctx context.Context) error {
		rondo.Go(ctx, nil)
		return nil
	}, []string{"rondo: Go with a nil function"}, false},
	"Every 0": {func(ctx context.Context) error {
		for range rondo.Every(ctx, 0) {
		}
		return nil
	}, []string{"rondo: Every with a duration that is not positive", "use one above 0"}, false},
	"a nil map": {func(ctx context.Context) error {
		return rondo.Go(ctx, func(context.Context) error {
			m := missing()
			m["x"] = 1
			return nil
		}).Wait(ctx)
	}, []string{"rondo: panic in task-2", "assignment to entry in nil map"}, false},
	"a nil Queue": {func(ctx context.Context) error {
		var q *rondo.Queue[int]
		return q.Put(ctx, 1)
	}, []string{"rondo: panic in main", "nil pointer"}, false},
	"Run in a task": {func(ctx context.Context) error {
		return rondo.Run(ctx, nothing)
	}, []string{"rondo: Run inside a task", "start a task with Go"}, false},
	"nobody puts": {func(ctx context.Context) error {
		_, err := rondo.NewQueue[int](0).Get(ctx)
		return err
	}, []string{"rondo: deadlock", "main waits for get at "}, false},
	"Lock twice": {func(ctx context.Context) error {
		var m rondo.Mutex
		_ = m.Lock(ctx)
		return m.Lock(ctx)
	}, []string{"rondo: deadlock", "main waits for lock held by the task itself: it is not re-entrant at "}, false},
	"a forgotten task": {func(ctx context.Context) error {
		rondo.Go(ctx, forever).SetName("forgotten")
		return nil
	}, []string{"task=forgotten", "alive when the main task ended"}, true},
	"the outer ctx in a Timeout": {func(ctx context.Context) error {
		return rondo.Timeout(ctx, time.Hour, func(context.Context) error { return rondo.Sleep(ctx, 1) })
	}, []string{"rondo: Sleep with the ctx of an outer scope", "use the ctx of the innermost function"}, true},
	"the outer ctx in a Shield": {func(ctx context.Context) error {
		return rondo.Shield(ctx, func(context.Context) error { return rondo.Sleep(ctx, 1) })
	}, []string{"rondo: Sleep with the ctx of an outer scope", "use the ctx of the innermost function"}, true},
	"the outer ctx in a task": {func(ctx context.Context) error {
		return rondo.Go(ctx, func(context.Context) error { return rondo.Sleep(ctx, 1) }).Wait(ctx)
	}, []string{"rondo: Sleep with the ctx of an outer scope", "use the ctx of the innermost function"}, true},
}

// TestMistakes: each message says what is wrong, what to do, and where: a line of the
// program, which a panic names before any line of Rondo's.
func TestMistakes(t *testing.T) {
	for name, m := range mistakes {
		for _, debug := range []bool{false, true} {
			if m.debug && !debug {
				continue
			}
			text := said(debug, m.program)
			for _, want := range append(m.says, "mistakes_test.go:") {
				if !strings.Contains(text, want) {
					t.Errorf("%s, Debug %v: the message lacks %q:\n%s", name, debug, want, text)
				}
			}
			if first, _, _ := strings.Cut(text, ".go:"); !strings.HasSuffix(first, "/mistakes_test") {
				t.Errorf("%s, Debug %v: the first line that is named is not the program's:\n%s", name, debug, text)
			}
		}
	}
}

// TestNoMistake: with Debug, the same waits with the right ctx, and those behind the
// ctx of context.WithoutCancel, are not warned of, and a wrong one once a place.
func TestNoMistake(t *testing.T) {
	wait := func(ctx context.Context) error { return rondo.Sleep(ctx, 1) }
	text := said(true, func(ctx context.Context) error {
		_ = rondo.Timeout(ctx, time.Hour, wait)
		_ = rondo.Shield(ctx, wait)
		_ = rondo.Group(ctx, func(g *rondo.Scope) error { g.Go(wait); return wait(g) })
		_ = rondo.Group(ctx, func(*rondo.Scope) error { return wait(context.WithoutCancel(ctx)) })
		return wait(ctx)
	})
	if text != "" {
		t.Errorf("said %s", text)
	}
	text = said(true, func(ctx context.Context) error {
		return rondo.Group(ctx, func(*rondo.Scope) error {
			for range 3 {
				_ = rondo.Sleep(ctx, 1)
			}
			return nil
		})
	})
	if strings.Count(text, "outer scope") != 1 {
		t.Errorf("said %s", text)
	}
}

// said runs a program, and returns what is logged and what Run ends with.
func said(debug bool, program func(ctx context.Context) error) string {
	log := &logged{}
	before := slog.Default()
	defer slog.SetDefault(before)
	slog.SetDefault(slog.New(slog.NewTextHandler(log, nil)))
	r := rondo.Runner{Debug: debug, EndDeadlock: time.Millisecond, SlowStep: time.Hour}
	end := ""
	func() {
		defer func() {
			if v := recover(); v != nil {
				end = fmt.Sprint(v)
			}
		}()
		if err := r.Run(context.Background(), program); err != nil {
			end = fmt.Sprintf("%+v", err)
		}
	}()
	_, _ = io.WriteString(log, end)
	return log.String()
}

// missing returns a map that cannot be written to.
func missing() map[string]int { return nil }
