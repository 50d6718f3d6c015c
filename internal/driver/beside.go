package driver

import "context"

// Beside is a Driver in whose world further loops can run: that of a host of a
// simulated cluster. RunBeside begins a loop with that name that runs main, and
// returns at once; it may be called only on the loop. An error of main fails the test.
//
// Step is called before what a task or a callback does to something that several loops
// share. It lets other loops go first, if the world chooses that.
type Beside interface {
	RunBeside(name string, main func(ctx context.Context) error)
	Step()
}

// Prompt reports whether a simulated loop takes what goroutines and other loops hand in at its
// next turn, also if it is busy.
func Prompt(d Driver) bool {
	p, ok := d.(interface{ Prompt() bool })
	return ok && p.Prompt()
}

// Within reports whether the caller is a part of the simulation that the loop is in: a task
// or a callback of it, or of another loop of it. Any goroutine may ask.
func Within(d Driver) bool {
	w, ok := d.(interface{ Within() bool })
	return ok && w.Within()
}

// Offload lets a simulated driver run fn on a goroutine when it chooses, and call back when
// fn has ended. user is the function of the program that fn calls. It reports whether the
// driver does that; if not, the caller does. Only on the loop.
func Offload(d Driver, user uintptr, fn, back func()) bool {
	o, ok := d.(interface {
		Offload(user uintptr, fn, back func()) bool
	})
	return ok && o.Offload(user, fn, back)
}
