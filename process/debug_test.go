//go:build unix

package process_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/process"
)

// TestDebugIsQuiet: with Debug, a child that is waited for is not warned of.
func TestDebugIsQuiet(t *testing.T) {
	var said bytes.Buffer
	before := slog.Default()
	defer slog.SetDefault(before)
	slog.SetDefault(slog.New(slog.NewTextHandler(&said, nil)))
	r := rondo.Runner{Debug: true}
	if err := r.Run(t.Context(), func(ctx context.Context) error { return process.Command(ctx, "true").Run() }); err != nil {
		t.Error(err)
	}
	if strings.Contains(said.String(), "outer scope") {
		t.Errorf("it was said:\n%s", &said)
	}
}
