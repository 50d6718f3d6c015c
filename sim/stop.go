package sim

// The first failure of a run ends it, and the report says who that was.
//
// The law: after each step of a task or a callback its own loop looks whether the test has failed,
// before another task or host runs.

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rondo-go/rondo"
)

// errStopped is the cause with which the tasks of a loop end after the first failure.
var errStopped = errors.New("sim: the run has ended, because the test has failed")

// nameOf returns the name of a task of a host. live are the tasks of its loop, if the caller runs
// there. A task that has ended has its name only in a run of which an account is kept.
func (a *attempt) nameOf(live []rondo.TaskInfo, host, id uint64) string {
	switch {
	case id == 0:
		return "a callback"
	case id == 1:
		return "main"
	}
	if name := a.Account.Name(host<<32 | id); name != "" {
		return name
	}
	if i := slices.IndexFunc(live, func(t rondo.TaskInfo) bool { return t.ID == id }); i >= 0 {
		return live[i].Name
	}
	return fmt.Sprintf("task-%d", id)
}
