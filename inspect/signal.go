package inspect

import (
	"fmt"
	"io"
	"os"
	"os/signal"
)

// OnSignal writes the tree of the calling program's tasks to w each time one of the
// signals comes, until stop is called. It asks nothing of the loops, so it also
// shows a loop that hangs. Any goroutine may call it; it never suspends. stop
// returns once nothing is being written. It panics without a signal.
//
// The signals do nothing else: SIGQUIT does not end the program.
func OnSignal(w io.Writer, sigs ...os.Signal) (stop func()) {
	if len(sigs) == 0 {
		panic("inspect: OnSignal without a signal")
	}
	came, quit, gone := make(chan os.Signal, 1), make(chan struct{}), make(chan struct{})
	signal.Notify(came, sigs...)
	go func() {
		defer close(gone)
		for {
			select {
			case <-came:
				writeTo(w)
			case <-quit:
				return
			}
		}
	}()
	return func() {
		signal.Stop(came)
		select {
		case <-quit:
		default:
			close(quit)
		}
		<-gone
	}
}

// writeTo writes the tree, or why there is none.
func writeTo(w io.Writer) {
	p, err := Snapshot()
	if err != nil {
		fmt.Fprintln(w, "inspect:", err)
		return
	}
	if err := p.WriteTree(w, TreeOptions{}); err != nil {
		fmt.Fprintln(os.Stderr, "inspect: writing the tree:", err)
	}
}
