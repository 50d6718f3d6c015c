//go:build unix

package shard_test

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/shard"
)

// TestInterrupt: with Interrupt a signal cancels all shards, and Run returns what the mains make of
// it. A shard whose main had returned before, and which the signal reaches first, adds nothing.
func TestInterrupt(t *testing.T) {
	for _, want := range []error{nil, errors.New("broken"), rondo.SignalError{Sig: syscall.SIGTERM}} {
		returned, reached := make(chan struct{}), make(chan struct{})
		r := shard.Runner{Loops: 2, Loop: rondo.Runner{Interrupt: true}}
		err := r.Run(t.Context(), func(ctx context.Context, s *shard.Shard) error {
			if s.Index() == 1 {
				rondo.Go(ctx, func(ctx context.Context) error {
					close(returned)
					defer close(reached)
					return rondo.WaitCanceled(ctx)
				})
				return nil
			}
			if _, _, err := rondo.Receive(ctx, returned); err != nil {
				return err
			}
			if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
				return err
			}
			if err := rondo.WaitCanceled(ctx); err != (rondo.SignalError{Sig: syscall.SIGTERM}) {
				t.Errorf("the wait has ended with %v", err)
			}
			err := rondo.Shield(ctx, func(ctx context.Context) error { _, _, err := rondo.Receive(ctx, reached); return err })
			if err != nil {
				return err
			}
			return want
		})
		if err != want {
			t.Errorf("Run returned %v, want %v", err, want)
		}
	}
}
