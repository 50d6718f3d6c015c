package coro

// A Coroutine is a function that can pause. It runs only while a caller waits in
// Resume or Cancel.
//
// The first Resume begins it and makes its goroutine. It is dead when its function
// has returned, panicked, called runtime.Goexit or been cancelled, and then its
// goroutine has ended too. A coroutine that has begun and is neither run to its end
// nor cancelled keeps its goroutine for ever. So the code that makes a coroutine
// must end it, usually with defer c.Cancel().
//
// Its methods may be called from any goroutine. Calls of Resume and Cancel by several
// goroutines take turns, in the order of the calls. From inside the coroutine itself, or from a
// coroutine that it has resumed and waits for, they panic with an error that wraps ErrRunning.
type Coroutine[In, Out any] struct {
	routine
	f   func(in In, yield func(Out) In) Out
	in  In  // on its way to the function
	out Out // on its way from the function
}

// Make makes a paused coroutine that will run f. It panics if f is nil.
//
// The first Resume calls f with its own argument and yield. A call yield(out)
// pauses the coroutine and makes Resume return out; it returns the argument of the
// next Resume.
//
// Yield may be called from any function that f calls, and by other goroutines that
// f waits for. If several call it, they take turns: while one of them waits for the
// next Resume, so do the others, and so does the end of f. After the end yield
// panics.
func Make[In, Out any](f func(in In, yield func(Out) In) Out) *Coroutine[In, Out] {
	if f == nil {
		panic("coro: a coroutine was made of a nil function")
	}
	c := &Coroutine[In, Out]{f: f}
	c.self = c
	return c
}

// Resume runs the coroutine until it yields or ends, and waits for that.
//
// It returns what the function yielded and true, or what it returned and
// false. On a dead coroutine it returns zero and false. If the function
// panics, Resume panics with the same value, and PanicStack has the stack that
// it comes from; if the function calls runtime.Goexit, so does Resume.
func (c *Coroutine[In, Out]) Resume(in In) (Out, bool) {
	out, ok, _ := c.exchange(in, &byResume)
	return out, ok
}

// A call is a method or function that runs a coroutine and hands it a value.
type call struct {
	name   string
	begins bool // it may begin the coroutine
	panics bool // it has no error to return
}

var (
	byResume = call{"Resume", true, true}
	byPull   = call{"pull", true, true}
	byNext   = call{"Next", true, true}
	bySend   = call{"Send", false, false}
)

// exchange takes the turn, hands in over, runs the coroutine, and releases the turn.
// If there was nothing to run, the error is ErrNotStarted, errDead, or one that is
// ErrRunning and names the call.
//
// It repeats the code of enter and run, because each frame between the caller and
// the switch costs a return that the processor mispredicts.
func (c *Coroutine[In, Out]) exchange(in In, by *call) (out Out, ok bool, err error) {
	if !c.try() {
		if err := c.contend(by.name); err != nil {
			if by.panics {
				misused(err)
			}
			return out, false, err
		}
	}
	if c.next == nil {
		if !by.begins {
			c.leave()
			return out, false, ErrNotStarted
		}
		c.begin()
	}
	c.in = in
	c.next()
	if c.question != nil {
		c.reply()
	}
	out, c.out = c.out, out
	if c.state.Load() == dead {
		return out, false, nil
	}
	c.leave()
	return out, true, nil
}

// run is exchange for a caller that has the turn. The caller keeps it while the
// coroutine lives.
func (c *Coroutine[In, Out]) run(in In) (out Out, alive bool) {
	c.in = in
	c.step()
	out, c.out = c.out, out
	return out, c.state.Load() != dead
}

// Cancel ends the coroutine and returns when it is dead. On a dead coroutine it
// does nothing.
//
// If the coroutine has not begun, its function is never called. Otherwise the pending yield
// panics with an error that wraps ErrCanceled, a new one for each coroutine, so that the
// function unwinds and its deferred calls run. The function may recover the panic and return.
// Every further yield panics in the same way and does not pause. A function that recovers a
// hundred of these panics and still yields is ended as if by runtime.Goexit.
//
// Cancel does not pass on its own panic. If the function panics with anything else,
// Cancel panics with the same value; if it calls runtime.Goexit, so does Cancel.
func (c *Coroutine[In, Out]) Cancel() {
	if err := c.enter("Cancel"); err != nil {
		misused(err)
		return
	}
	c.cancel()
}

// PanicStack returns the coroutine's stack at the panic of its function, as
// debug.Stack formats it, or nil if it did not panic. If a panic passed through
// several coroutines, each of them has a stack of it, and that of the innermost one
// shows where it began.
func (c *Coroutine[In, Out]) PanicStack() []byte {
	if c.state.Load() != dead {
		return nil
	}
	return c.stack
}

// perform runs the function on the coroutine's goroutine. The result is stored
// under the floor, like yielded values, because another goroutine's yield may be
// pending whose value nobody has taken (TestYieldRacesEnd).
func (c *Coroutine[In, Out]) perform() {
	out := c.f(c.take(), func(out Out) In {
		c.floor.Lock()
		if c.closed {
			c.refuseAtOnce()
		}
		c.out = out
		c.pause(unit{})
		if c.closed {
			c.refuse()
		}
		in := c.take()
		c.floor.Unlock()
		return in
	})
	c.floor.Lock()
	c.out = out
}

// take returns in and clears it, so that the coroutine does not keep it alive.
func (c *Coroutine[In, Out]) take() In {
	var none In
	in := c.in
	c.in = none
	return in
}
