package sim

// A bubble of testing/synctest runs a loop together with the goroutines around it: their clock
// is the loop's clock, and the loop goes on only when all of them are blocked.
//
// The law: before the loop asks what came in, and before it lets time pass, every goroutine of
// the bubble has come to rest. Results that came in at one instant are put in the order of the
// tasks that they are for, so that the seed chooses among the same things each time.

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-go/rondo/internal/driver"
	"github.com/rondo-go/rondo/internal/gid"
	"github.com/rondo-go/rondo/sim/internal/chance"
	"github.com/rondo-go/rondo/sim/internal/choice"
	"github.com/rondo-go/rondo/sim/internal/moment"
	"github.com/rondo-go/rondo/sim/internal/record"
)

// restMax is how long, in virtual time, a loop waits for goroutines: when the clock comes
// there, nothing else was left that could happen.
const restMax = 1000 * 24 * time.Hour

var errNothingComes = errors.New("sim: nothing can come from the goroutines around the loop any more: all of them are blocked")

// bubble is the bubble of a world.
type bubble struct {
	began time.Time
	rests uint64 // how often its goroutines have come to rest
	seed  uint64 // of the runtime's choices
	still bool   // the runtime makes them by the seed

	rested time.Duration // when they did that last, of real time
}

// enter is called on the goroutine of Run, in the bubble, before the loop begins.
func (w *loopWorld) enter() {
	w.wakeup = make(chan struct{}, 1) // one of the bubble
	time.Sleep(time.Until(w.start))
	w.bubble = &bubble{began: time.Now(), seed: choice.Mix(w.run.Choices.Seed)}
}

func (w *loopWorld) Settles() bool { return w.bubble != nil }

// settle waits until the goroutines of the bubble have come to rest, if there is one.
func (w *loopWorld) settle() {
	b := w.bubble
	if b == nil {
		return
	}
	if b.still {
		b.rests++
		chance.Set(choice.Mix(b.seed ^ b.rests))
	}
	synctest.Wait()
	if b.still && chance.Slow(&b.rested) {
		w.run.Trace.ByChance()
	}
}

// pollBubble is Poll in a bubble.
func (w *loopWorld) pollBubble(until int64) error {
	synctest.Wait()
	select {
	case <-w.wakeup:
		return nil
	default:
	}
	if until <= w.now {
		w.step(pollSteps)
		return nil
	}
	d, forever := restMax, until >= driver.Outside
	if !forever {
		w.order.Slept(until - w.now)
		d = time.Duration(w.order.Sleeps(w.now, until) - w.now)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	var err error
	select {
	case <-w.wakeup:
	case <-timer.C:
		if forever {
			err = errNothingComes
		}
	}
	synctest.Wait()
	w.now = moment.Origin + int64(time.Since(w.bubble.began))
	w.run.Shown.Store(w.now - moment.Origin)
	w.step(1)
	w.run.Trace.Add(record.Event{Now: w.now, Kind: record.Jumped})
	return err
}

// inBubble runs fn in a bubble. A panic says that goroutines were left.
func inBubble(t *testing.T, fn func()) {
	defer func() {
		if v := recover(); v != nil {
			panic(fmt.Sprintf("%v: end what the body has started, such as servers and idle connections, before it returns", v))
		}
	}()
	synctest.Test(t, func(*testing.T) { fn() })
}

// bubbled returns how many goroutines the caller's bubble has. Others of the process come and go
// in real time, such as those of timers that a package has started with the program.
func bubbled() (n int) {
	var bubble []byte // what the runtime writes of it: "synctest bubble 7]"
	for stack := range gid.Stacks() {
		head, _, _ := bytes.Cut(stack, []byte("\n"))
		if bubble == nil {
			bubble = head[max(0, bytes.Index(head, []byte("synctest bubble "))):]
			bubble = bubble[:bytes.IndexByte(bubble, ']')+1]
		}
		if bytes.Contains(head, bubble) {
			n++
		}
	}
	return n
}
