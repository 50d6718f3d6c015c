package sim

// A cluster with goroutines runs in a bubble, beside nothing else and on one processor
// (internal/chance): then the runtime lets goroutines run in the order in which they were woken,
// and makes its own choices by the seed.

import (
	"github.com/rondo-go/rondo/sim/internal/chance"
	"github.com/rondo-go/rondo/sim/internal/search"
)

// executeAround is execute with the goroutines around the hosts.
func (w *World) executeAround(ended chan search.Outcome) search.Outcome {
	chance.Forget()
	go func() {
		defer func() { ended <- w.failed }()
		inBubble(w.run.bubbles, func() {
			w.base.enter()
			w.base.bubble.still = true
			before := bubbled()
			defer func() {
				if !w.dismiss(before) {
					ended <- w.failed
					<-forever // goroutines are left, and stay where they are
				}
			}()
			defer w.end()
			w.turn()
		})
	}()
	return w.base.wait(ended, &w.inside)
}

// forever is never closed. It is not of a bubble: the time of one stands still while somebody in it
// waits for that, and synctest does not take it for a deadlock, which would end the process.
var forever = make(chan struct{})
