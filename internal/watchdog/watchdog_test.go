package watchdog

import (
	"bytes"
	"context"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-go/rondo/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// TestLateLooks: a step is reported though each look at it is late, as on one
// processor, which the step has. One late look alone reports nothing: perhaps the
// program was stopped. Nor does a sleep that is longer than the limit.
func TestLateLooks(t *testing.T) {
	var log bytes.Buffer
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	step := Step{Count: 1, Task: "culprit"}
	w := Start(Config{Limit: time.Hour, Look: func() Step { return step }, Member: func(uint64) bool { return true }})
	defer w.Stop()
	look := func() {
		w.last, w.next, w.since = w.last.Add(-24*time.Hour), w.next.Add(-24*time.Hour), w.since.Add(-24*time.Hour)
		w.look()
	}
	for range 100 { // each is another step
		step.Count++
		look()
		look()
	}
	if log.Len() > 0 {
		t.Errorf("after one late look it logged\n%s", &log)
	}
	step.Asleep, step.Age = true, 2*time.Hour // and each look is a day late
	if look(); log.Len() > 0 {
		t.Errorf("a sleep was reported\n%s", &log)
	}
	step.Asleep, step.Age = false, 0
	for range 10 {
		look()
	}
	if n := bytes.Count(log.Bytes(), []byte("culprit")); n != 1 {
		t.Errorf("after ten late looks there are %d reports\n%s", n, &log)
	}
}

// TestStepEndsBeforeItsStack: a report of a step that ends while the stacks are read has none,
// because it may be that of what the loop does by then.
func TestStepEndsBeforeItsStack(t *testing.T) {
	for _, then := range []Step{{Count: 2}, {Count: 1, Asleep: true}} {
		var log bytes.Buffer
		before := slog.Default()
		slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
		step := Step{Count: 1, Task: "culprit"}
		w := Start(Config{Limit: time.Hour, Look: func() Step { return step }, Member: func(uint64) bool { step = then; return true }})
		w.look()
		w.since = w.since.Add(-time.Hour)
		w.look()
		w.Stop()
		slog.SetDefault(before)
		if text := log.String(); !strings.Contains(text, "task=culprit") || !strings.Contains(text, "is not known") || strings.Contains(text, "stack=") {
			t.Errorf("then %+v: logged %q", then, text)
		}
	}
}

// A reporter is a slog.Handler that notes when a step was reported, and for how long it says
// that the step has run.
type reporter struct {
	slog.Handler
	at   []time.Time
	runs []time.Duration
}

func (r *reporter) Handle(_ context.Context, record slog.Record) error {
	r.at = append(r.at, time.Now())
	record.Attrs(func(a slog.Attr) bool {
		if a.Key == "for" {
			r.runs = append(r.runs, a.Value.Duration())
		}
		return true
	})
	return nil
}

// TestWhenItReports runs steps of all lengths under a simulated clock. One that takes the limit
// is reported once, at 1.0 to 1.25 times the limit, and the report says how long it has run; none
// that is shorter is. If the loop has read its clock when the step began, the report comes at
// the limit exactly.
func TestWhenItReports(t *testing.T) {
	defer slog.SetDefault(slog.Default())
	const limit = 100 * time.Millisecond
	rnd := rand.New(rand.NewPCG(1, 2))
	synctest.Test(t, func(t *testing.T) {
		seen := &reporter{Handler: slog.Default().Handler()}
		slog.SetDefault(slog.New(seen))
		var mu sync.Mutex
		var step Step
		var began time.Time
		var known bool
		w := Start(Config{Limit: limit, Member: func(uint64) bool { return true }, Look: func() Step {
			mu.Lock()
			defer mu.Unlock()
			if step.Age = 0; known && !step.Asleep {
				step.Age = time.Since(began)
			}
			return step
		}})
		defer w.Stop()
		run := func(d time.Duration, asleep, read bool) {
			mu.Lock()
			step = Step{Count: step.Count + 1, Asleep: asleep, Goroutine: 1}
			began, known = time.Now(), read
			seen.at, seen.runs = nil, nil
			mu.Unlock()
			<-time.After(d) // of the simulated clock
		}
		for i := range 3000 {
			d, read := time.Duration(rnd.Int64N(int64(2*limit))), i%2 == 0
			switch i % 5 {
			case 0:
				d = limit + time.Duration(rnd.Int64N(int64(limit/10)))
			case 1:
				run(d, true, read) // the loop sleeps: nothing is reported, however long that takes
				synctest.Wait()
				if len(seen.at) > 0 {
					t.Fatalf("a sleep of %v was reported", d)
				}
			}
			run(d, false, read)
			synctest.Wait() // a report of this very moment has come
			least := limit  // what is reported for certain is longer
			if !read {
				least = limit + limit/20
			}
			switch {
			case len(seen.at) > 1 || len(seen.at) == 1 && d < limit || len(seen.at) == 0 && d > least:
				t.Fatalf("step %d of %v, its begin was known: %v: %d reports", i, d, read, len(seen.at))
			case len(seen.at) == 0:
				continue
			}
			after, says := seen.at[0].Sub(began), seen.runs[0]
			if after < limit || after > limit*5/4 || read && after != limit || says > after || after-says > limit/20 {
				t.Fatalf("step %d of %v, its begin was known: %v: reported after %v, and the report says %v", i, d, read, after, says)
			}
		}
	})
}
