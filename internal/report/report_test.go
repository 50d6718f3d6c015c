package report

import (
	"errors"
	"slices"
	"testing"
)

// TestArgs leaves out what is empty, and nothing else.
func TestArgs(t *testing.T) {
	err := errors.New("")
	got := Args("loop", "loop-1", "task", "", "n", 0, "err", err, "started", "")
	if want := []any{"loop", "loop-1", "n", 0, "err", err}; !slices.Equal(got, want) {
		t.Errorf("the arguments are %v, want %v", got, want)
	}
}
