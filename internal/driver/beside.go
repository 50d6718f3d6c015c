package driver

import "context"

// Beside is a Driver in whose world further loops can run: that of a host of a
// simulated cluster. RunBeside begins a loop with that name that runs main, and
// returns at once; it may be called only on the loop. An error of main fails the test.
type Beside interface {
	RunBeside(name string, main func(ctx context.Context) error)
}
