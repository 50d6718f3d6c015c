//go:build (linux || darwin || freebsd || dragonfly) && !rondo_portable

package shard_test

import (
	"context"
	"errors"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/poll"
	"github.com/rondo-go/rondo/shard"
)

// A restless driver does not sleep at first, so that the loop looks again and again whether
// anything may wake it. After that it calls asleep.
type restless struct {
	driver.Driver
	polls  int
	asleep func()
}

func (d *restless) Poll(until int64) error {
	if until >= 0 && d.polls <= 5 {
		if d.polls++; d.polls <= 5 {
			d.Wake()
		} else {
			d.asleep()
		}
	}
	return d.Driver.Poll(until)
}

// TestChanMayWake: on a loop that is no shard, any goroutine may serve a task that waits for a
// Chan, so the loop is in no deadlock. Afterwards it is.
func TestChanMayWake(t *testing.T) {
	c, received := shard.NewChan[int](1), 0
	d := &restless{asleep: func() { go c.TrySend(7) }}
	ctx := driver.With(t.Context(), func() (_ driver.Driver, err error) {
		d.Driver, err = poll.Open()
		return d, err
	})
	r := rondo.Runner{EndDeadlock: 1}
	err := r.Run(ctx, func(ctx context.Context) (err error) {
		if received, err = c.Recv(ctx); err != nil {
			return err
		}
		return new(rondo.Event).Wait(ctx)
	})
	if received != 7 || !errors.Is(err, rondo.ErrDeadlock) {
		t.Errorf("received %d; Run: %v", received, err)
	}
}
