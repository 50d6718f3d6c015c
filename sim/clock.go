package sim

// This file has the clock of a host, which may be wrong: it is ahead of the world's or
// behind it, and may run at another rate.
//
// The law: only what a host sees passes through here. The world itself has one clock,
// and what it does is in the order of that one.

import "time"

// Now reads the clock of the host.
func (p *process) Now() int64 {
	if p.killed != nil {
		return p.own
	}
	return p.host.local(p.world.base.now)
}

// Time and Instant are those of the host's wall clock.
func (p *process) Time(instant int64) time.Time {
	return p.world.base.Time(instant).Add(p.host.offset)
}

func (p *process) Instant(t time.Time) int64 { return p.world.base.Instant(t.Add(-p.host.offset)) }

// local and universal convert between the host's clock and the world's. A clock that
// runs at another rate does so since it was set.
func (h *Host) local(at int64) int64 {
	if h.ppm == 0 {
		return at + h.ahead
	}
	d := at - h.setAt
	return at + h.ahead + scaled(d, h.ppm)
}

func (h *Host) universal(at int64) int64 {
	if h.ppm == 0 {
		return at - h.ahead
	}
	rate := int64(1e6 + h.ppm)
	d := at - h.ahead - h.setAt
	u := h.setAt + d/rate*1e6 + d%rate*1e6/rate
	for h.local(u) < at {
		u++
	}
	return u
}

// scaled returns so many millionths of d.
func scaled(d int64, ppm int) int64 {
	return d/1e6*int64(ppm) + d%1e6*int64(ppm)/1e6
}
