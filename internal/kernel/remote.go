package kernel

import (
	"strconv"
	"sync/atomic"
)

// A Remote is what a task waits for that happens on another loop. A WaitList's Of
// is one, so that people see which loop it is; readers from outside know its form.
//
// It begins with the loop's name, which does not change, and the number of the task
// there that the waiting one needs; 0 if that is not known.
type Remote struct {
	Loop string
	Task atomic.Uint64
}

// String returns the loop and the task, as "shard-1 #17".
func (r *Remote) String() string {
	if id := r.Task.Load(); id != 0 {
		return r.Loop + " #" + strconv.FormatUint(id, 10)
	}
	return r.Loop
}
