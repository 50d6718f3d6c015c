//go:build rondo_portable || !(linux || darwin || freebsd || dragonfly)

package poll

// The backend of systems that have no other. It is pure Go and has no
// descriptors: Poll sleeps on a channel, with a timer if there is an instant to
// wake at. On this backend sockets do their work on goroutines, over package net,
// and post the results.

import (
	"time"

	"github.com/rondo-go/rondo/internal/driver"
)

// A portable is a driver without a Poller. The timer is stopped whenever no Poll
// sleeps.
type portable struct {
	wake wakeFlag
	clock
	woken chan struct{} // room for one
	timer *time.Timer
}

func open() (driver.Driver, error) {
	p := &portable{clock: newClock(), woken: make(chan struct{}, 1)}
	p.timer = time.NewTimer(time.Hour)
	p.timer.Stop()
	return p, nil
}

// Poll sleeps until Wake is called or the instant comes.
func (p *portable) Poll(until int64) error {
	if p.wake.take() || until <= 0 {
		return nil
	}
	var wait time.Duration
	if until != driver.Forever {
		if wait = time.Duration(until - p.Now()); wait <= 0 {
			return nil
		}
	}
	if !p.wake.sleepBegin() {
		return nil
	}
	if until == driver.Forever {
		<-p.woken
	} else {
		p.timer.Reset(wait)
		select {
		case <-p.woken:
			p.timer.Stop()
		case <-p.timer.C:
		}
	}
	p.wake.sleepEnd()
	return nil
}

// Wake ends a Poll that sleeps, or the next one.
func (p *portable) Wake() {
	if p.wake.set() {
		// There may be a token that came too late for an earlier sleep. It
		// serves this one as well.
		select {
		case p.woken <- struct{}{}:
		default:
		}
	}
}

// Poller returns nil: there are no descriptors.
func (p *portable) Poller() driver.Poller { return nil }

// Close returns nil: there is nothing to release.
func (p *portable) Close() error { return nil }
