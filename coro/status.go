package coro

// Status is what a coroutine is doing, in the words of Lua's coroutine.status.
type Status int

const (
	Suspended Status = iota // it has not begun, or waits in yield
	Running                 // it is running
	Normal                  // it has resumed another coroutine and waits for that
	Dead                    // it has ended
)

// String returns the status in lower case: "suspended", "running", "normal" or
// "dead".
func (s Status) String() string {
	switch s {
	case Suspended:
		return "suspended"
	case Running:
		return "running"
	case Normal:
		return "normal"
	case Dead:
		return "dead"
	}
	return "unknown status"
}

// Status returns what the coroutine is doing, seen from the caller. It is Running if
// the caller is this coroutine, and Normal if this coroutine waits for the caller.
// Any other goroutine cannot tell the two apart: it gets Running until the
// coroutine pauses, and the answer may be out of date by the time it is read.
func (c *Coroutine[In, Out]) Status() Status {
	switch c.state.Load() {
	case suspended:
		return Suspended
	case dead:
		return Dead
	}
	if c.caller() == below {
		return Normal
	}
	return Running
}
