package httptask

// A lane makes calls that may block. An exchange has two lanes, one for reading and
// one for writing, with one call in each at most. A task's call is made by the
// goroutine that serves the request, or by one of its own if that is busy with the
// other lane; the task is suspended until the call has returned. A goroutine that is
// no task makes its calls itself.
//
// The law: a call has returned before the function that made it does, so no buffer
// is used after that. A task that is cancelled interrupts its call by a deadline in the
// past.

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/rondo-go/rondo/internal/kernel"
)

// A direction is one of the two lanes.
type direction int

const (
	reading direction = iota
	writing
)

// A lane has at most one call. It is guarded by the mutex of its exchange.
type lane struct {
	busy bool
	line []*turn
}

// A turn is the place in line of a task or goroutine. granted is called, on any
// goroutine, when the lane is its own.
type turn struct{ granted func() }

// A call is something that may block, done for a task.
type call struct {
	loop  kernel.Loop
	list  kernel.WaitList
	fn    func()
	done  bool // touched on the loop only
	fault any  // what fn panicked with
}

// run makes the call.
func (c *call) run() {
	defer func() { c.fault = recover() }()
	c.fn()
}

// returned tells the loop that the call has returned.
func (c *call) returned() {
	_ = c.loop.Post(func() { // a task waits for it, so the loop has not ended
		c.done = true
		c.list.Wake()
	})
}

// wait suspends the calling task until the call has returned. If the task is
// cancelled first, wait calls interrupt, waits on, and returns the cause.
func (c *call) wait(t kernel.Task, what string, interrupt func()) error {
	why := kernel.Reason{What: what}
	c.loop.AddWakers(1)
	c.loop.AddHelpers(1)
	err := c.list.ParkTask(t, why)
	if !c.done {
		interrupt()
		_ = t.Shield(func(ctx context.Context) error {
			for !c.done {
				if err := c.list.Park(ctx, why); err != nil {
					return err
				}
			}
			return nil
		})
	}
	c.loop.AddHelpers(-1)
	c.loop.AddWakers(-1)
	if c.fault != nil {
		panic(c.fault)
	}
	return err
}

// errGoexit is the error of a body whose Read did not return.
var errGoexit = errors.New("rondo: httptask: reading the body of the request did not return")

// errUnreturned is the error of a call that has ended by a Goexit: of a RoundTripper of the
// program, for example, or of a middleware's ResponseWriter.
var errUnreturned = errors.New("rondo: httptask: what was called on a goroutine has called runtime.Goexit")

// errOver is what is returned to those who use a request or its response when the
// handler has returned.
var errOver = errors.New("rondo: httptask: the handler of this request has returned")

// do calls fn, which may block, when no other call is in the lane, and returns its
// error. A task is suspended meanwhile. If it is cancelled before fn is called, do
// returns the cause; if later, fn is interrupted, and do returns the cause if fn fails.
// When the handler has returned, fn is not called and do returns errOver.
//
// A client that has only ended its side still gets its answer, so its leaving ends no write. A
// write that another cancellation has ended cuts the answer: later ones fail with its error.
func (x *exchange) do(d direction, fn func() error) (err error) {
	t := x.inside()
	if t != nil && d == writing {
		if x.left && t.Check() != nil {
			_ = t.Shield(func(context.Context) error { err = x.do(d, fn); return nil })
			return err
		}
		defer func() {
			if err != nil && !x.left && t.Check() != nil {
				x.mu.Lock()
				if x.cut == nil && !x.over {
					x.cut = err
				}
				x.mu.Unlock()
			}
		}()
	}
	if t != nil {
		if err := t.Check(); err != nil {
			return x.refusal(err)
		}
	}
	if err := x.acquire(d, t); err != nil {
		return err
	}
	defer x.release(d)
	if t == nil {
		defer x.others.Done()
	}
	if err := x.hasCut(d); err != nil {
		return err
	}
	if t == nil {
		return fn()
	}
	failure := errUnreturned
	loop := x.handler.loop
	c := &call{loop: loop, list: loop.WaitList(), fn: func() { failure = fn() }}
	x.mu.Lock()
	if x.over { // the handler has returned while this task waited in line
		x.mu.Unlock()
		return errOver
	}
	busy := x.busy
	x.busy = true
	if busy {
		x.others.Add(1)
	}
	x.mu.Unlock()
	if busy {
		go func() { // deferred for a Goexit
			defer c.returned()
			defer x.others.Done()
			c.run()
		}()
	} else {
		x.calls <- c
	}
	interrupted := false
	err = c.wait(t, lanes[d], func() {
		if interrupted = d == reading || !x.left; interrupted {
			x.interrupt(d)
		}
	})
	if interrupted && failure != nil {
		return err
	}
	return failure // also of a client that has left: HTTP/2 ends a stream at its deadline
}

