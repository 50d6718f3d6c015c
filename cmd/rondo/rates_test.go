package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/rondo-go/rondo/inspect"
)

// TestMeasure: rates are of the time between two snapshots, whichever tasks and
// loops came and went.
func TestMeasure(t *testing.T) {
	task := func(id, switches uint64) *inspect.Task { return &inspect.Task{ID: id, Switches: switches} }
	before := &inspect.Program{Loops: []*inspect.Loop{
		{ID: 1, Uptime: 10 * time.Second, Busy: 6 * time.Second, Turns: 50, Switches: 100, Tasks: []*inspect.Task{task(1, 5), task(2, 7), task(3, 9), task(4, 10)}},
		{ID: 2, Uptime: time.Second, Tasks: []*inspect.Task{task(1, 5)}},
	}}
	after := &inspect.Program{Loops: []*inspect.Loop{
		// It has slept for 1 of the 2 seconds; one task is gone, one is there since,
		// and they are not in order.
		{ID: 1, Uptime: 12 * time.Second, Busy: 7 * time.Second, Turns: 60, Switches: 140, Tasks: []*inspect.Task{task(4, 30), task(1, 5), task(5, 6)}},
		// Another loop, of the same name.
		{ID: 3, Uptime: 2 * time.Second, Tasks: []*inspect.Task{task(1, 500)}},
	}}
	r := measure(measure(nil, before), after)
	got := ""
	for _, g := range r.loops {
		got += fmt.Sprintln(g.ID, g.known, g.switches, g.turns, g.busy)
	}
	for i := range r.size {
		m := r.task(i)
		got += fmt.Sprintln(m.key(), m.loop.known, m.rate)
	}
	const want = "1 true 20 5 0.5\n3 false 0 0 0\n" +
		"{1 1} true 0\n{1 4} true 10\n{1 5} true 3\n{3 1} false 0\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestStretchAndRate(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 999 * time.Nanosecond: "999ns", 1500 * time.Microsecond: "1.5ms", 59900 * time.Millisecond: "59.9s",
		59*time.Minute + 59*time.Second: "59m59s", time.Hour - time.Millisecond: "1h00m", 90 * time.Minute: "1h30m", 23*time.Hour + 59*time.Minute: "23h59m",
		24*time.Hour - time.Second: "1d00h", 99*24*time.Hour + 5*time.Hour: "99d05h", 100 * 24 * time.Hour: "100d", 3000 * 24 * time.Hour: "3000d",
	} {
		if got := stretch(d); got != want {
			t.Errorf("%v is %s, want %s", d, got, want)
		}
	}
	for v, want := range map[float64]string{0: "0", 0.04: "0.0", 9.94: "9.9", 9.96: "10", 12345: "12,345", 999_999: "999,999", 1_234_567: "1.23M"} {
		if got := rate(true, v); got != want {
			t.Errorf("%v is %s, want %s", v, got, want)
		}
	}
}
