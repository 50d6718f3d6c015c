package rondo_test

import (
	"bytes"
	"context"
	"iter"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
)

// logged collects what slog says while fn runs.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
	seen chan bool // gets a value with the first line
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.seen <- true:
	default:
	}
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestWatchdog: a step that never ends, or takes long, is reported with the
// task's name, what it is blocked on, and the line; one report a step.
func TestWatchdog(t *testing.T) {
	for name, c := range map[string]struct {
		block func(ctx context.Context, until chan bool)
		want  []string
	}{
		"a sync.Mutex that a suspended task holds": {
			func(ctx context.Context, until chan bool) {
				var mu sync.Mutex
				rondo.Go(ctx, func(ctx context.Context) error {
					mu.Lock()
					defer mu.Unlock()
					return rondo.Sleep(ctx, time.Hour)
				})
				_ = rondo.Yield(ctx)
				go func() { <-until; mu.Unlock() }()
				lockStandardMutex(&mu)
			},
			[]string{"rondo.Mutex", "task=culprit", "at=\"github.com/rondo-go/rondo_test.lockStandardMutex at ", "watchdog_test.go:"},
		},
		"a channel": {
			func(ctx context.Context, until chan bool) { <-until },
			[]string{"rondo.Queue", "watchdog_test.go"},
		},
		"a computation": {
			func(ctx context.Context, until chan bool) {
				for len(until) == 0 {
				}
			},
			[]string{"it computes", "watchdog_test.go"},
		},
		"sending on a channel that nobody reads": {
			func(ctx context.Context, until chan bool) {
				c := make(chan int)
				go func() { <-until; <-c }()
				c <- 1
			},
			[]string{"rondo.Queue", "rondo_test.TestWatchdog.func", "watchdog_test.go"},
		},
		"select": {
			func(ctx context.Context, until chan bool) {
				select {
				case <-until:
				case <-make(chan bool):
				}
			},
			[]string{"rondo.Queue", "watchdog_test.go"},
		},
		"a sync.WaitGroup": {
			func(ctx context.Context, until chan bool) {
				var w sync.WaitGroup
				w.Go(func() { <-until })
				w.Wait()
			},
			[]string{"rondo.Group", "at=\"github.com/rondo-go/rondo_test.TestWatchdog.func"},
		},
		"a sync.Cond": {
			func(ctx context.Context, until chan bool) {
				var mu sync.Mutex
				done, c := false, sync.NewCond(&mu)
				go func() { <-until; mu.Lock(); done = true; mu.Unlock(); c.Signal() }()
				mu.Lock()
				defer mu.Unlock()
				for !done {
					c.Wait()
				}
			},
			[]string{"rondo.Cond", "at=\"github.com/rondo-go/rondo_test.TestWatchdog.func"},
		},
		"a sync.RWMutex": {
			func(ctx context.Context, until chan bool) {
				var mu sync.RWMutex
				mu.Lock()
				go func() { <-until; mu.Unlock() }()
				mu.RLock()
			},
			[]string{"blocked on a sync.RWMutex", "at=\"github.com/rondo-go/rondo_test.TestWatchdog.func"},
		},
		"time.Sleep": {
			func(ctx context.Context, until chan bool) { blockInSleep(until) },
			[]string{"rondo.Sleep", "blockInSleep at "},
		},
		"a pipe of package os": {
			func(ctx context.Context, until chan bool) {
				r, w, err := os.Pipe()
				if err != nil {
					panic(err)
				}
				defer r.Close()
				go func() { <-until; w.Close() }()
				_, _ = r.Read(make([]byte, 1))
			},
			[]string{"a call that blocks", "at=\"github.com/rondo-go/rondo_test.TestWatchdog.func"},
		},
		"a callback": {
			func(ctx context.Context, until chan bool) {
				rondo.LoopOf(ctx).CallSoon(func() { <-until })
				_ = rondo.Yield(ctx)
			},
			[]string{"task=\"a callback\"", "rondo.Queue", "at=\"github.com/rondo-go/rondo_test.TestWatchdog.func"},
		},
		"in a nested coroutine": {
			func(ctx context.Context, until chan bool) {
				next, stop := iter.Pull(func(yield func(int) bool) { receiveInCoroutine(until) })
				defer stop()
				next()
			},
			[]string{"rondo.Queue", "receiveInCoroutine"},
		},
	} {
		log := &logged{seen: make(chan bool, 1)}
		before := slog.Default()
		slog.SetDefault(slog.New(slog.NewTextHandler(log, nil)))
		until := make(chan bool, 1)
		go func() { <-log.seen; until <- true }()
		r := rondo.Runner{SlowStep: 10 * time.Millisecond}
		err := r.Run(t.Context(), func(ctx context.Context) error {
			if err := rondo.Sleep(ctx, time.Millisecond); err != nil {
				return err
			}
			rondo.Current(ctx).SetName("culprit")
			if err := rondo.Yield(ctx); err != nil {
				return err
			}
			c.block(ctx, until)
			return nil
		})
		slog.SetDefault(before)
		if err != nil {
			t.Errorf("%s: Run returned %v", name, err)
		}
		for _, want := range c.want {
			if !strings.Contains(log.String(), want) {
				t.Errorf("%s: the report lacks %q:\n%s", name, want, log)
			}
		}
	}
}

//go:noinline
func lockStandardMutex(mu *sync.Mutex) { mu.Lock() }

//go:noinline
func receiveInCoroutine(c chan bool) { <-c }

//go:noinline
func blockInSleep(until chan bool) {
	for len(until) == 0 {
		time.Sleep(30 * time.Millisecond)
	}
}
