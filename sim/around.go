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
	forever := make(chan struct{}) // not of the bubble, whose time stands still while somebody waits for it
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