// hasCut returns the error of a write that has cut the answer, for a write.
func (x *exchange) hasCut(d direction) error {
	if d == reading {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.cut
}

// refusal returns the error of a call in a cancelled task: that the handler has returned, if
// it has, because that has cancelled the task, or else the cause.
func (x *exchange) refusal(cause error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over {
		return errOver
	}
	return cause
}

var lanes = [2]string{reading: "request body", writing: "response"}

// acquire waits until the lane is the caller's. t is nil if that is no task; it is
// counted among the others then.
func (x *exchange) acquire(d direction, t kernel.Task) error {
	x.mu.Lock()
	l := &x.lanes[d]
	if x.over {
		x.mu.Unlock()
		return errOver
	}
	if t == nil {
		x.others.Add(1)
	}
	if !l.busy {
		l.busy = true
		x.mu.Unlock()
		return nil
	}
	me := &turn{}
	l.line = append(l.line, me)
	if t == nil {
		ready := make(chan struct{})
		me.granted = func() { close(ready) }
		x.mu.Unlock()
		<-ready
		return nil
	}
	c := &call{loop: x.handler.loop, list: x.handler.loop.WaitList()}
	me.granted = c.returned
	x.mu.Unlock()
	c.loop.AddWakers(1)
	defer c.loop.AddWakers(-1)
	err := c.list.ParkTask(t, kernel.Reason{What: lanes[d]})
	if err == nil {
		return nil
	}
	x.mu.Lock()
	i := slices.Index(l.line, me)
	if i >= 0 {
		l.line = slices.Delete(l.line, i, i+1)
	}
	x.mu.Unlock()
	if i < 0 {
		x.release(d) // it was granted in the meantime
	}
	return err
}

// release gives the lane to the next in line.
func (x *exchange) release(d direction) {
	x.mu.Lock()
	l := &x.lanes[d]
	if len(l.line) == 0 {
		l.busy = false
		x.mu.Unlock()
		return
	}
	next := l.line[0]
	l.line = l.line[1:]
	x.mu.Unlock()
	next.granted()
}

// past is a deadline that has always passed.
var past = time.Unix(1, 0)

// interrupt makes the call that is in a lane return soon. It never waits: to set a
// deadline may, with HTTP/2, take a moment of the connection's goroutine. The ResponseWriter may be
// a middleware's, whose panic goes to the Runner's OnError.
func (x *exchange) interrupt(d direction) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.served {
		return // the call has returned, and the loop is about to learn that
	}
	x.others.Add(1)
	go func() {
		defer x.others.Done()
		controller := http.NewResponseController(x.writer)
		set := controller.SetReadDeadline
		if d == writing {
			set = controller.SetWriteDeadline
		}
		// A writer without deadlines is one of a middleware's without Unwrap; then the
		// call ends when the client, or the server, ends it.
		notice(x.handler.loop, contain("a deadline of a http.ResponseWriter", func() error { return set(past) }))
	}()
}
