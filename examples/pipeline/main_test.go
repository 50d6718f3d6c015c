package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/examples/internal/program"
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
	slices.Sort(got)
	slices.Sort(want)
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
