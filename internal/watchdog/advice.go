package watchdog

import (
	"slices"
	"strings"

	"github.com/rondo-go/rondo/internal/stacks"
)

// Advice says on what a step is stuck and what to write in place of it. The law: the cure fits
// the line that the report names. What a library does inside a call of the program's is cured at
// that call.

// advice returns both, for a goroutine in the given state whose innermost functions are calls;
// the last of them is the one that the user's line calls.
func advice(state string, calls []string, callback, cancelled bool) string {
	how, cure := stuck(state)
	switch {
	case how == "" && cancelled:
		return "it goes on although its scope is cancelled, where each wait fails at once; return the error of the wait, or of rondo.Check"
	case how == "" && strings.HasPrefix(state, "GC assist"):
		return "it allocates faster than the garbage collector frees; allocate less, raise GOGC or GOMEMLIMIT, or use Offload"
	case how == "":
		return "it is computing; call rondo.Yield from time to time, or use Offload"
	}
	if called, better := within(calls); called != "" {
		how, cure = "in "+called+", which is "+how, better
	}
	if slices.ContainsFunc(calls, ofAnotherLoop) {
		how, cure = "in a blocking call, because its connection belongs to another loop", "use it in tasks of that loop"
	}
	if callback {
		cure = "start a task with Go in place of it, because callbacks must not wait"
	}
	return "it is " + how + "; " + cure
}

// stuck says what a goroutine in a state of the runtime's is blocked on, and the cure if the
// user's line does that itself. Of one that computes it says nothing.
func stuck(state string) (how, cure string) {
	state, _, _ = strings.Cut(state, ",")
	switch {
	case state == "sync.WaitGroup.Wait":
		return "blocked on a sync.WaitGroup", "use rondo.Group, or Offload"
	case state == "sync.Cond.Wait":
		return "blocked on a sync.Cond", "use rondo.Cond, or Offload"
	case strings.HasPrefix(state, "sync.RWMutex."):
		return "blocked on a sync.RWMutex, probably held by a suspended task", "use rondo.RWMutex, or Offload"
	case strings.HasPrefix(state, "sync.") || state == "semacquire":
		return "blocked on a sync.Mutex, probably held by a suspended task", "use rondo.Mutex, or Offload"
	case strings.HasPrefix(state, "chan ") || strings.HasPrefix(state, "select"):
		return "blocked on a channel", "use rondo.Queue, or rondo.Receive if a goroutine sends, or Offload"
	case state == "sleep":
		return "in time.Sleep", "use rondo.Sleep"
	case state == "syscall" || state == "IO wait":
		return "in a blocking call", "use package socket, or Offload"
	}
	return "", ""
}

// within returns the name of the function that the user's line calls, as a program writes it, and
// what to call in place of it, if that is more than the wait: a function of another module, or
// one of those that are listed here.
func within(calls []string) (called, cure string) {
	if len(calls) == 0 {
		return "", ""
	}
	called = calls[len(calls)-1]
	for _, c := range []struct{ begins, cure string }{
		{"sync.(*Once).", "use a rondo.Mutex and a bool"},
		{"sync.Once", "use a rondo.Mutex and a bool"},
		{"net/http.", "use package httptask, or Offload"},
		{"os/exec.", "use package process, or Offload"},
		{"os.(*Process)", "use package process, or Offload"},
	} {
		if strings.HasPrefix(called, c.begins) {
			return stacks.Name(called), c.cure
		}
	}
	switch {
	case !stacks.Own(called) && !stacks.Std(called):
		return stacks.Name(called), "call that in Offload"
	case slices.ContainsFunc(calls, func(f string) bool {
		return strings.HasPrefix(f, "os.(*File)") || strings.HasPrefix(f, "database/sql.")
	}):
		return stacks.Name(called), "call that in Offload"
	}
	return "", ""
}

// ofAnotherLoop reports whether a function is the way of Rondo's sockets for goroutines that are no
// task of their loop: it blocks them.
func ofAnotherLoop(function string) bool {
	return stacks.Own(function) && strings.Contains(strings.ToLower(function), "foreign")
}
