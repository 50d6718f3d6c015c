// Package rate declares what the checks know of golang.org/x/time/rate.
package rate

import (
	"context"
	"time"
)

type Limiter struct{}

type Reservation struct{}

func (*Limiter) Wait(ctx context.Context) error { return ctx.Err() }
func (*Limiter) Reserve() *Reservation          { return nil }
func (*Reservation) Delay() time.Duration       { return 0 }
