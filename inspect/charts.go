package inspect

// Charts show the last five minutes of a program on its page: how busy its loops were, how late,
// and how many tasks were ready, lived, and had connections.
//
// The law: they are made of the snapshots that requests have taken, so nothing is done for them
// while nobody looks, and what is kept of them is bounded.

import (
	"fmt"
	"strings"
	"time"
)

// Bounds on what is kept: for how long, and how far apart two samples are at least.
const (
	keptFor     = 5 * time.Minute
	sampleEvery = time.Second
)

// A sample has the figures of all loops of a program at one time.
type sample struct {
	at      time.Time
	busy    time.Duration // of all loops since they began
	figures [charts]float64
}

// The charts. Busy is in percent of one processor since the sample before, lag in milliseconds.
const (
	chartBusy = iota
	chartLag
	chartReady
	chartTasks
	chartConns
	charts
)

var chartTitles = [charts]string{"busy, %", "lag, ms", "ready", "tasks", "connections"}

// A past has the samples of the last five minutes, the newest last. serving guards it.
type past struct{ samples []sample }

// add keeps the figures of a snapshot.
func (k *past) add(p *Program) {
	s := sample{at: p.Taken}
	for _, l := range p.Loops {
		s.busy += l.Busy
		s.figures[chartLag] = max(s.figures[chartLag], float64(l.Lag.Microseconds())/1000)
		s.figures[chartReady] += float64(l.Ready)
		s.figures[chartTasks] += float64(len(l.Tasks) + l.Omitted)
		if l.Conns != nil {
			s.figures[chartConns] += float64(*l.Conns)
		}
	}
	if n := len(k.samples); n > 0 {
		last := k.samples[n-1]
		apart := s.at.Sub(last.at)
		if apart < sampleEvery {
			return
		}
		// A loop that has ended takes its time along.
		s.figures[chartBusy] = 100 * max(0, float64(s.busy-last.busy)) / float64(apart)
	}
	k.samples = append(k.samples, s)
	for s.at.Sub(k.samples[0].at) > keptFor {
		k.samples = k.samples[1:]
	}
}

// A chart is one of them as the page draws it: a line in a box of 300 to 40, a second each to the
// right.
type chart struct {
	Title     string
	Now, Most string
	Points    string
}

// charts returns the charts; nil if there are fewer than two samples. Of samples in the same four
// seconds the highest counts.
func (k *past) charts() (out []chart) {
	n := len(k.samples)
	if n < 2 {
		return nil
	}
	end := k.samples[n-1].at
	for i := range charts {
		most := 0.0
		for _, s := range k.samples[1:] {
			most = max(most, s.figures[i])
		}
		c := chart{Title: chartTitles[i], Now: figure(k.samples[n-1].figures[i]), Most: figure(most)}
		var b strings.Builder
		slot, high := -1, 0.0
		point := func() {
			if slot >= 0 {
				fmt.Fprintf(&b, "%d,%.0f ", 4*slot, 40-38*high/max(most, 1e-9))
			}
		}
		for _, s := range k.samples[1:] {
			at := int((keptFor - end.Sub(s.at)) / (4 * time.Second))
			if at != slot {
				point()
				slot, high = at, 0
			}
			high = max(high, s.figures[i])
		}
		point()
		c.Points = strings.TrimSpace(b.String())
		out = append(out, c)
	}
	return out
}

// figure writes a number with a tenth if it is small.
func figure(v float64) string {
	if v < 10 && v != float64(int(v)) {
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}
