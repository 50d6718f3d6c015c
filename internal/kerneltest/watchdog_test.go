package kerneltest_test

import (
	"context"
	"iter"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
)

// TestWatchdog: a step that blocks or computes for long is reported, with the
// task's name, the line and what to call instead.
func TestWatchdog(t *testing.T) {
	for _, c := range []struct {
		block func(ctx context.Context, until chan bool)
		want  []string
	}{
		{compute, []string{"task=culprit", "it is computing", "kerneltest_test.compute at "}},
		{receiveFromChannel, []string{"task=culprit", "rondo.Queue", "kerneltest_test.receiveFromChannel at "}},
		{sendToChannel, []string{"task=culprit", "rondo.Queue", "kerneltest_test.sendToChannel at "}},
		{selectFromChannels, []string{"task=culprit", "rondo.Queue", "kerneltest_test.selectFromChannels at "}},
		{lockMutex, []string{"task=culprit", "rondo.Mutex", "kerneltest_test.lockMutex at "}},
		{lockRWMutex, []string{"task=culprit", "blocked on a sync.RWMutex", "kerneltest_test.lockRWMutex at "}},
		{waitForGroup, []string{"task=culprit", "rondo.Group", "kerneltest_test.waitForGroup at "}},
		{waitForCond, []string{"task=culprit", "rondo.Cond", "kerneltest_test.waitForCond at "}},
		{blockInSleep, []string{"task=culprit", "rondo.Sleep", "kerneltest_test.blockInSleep at "}},
		{readFromPipe, []string{"task=culprit", "a blocking call", "kerneltest_test.readFromPipe at "}},
		{swallowCancel, []string{"task=culprit", "its scope is cancelled", "return the error of the wait", "kerneltest_test.swallowCancel.func1 at "}},
		{receiveInCoroutine, []string{"task=culprit", "rondo.Queue", "kerneltest_test.receiveInCoroutine.func1 at "}},
		{receiveInCallback, []string{`task="a callback"`, "start a task with Go", "kerneltest_test.receiveInCallback.func1 at "}},
		{waitInOnce, []string{"task=culprit", "it is in sync.Once.Do", "rondo.Mutex and a bool", "kerneltest_test.waitInOnce at "}},
	} {
		slowStep(t, rondo.Runner{SlowStep: 10 * time.Millisecond}, append(c.want, "watchdog_test.go:"), c.block)
	}
}

// TestHang: a hang is reported also if nothing was asked for, after a time that the
// Runner may set.
func TestHang(t *testing.T) {
	const want = "kerneltest_test.lockMutex at "
	log := slowStep(t, rondo.Runner{HangAfter: 10 * time.Millisecond}, []string{want}, lockMutex)
	if strings.Count(log, want) != 1 {
		t.Errorf("logged\n%s", log)
	}
}

// slowStep runs block in a task called culprit of a loop of r, until a line is logged that has
// all of want, and returns what is logged. It sends a value to until when any line has been
// logged. A machine that is busy holds up any step, and reports say so: of one that is not
// block's, or of one that has not come to where it blocks. Then block runs again.
func slowStep(t *testing.T, r rondo.Runner, want []string, block func(ctx context.Context, until chan bool)) string {
	t.Helper()
	log := &logged{seen: make(chan bool, 1)}
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(log, nil)))
	defer slog.SetDefault(before)
	found := false
	err := r.Run(t.Context(), func(ctx context.Context) error {
		rondo.Current(ctx).SetName("culprit")
		for tries := 0; tries < 20 && !found; tries++ {
			if err := rondo.Sleep(ctx, time.Millisecond); err != nil {
				return err
			}
			until, over := make(chan bool, 1), make(chan bool)
			go func() {
				select {
				case <-log.seen:
					until <- true
				case <-over:
				}
			}()
			block(ctx, until)
			close(over)
			found = slices.ContainsFunc(strings.Split(log.String(), "\n"), func(line string) bool {
				return !slices.ContainsFunc(want, func(w string) bool { return !strings.Contains(line, w) })
			})
		}
		return nil
	})
	if err != nil {
		t.Errorf("Run returned %v", err)
	}
	if !found {
		t.Errorf("no report has all of %q:\n%s", want, log)
	}
	return log.String()
}

func compute(_ context.Context, until chan bool) {
	for len(until) == 0 {
	}
}

func receiveFromChannel(_ context.Context, until chan bool) { <-until }

func sendToChannel(_ context.Context, until chan bool) {
	c := make(chan int)
	go func() { <-until; <-c }()
	c <- 1
}

func selectFromChannels(_ context.Context, until chan bool) {
	select {
	case <-until:
	case <-make(chan bool):
	}
}

// lockMutex locks a sync.Mutex that a suspended task holds.
func lockMutex(ctx context.Context, until chan bool) {
	var mu sync.Mutex
	rondo.Go(ctx, func(ctx context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		return rondo.Sleep(ctx, time.Hour)
	})
	_ = rondo.Yield(ctx)
	go func() { <-until; mu.Unlock() }()
	mu.Lock()
}

func lockRWMutex(_ context.Context, until chan bool) {
	var mu sync.RWMutex
	mu.Lock()
	go func() { <-until; mu.Unlock() }()
	mu.RLock()
}

func waitForGroup(_ context.Context, until chan bool) {
	var w sync.WaitGroup
	w.Go(func() { <-until })
	w.Wait()
}

func waitForCond(_ context.Context, until chan bool) {
	var mu sync.Mutex
	done, c := false, sync.NewCond(&mu)
	go func() { <-until; mu.Lock(); done = true; mu.Unlock(); c.Signal() }()
	mu.Lock()
	defer mu.Unlock()
	for !done {
		c.Wait()
	}
}

func blockInSleep(_ context.Context, until chan bool) {
	for len(until) == 0 {
		time.Sleep(30 * time.Millisecond)
	}
}

func readFromPipe(_ context.Context, until chan bool) {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	defer r.Close()
	go func() { <-until; w.Close() }()
	_, _ = r.Read(make([]byte, 1))
}

func receiveInCoroutine(_ context.Context, until chan bool) {
	next, stop := iter.Pull(func(yield func(int) bool) { <-until })
	defer stop()
	next()
}

// swallowCancel goes on after its scope was cancelled.
func swallowCancel(ctx context.Context, until chan bool) {
	_ = rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Cancel(nil)
		for len(until) == 0 {
			_ = rondo.Sleep(g, time.Millisecond)
		}
		return nil
	})
}

// waitInOnce calls Do while another task waits in the function of the Once.
func waitInOnce(ctx context.Context, until chan bool) {
	var once sync.Once
	block := make(chan bool)
	go func() { once.Do(func() { close(block); <-until }) }()
	_, _, _ = rondo.Receive(ctx, block) // what follows is a step of its own
	once.Do(func() {})
}

func receiveInCallback(ctx context.Context, until chan bool) {
	rondo.LoopOf(ctx).CallSoon(func() { <-until })
	_ = rondo.Yield(ctx)
}

// TestLookBesideSpawn: the watchdog looks while tasks start and end. The race
// detector finds no fault with it.
func TestLookBesideSpawn(t *testing.T) {
	before := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler)) // a busy machine may hold a step up
	defer slog.SetDefault(before)
	r := rondo.Runner{SlowStep: 4 * time.Millisecond}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		for range 2000 {
			err := rondo.Group(ctx, func(g *rondo.Scope) error {
				for range 10 {
					g.Go(func(ctx context.Context) error { return rondo.Yield(ctx) })
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
