package sim

import (
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
	maxSteps = defaultMaxSteps / 100
}
