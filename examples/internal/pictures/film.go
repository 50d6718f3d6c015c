//go:build linux

package main

// A film is what a terminal showed over time, as one SVG that plays by itself, again and again.

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A shot is a screen and how long it stands.
type shot struct {
	lines  [][]run
	length time.Duration
}

// settled is how long a program writes nothing when it has drawn a screen.
const settled = 50 * time.Millisecond

// A camera makes shots of a screen that changes.
type camera struct {
	shots []shot
	since time.Time // when the last shot began
	last  [][]run   // the screen as of at
	at    time.Time
}

// see notes what the screen shows. What stands for less than settled is half drawn, and no shot.
func (c *camera) see(lines [][]run, now time.Time) {
	if c.last != nil && now.Sub(c.at) >= settled {
		c.cut(c.at)
	}
	c.last, c.at = lines, now
}

// cut begins a shot of what the screen showed at a time, and ends the one before.
func (c *camera) cut(at time.Time) {
	if n := len(c.shots); n > 0 {
		if slices.EqualFunc(c.shots[n-1].lines, c.last, slices.Equal) {
			return
		}
		c.shots[n-1].length = at.Sub(c.since)
	}
	c.shots = append(c.shots, shot{lines: c.last})
	c.since = at
}

// end ends the last shot, and returns all.
func (c *camera) end(now time.Time) []shot {
	c.see(nil, now)
	if n := len(c.shots); n > 0 {
		c.shots[n-1].length = now.Sub(c.since)
	}
	return c.shots
}

// project returns the shots as an SVG.
func project(title string, shots []shot) string {
	var b strings.Builder
	var total time.Duration
	var screens [][][]run
	for _, s := range shots {
		total += s.length
		screens = append(screens, s.lines)
	}
	w := begin(&b, title, screens)
	// The clock of the film. A reader that does not play it shows the first shot.
	fmt.Fprintf(&b, `<rect width="0" height="0"><animate id="film" attributeName="x" from="0" to="0" begin="0s;film.end" dur="%.2fs"/></rect>`+"\n", total.Seconds())
	var at time.Duration
	for i, s := range shots {
		if i == 0 {
			b.WriteString("<g>\n")
			fmt.Fprintf(&b, `<set attributeName="visibility" to="hidden" begin="film.begin+%.2fs" dur="%.2fs"/>`+"\n", s.length.Seconds(), (total - s.length).Seconds())
		} else {
			b.WriteString(`<g visibility="hidden">` + "\n")
			fmt.Fprintf(&b, `<set attributeName="visibility" to="visible" begin="film.begin+%.2fs" dur="%.2fs"/>`+"\n", at.Seconds(), s.length.Seconds())
		}
		drawLines(&b, s.lines, w)
		b.WriteString("</g>\n")
		at += s.length
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}
