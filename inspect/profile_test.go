package inspect_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo/inspect"
)

// TestWall: the time of each task between two snapshots counts once, as running, ready or waiting;
// of a task that has ended, its steps count.
func TestWall(t *testing.T) {
	us := time.Microsecond
	at := func(up, busy time.Duration) *inspect.Program {
		return &inspect.Program{Loops: []*inspect.Loop{{ID: 1, Uptime: up, Tasks: []*inspect.Task{
			{ID: 1, Func: "main.serve", State: "waiting", What: "read", Age: time.Hour, Busy: busy, Stack: []inspect.Frame{{Func: "main.read"}, {Func: "main.serve"}}},
			{ID: 2, Func: "main.late", State: "waiting", What: "sleep", Age: 100 * us},
			{ID: 3, Func: "main.often", State: "waiting", Moved: true, Age: time.Hour, Busy: 3 * busy},
		}}}}
	}
	f := &inspect.Flight{Loops: []inspect.FlightLoop{{ID: 1, Steps: []inspect.FlightStep{
		{Task: 1, Kind: "main.serve", To: 40 * us, Ready: 20 * us},
		{Task: 3, Kind: "main.often", To: 40 * us, Ready: 5000 * us},
		{Task: 9, Kind: "main.ended", From: 10 * us, To: 17 * us, Ready: 2 * us},
	}}}}
	p := inspect.NewWallProfile()
	p.AddBetween(at(0, 0), at(1000*us, 100*us), f)
	p.AddBetween(at(1000*us, 100*us), at(2000*us, 200*us), nil)
	var b strings.Builder
	want := `main.serve;main.read;[read] 1780
main.often;(waited and ran) 700
main.often;[ready] 700
main.often;[running] 600
main.late;(no stack);[sleep] 200
main.serve;[running] 200
main.serve;[ready] 20
main.ended;[running] 7
main.ended;[ready] 2
`
	if err := p.WriteFolded(&b); err != nil || b.String() != want {
		t.Errorf("%v:\n%swant\n%s", err, b.String(), want)
	}
}

// TestWallLasts: what a task did at both ends of the time and in between counts as that, though its
// step has not ended, or not begun.
func TestWallLasts(t *testing.T) {
	at := func(up time.Duration, switches uint64) *inspect.Program {
		return &inspect.Program{Loops: []*inspect.Loop{{ID: 1, Uptime: up, Tasks: []*inspect.Task{
			{ID: 1, Func: "main.computes", State: "running", Age: time.Hour, Switches: 5},
			{ID: 2, Func: "main.starved", State: "ready", Age: time.Hour, Switches: 5},
			{ID: 3, Func: "main.begins", State: "new", Age: time.Hour},
			{ID: 4, Func: "main.limited", State: "new", What: "limit", Waiting: "limit of 2 tasks", Age: time.Hour},
			{ID: 5, Func: "main.again", State: "ready", Age: time.Hour, Switches: switches},
		}}}}
	}
	f := &inspect.Flight{Loops: []inspect.FlightLoop{{ID: 1}}}
	p := inspect.NewWallProfile()
	p.AddBetween(at(0, 5), at(time.Millisecond, 6), f)
	var b strings.Builder
	want := `main.again;(no stack);[waited] 1000
main.begins;[ready] 1000
main.computes;[running] 1000
main.limited;(no stack);[limit] 1000
main.starved;[ready] 1000
`
	if err := p.WriteFolded(&b); err != nil || b.String() != want {
		t.Errorf("%v:\n%swant\n%s", err, b.String(), want)
	}
}

// TestWallAcross: a step across the border of two windows counts once, and before the first window
// nothing does.
func TestWallAcross(t *testing.T) {
	us := time.Microsecond
	at := func(up time.Duration) *inspect.Program {
		return &inspect.Program{Loops: []*inspect.Loop{{ID: 1, Uptime: up}}}
	}
	flight := func(steps ...inspect.FlightStep) *inspect.Flight {
		return &inspect.Flight{Loops: []inspect.FlightLoop{{ID: 1, Steps: steps}}}
	}
	p := inspect.NewWallProfile()
	p.AddBetween(at(600*us), at(700*us), flight(
		inspect.FlightStep{Task: 1, Kind: "main.early", From: 100 * us, To: 605 * us, Ready: 50 * us},
		inspect.FlightStep{Task: 2, Kind: "main.across", From: 640 * us, To: 700 * us, Ready: 70 * us},
	))
	p.AddBetween(at(700*us), at(800*us), flight(
		inspect.FlightStep{Task: 2, Kind: "main.across", From: 640 * us, To: 730 * us, Ready: 70 * us},
		inspect.FlightStep{Task: 3, Kind: "main.late", From: 730 * us, To: 790 * us, Ready: 80 * us},
	))
	var b strings.Builder
	want := `main.across;[running] 90
main.late;[running] 60
main.across;[ready] 40
main.late;[ready] 30
main.early;[running] 5
`
	if err := p.WriteFolded(&b); err != nil || b.String() != want {
		t.Errorf("%v:\n%swant\n%s", err, b.String(), want)
	}
}

// TestFlameThan: a call whose share has grown is red, one whose share has shrunk is blue, and each
// is as wide as the mean of its shares.
func TestFlameThan(t *testing.T) {
	before, err := inspect.ReadFolded(strings.NewReader("main.a;[read] 30\nmain.b;[lock] 10\nmain.c;[get] 10\n"))
	if err != nil {
		t.Fatal(err)
	}
	after, err := inspect.ReadFolded(strings.NewReader("main.a;[read] 100\nmain.b;[lock] 300\nmain.c;[get] 100\n"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := after.WriteFlame(&b, before); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<title>main.a: 20.0 %, before 60.0 %</title><rect x="0.0" y="51" width="480.0" height="16" fill="hsl(220,90%,78%)"`,
		`<title>[lock]: 60.0 %, before 20.0 %</title><rect x="480.0" y="34" width="480.0" height="16" fill="hsl(0,90%,78%)"`,
		`<title>main.c: 20.0 %, before 20.0 %</title><rect x="960.0" y="51" width="240.0" height="16" fill="hsl(0,0%,94%)"`,
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in\n%s", want, b.String())
		}
	}
	if _, err := inspect.ReadFolded(strings.NewReader("main.a 1\nmain.b\n")); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a line without a number: %v", err)
	}
}
