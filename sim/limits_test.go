package sim

import (
	"os"
	"time"
)

// The processes in which tests hang on purpose need not do so for long.
func init() {
	if os.Getenv("RONDO_SIM_VICTIM") != "" {
		hangAfter, maxSteps = time.Second, defaultMaxSteps/100
	}
}
