package sim

import (
	"context"
	"os"
	"time"
)

// The processes in which tests hang on purpose need not do so for long. The others
// keep the long time: on a busy machine a loop that only goes on may stand for a second.
func init() {
	switch os.Getenv("RONDO_SIM_VICTIM") {
	case "":
		return
	case "hangs":
		hangAfter = time.Second
	}
	maxSteps = defaultMaxSteps / 500
}

// Ignored are the signals that do nothing by default.
var Ignored = ignored

// Quiet reports whether no faults strike in this run.
func (w *World) Quiet() bool { return !w.faults.Strikes() }

// SeedOf returns the seed of the run that ctx belongs to.
func SeedOf(ctx context.Context) uint64 { return attemptOf(ctx).Choices.Seed }
