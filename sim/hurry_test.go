package sim

import (
	"os"
	"time"
)

// The processes in which tests hang on purpose need not do so for long.
func init() {
	if os.Getenv("RONDO_SIM_VICTIM") != "" {
		patience, stepsMax = 2*time.Second, StepsMax/100
	}
}
