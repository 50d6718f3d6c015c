package shard_test

import (
	"context"
	"os"
	"os/signal"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/shard"
)

// TestMain holds the law that nothing is left behind: no goroutine and no file
// descriptor. The goroutine that os/signal starts at its first use and keeps is not of the tests.
func TestMain(m *testing.M) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt)
	signal.Stop(c)
	leak.Main(m)
}

// run runs main on n shards; one that hangs panics.
func run(t testing.TB, n int, main func(ctx context.Context, s *shard.Shard) error) error {
	t.Helper()
	watchdog := time.AfterFunc(time.Minute, func() { panic(t.Name() + " hangs") })
	defer watchdog.Stop()
	r := shard.Runner{Loops: n, Loop: rondo.Runner{OnError: func(task rondo.TaskInfo, err error) { t.Errorf("%s: %v", task.Name, err) }}}
	return r.Run(t.Context(), main)
}

// mustRun is run without an error.
func mustRun(t testing.TB, n int, main func(ctx context.Context, s *shard.Shard) error) {
	t.Helper()
	if err := run(t, n, main); err != nil {
		t.Errorf("Run: %v", err)
	}
}

// onFirst runs main on the first of n shards only.
func onFirst(t testing.TB, n int, main func(ctx context.Context, s *shard.Shard) error) {
	t.Helper()
	mustRun(t, n, func(ctx context.Context, s *shard.Shard) error {
		if s.Index() != 0 {
			return nil
		}
		return main(ctx, s)
	})
}
