package watchdog

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

	"github.com/rondo-go/rondo/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// TestLateLooks: a step is reported though each look at it is late, as on one
// processor, which the step has. One late look alone reports nothing: perhaps the
// program was stopped.
func TestLateLooks(t *testing.T) {
	var log bytes.Buffer
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	step := Step{Count: 1, Task: "culprit"}
	w := Start(Config{Limit: time.Hour, Look: func() Step { return step }, Member: func(uint64) bool { return true }})
	defer w.Stop()
	look := func() {
		w.last, w.since = w.last.Add(-24*time.Hour), w.since.Add(-24*time.Hour)
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
	for range 10 {
		look()
	}
	if n := bytes.Count(log.Bytes(), []byte("culprit")); n != 1 {
		t.Errorf("after ten late looks there are %d reports\n%s", n, &log)
	}
}
