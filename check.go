package rondo

import "context"

// Check is a cancel point that never suspends: it returns the cause if ctx is
// cancelled, and nil otherwise. Long computations call it, and so do functions
// that take a ctx and happen to have nothing to wait for.
func Check(ctx context.Context) error {
	_, _, err := enter(ctx, "Check")
	return err
}
