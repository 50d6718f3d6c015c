package stacks

import (
	"context"
	"runtime/pprof"
)

// Labels returns a function that labels the calling goroutine for package
// runtime/pprof: "loop" is the name given, "task" that of the function with the given
// entry. With 0 it takes the labels off. A task stays on its goroutine, and labels on
// theirs, so nothing is done at a switch.
func Labels(loop string) func(entry uintptr) {
	known := make(map[uintptr]context.Context) // by the function
	return func(entry uintptr) {
		if entry == 0 {
			pprof.SetGoroutineLabels(context.Background())
			return
		}
		labelled := known[entry]
		if labelled == nil {
			labelled = pprof.WithLabels(context.Background(), pprof.Labels("loop", loop, "task", FuncName(entry)))
			known[entry] = labelled
		}
		pprof.SetGoroutineLabels(labelled)
	}
}
