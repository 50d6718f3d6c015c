package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/examples/internal/program"
	"github.com/rondo-go/rondo/sim"
)

func TestMain(m *testing.M) { program.Main(m, main) }

// TestPipeline hashes more files than the queues hold.
func TestPipeline(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for i := range 100 {
		path := filepath.Join(dir, fmt.Sprint(i%7), fmt.Sprint(i))
		text := []byte(strings.Repeat("x", i))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		want = append(want, fmt.Sprintf("%x  %s", sha256.Sum256(text), path))
	}
	output, errors, code := program.Start(t, dir).Wait()
	got := strings.Split(strings.TrimSuffix(output, "\n"), "\n")
	// The order of the walk is that of the names.
	slices.SortFunc(want, func(a, b string) int { return strings.Compare(a[66:], b[66:]) })
	if code != 0 || errors != "" || !slices.Equal(got, want) {
		t.Errorf("exit code %d, %d lines instead of %d\n%s%s", code, len(got), len(want), output, errors)
	}
}

// TestUnreadable has one stage fail, and all the others end for it.
func TestUnreadable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "nowhere")
	output, errors, code := program.Start(t, dir).Wait()
	if code != 1 || output != "" || !strings.Contains(errors, dir) {
		t.Errorf("exit code %d: %s%s", code, output, errors)
	}
}

// TestBackPressure has a slow printer hold up the walker, and the lines come in
// order whatever time each file takes.
func TestBackPressure(t *testing.T) {
	const n, jobs = 100, 4
	sim.Test(t, func(ctx context.Context) {
		walked, printed, ahead := 0, 0, 0
		err := pipeline(ctx, jobs, func(ctx context.Context, files *rondo.Queue[string]) error {
			for i := range n {
				if err := files.Put(ctx, fmt.Sprint(i)); err != nil {
					return err
				}
				walked++
				ahead = max(ahead, walked-printed)
			}
			return nil
		}, func(ctx context.Context, path string) (string, error) {
			return path, rondo.Sleep(ctx, time.Duration(sim.Rand(ctx).IntN(1000))*time.Millisecond)
		}, func(ctx context.Context, line string) error {
			if line != fmt.Sprint(printed) {
				t.Errorf("line %d is %s", printed, line)
			}
			err := rondo.Sleep(ctx, time.Second)
			printed++
			return err
		})
		if limit := 16 + jobs + 3; err != nil || printed != n || ahead > limit {
			t.Errorf("%v: %d printed, up to %d ahead, at most %d", err, printed, ahead, limit)
		}
	})
}
