package inspect

// The goroutines that run functions in Offload, for which tasks wait, are read with their stacks
// between the two readings of the tasks, so that a task that still waits has the right one.

import (
	"github.com/rondo-go/rondo/internal/goinspect"
	"github.com/rondo-go/rondo/internal/layout"
)

// offload is the word for a wait in Offload.
const offload = "offload"

// readOffloads finds the goroutines for which tasks wait whose stacks are wanted. A task that waits
// for its turn has none.
func (r *reader) readOffloads() {
	if r.size(layout.OffloadSize) == 0 {
		return
	}
	var waiting []*seen
	var calls []uint64
	for _, s := range r.tasks {
		if !r.wanted(s) || s.info.What != offload {
			continue
		}
		list := s.worker.uint64(layout.WorkerList)
		inLoop := list >= r.at && list < r.at+uint64(r.size(layout.LoopSize))
		if list != 0 && !inLoop {
			waiting, calls = append(waiting, s), append(calls, list-uint64(r.size(layout.OffloadList)))
		}
	}
	var gs []goinspect.Goroutine
	var of []*seen
	var users []uint64
	r.each(calls, r.size(layout.OffloadSize), func(i int, call record) {
		if id := call.uint64(layout.OffloadID); id != 0 {
			gs = append(gs, goinspect.Goroutine{Record: call.uint64(layout.OffloadG), ID: id})
			of, users = append(of, waiting[i]), append(users, call.uint64(layout.OffloadUser))
		}
	})
	if len(gs) == 0 {
		return
	}
	for i, stack := range r.program.Stacks(gs) {
		if stack.State == goinspect.Unknown || stack.State == goinspect.Dead {
			continue
		}
		of[i].info.Offload = &Goroutine{
			ID: stack.Goroutine, State: stateOf(stack), Func: r.program.Func(users[i]).Func, Thread: stack.Thread,
			Stack: r.framesOf(stack.Frames), Cut: stack.Cut,
		}
	}
}

// stateOf returns what a goroutine does, in the runtime's words.
func stateOf(s goinspect.Stack) string {
	switch {
	case s.State == goinspect.Unknown:
		return "ran meanwhile"
	case s.Wait != "":
		return s.Wait
	case s.State == goinspect.Waiting && s.How != "":
		return s.How // of the text of the runtime
	}
	return s.State.String()
}
