package report

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

type panicking struct{ slog.Handler }

func (panicking) Handle(context.Context, slog.Record) error { panic("hostile") }

// TestHandlerPanics: what a handler that panics has not written is on standard error.
func TestHandlerPanics(t *testing.T) {
	name := filepath.Join(t.TempDir(), "stderr")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	defer slog.SetDefault(slog.Default())
	defer func(real *os.File) { os.Stderr = real }(os.Stderr)
	slog.SetDefault(slog.New(panicking{slog.Default().Handler()}))
	os.Stderr = f
	Log(slog.LevelWarn, "rondo: a report", "loop", "loop-1")
	if text, err := os.ReadFile(name); err != nil || !strings.Contains(string(text), "rondo: a report loop loop-1\n") || !strings.Contains(string(text), "hostile") {
		t.Errorf("on standard error is %q, %v", text, err)
	}
}

// TestArgs leaves out what is empty, and nothing else.
func TestArgs(t *testing.T) {
	err := errors.New("")
	got := Args("loop", "loop-1", "task", "", "n", 0, "err", err, "started", "")
	if want := []any{"loop", "loop-1", "n", 0, "err", err}; !slices.Equal(got, want) {
		t.Errorf("the arguments are %v, want %v", got, want)
	}
}
