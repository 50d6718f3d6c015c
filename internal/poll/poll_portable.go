//go:build rondo_portable || !(linux || darwin || freebsd || dragonfly)

package poll

// The backend of systems that have none of their own. It is pure Go and holds
// no descriptors: Poll sleeps on a channel, with a timer if there is an instant
// to wake at. It does not implement driver.Poller; above it sockets do their
// work on goroutines, over package net, and post what came of it.

import (
	"time"

	"github.com/rondo-go/rondo/internal/driver"
)

// A portable is a driver.Driver and no driver.Poller. The timer is stopped
// whenever no Poll sleeps.
type portable struct {
	bell bell
	clock
	rouse chan struct{} // room for one
	timer *time.Timer
}

func open() (driver.Driver, error) {
	p := &portable{clock: newClock(), rouse: make(chan struct{}, 1)}
	p.timer = time.NewTimer(time.Hour)
	p.timer.Stop()
	return p, nil
}

// Poll sleeps until Wake is called or the instant comes.
func (p *portable) Poll(until int64) error {
	if p.bell.take() || until <= 0 {
		return nil
	}
	var wait time.Duration
	if until != driver.Forever {
		if wait = time.Duration(until - p.Now()); wait <= 0 {
			return nil
		}
	}
	if !p.bell.doze() {
		return nil
	}
	if until == driver.Forever {
		<-p.rouse
	} else {
		p.timer.Reset(wait)
		select {
		case <-p.rouse:
			p.timer.Stop()
		case <-p.timer.C:
		}
	}
	p.bell.rise()
	return nil
}

// Wake ends a Poll that sleeps, or the next one.
func (p *portable) Wake() {
	if p.bell.ring() {
		// There may be a token that came too late for an earlier sleep. It
		// serves this one as well.
		select {
		case p.rouse <- struct{}{}:
		default:
		}
	}
}

// Order gives nil: things run in the order they became ready.
func (p *portable) Order() func(n int, who func(i int) uint64) int { return nil }

// Close makes further Wakes do nothing. There is nothing else to release.
func (p *portable) Close() error {
	p.bell.silence()
	return nil
}
