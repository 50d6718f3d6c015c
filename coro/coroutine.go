package coro

// A Coroutine is a function that can pause: it runs while somebody waits in
// Resume or Cancel, and never otherwise.
//
// It is begun by the first Resume, which also makes its goroutine; it is dead
// when its function has returned, panicked, called runtime.Goexit or been
// cancelled, and then its goroutine has ended too. One that was begun and is
// neither run to its end nor cancelled keeps its goroutine for ever: whoever
// makes a coroutine must see to its end, usually with defer c.Cancel().
//
// Its methods may be called from any goroutine. Calls of Resume and Cancel by
// several take turns, in the order of asking. From inside the coroutine itself,
// or from a coroutine that it has resumed and that it waits for, they panic
// with an error that is ErrRunning.
type Coroutine[In, Out any] struct {
	routine
	f   func(in In, yield func(Out) In) Out
	in  In  // on its way to the function
	out Out // on its way from the function
}

// Make makes a paused coroutine that will run f. It panics if f is nil.
//
// The first Resume calls f. Its first argument is what that Resume was given;
// the second, yield, pauses the coroutine: it makes Resume return what yield
// was given, and returns what the next Resume is given.
//
// Yield may be called from any function that f calls, and by other goroutines
// that f waits for. If several call it, they take turns: while one of them waits
// for the next Resume, so do the others, and so does the end of f. After the end
// yield panics.
func Make[In, Out any](f func(in In, yield func(Out) In) Out) *Coroutine[In, Out] {
	if f == nil {
		panic("coro: a coroutine was made of a nil function")
	}
	c := &Coroutine[In, Out]{f: f}
	c.self = c
	return c
}

// Resume runs the coroutine until it yields or ends, and waits for it.
//
// It returns what the function yielded and true, or what it returned and
// false. On a dead coroutine it returns zero and false. If the function
// panics, Resume panics with the same value, and PanicStack has the stack that
// it comes from; if the function calls runtime.Goexit, so does Resume.
func (c *Coroutine[In, Out]) Resume(in In) (Out, bool) {
	out, ok, _ := c.exchange(in, &byResume)
	return out, ok
}

// A call is one of those that run a coroutine and hand it something.
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

// exchange takes the turn, hands in over, runs the coroutine, and gives the turn
// back. If there was nothing to run, the error is ErrRunning, in words that name
// the call, or ErrNotStarted or errDead.
//
// It does what enter and run do without calling them: each frame between the
// caller and the switch costs a return that the processor mispredicts.
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

// run is exchange for who has the turn, and keeps it while the coroutine lives.
func (c *Coroutine[In, Out]) run(in In) (out Out, alive bool) {
	c.in = in
	c.step()
	out, c.out = c.out, out
	return out, c.state.Load() != dead
}

// Cancel ends the coroutine and returns when it is dead. On a dead coroutine it
// does nothing.
//
// If the coroutine has not begun, its function is never called. Otherwise the
// pending yield panics with an error that is ErrCanceled, another one at each
// Cancel, so that the function unwinds and its deferred calls run. The function
// may recover the panic and return. Every further yield panics in the same way
// and pauses nothing; a function that has recovered a hundred of these and still
// goes on yielding is ended as if by runtime.Goexit.
//
// Cancel is silent about its own panic. If the function panics with anything
// else, Cancel panics with the same value; if it calls runtime.Goexit, so does
// Cancel.
func (c *Coroutine[In, Out]) Cancel() {
	if err := c.enter("Cancel"); err != nil {
		misused(err)
		return
	}
	c.cancel()
}

// PanicStack gives the text of the coroutine's stack where its function
// panicked, as debug.Stack formats it; nil if it did not panic. A panic that
// passed through several coroutines is known to each of them, and the innermost
// one has the stack that it comes from.
func (c *Coroutine[In, Out]) PanicStack() []byte {
	if c.state.Load() != dead {
		return nil
	}
	return c.stack
}

// perform runs the function on the coroutine's goroutine. The function's result
// is handed over under the floor, like what it yielded: another goroutine's yield
// may be pending whose value nobody has fetched (TestYieldRacesEnd).
func (c *Coroutine[In, Out]) perform() {
	out := c.f(c.take(), func(out Out) In {
		c.floor.Lock()
		if c.silent {
			c.refuseAtOnce()
		}
		c.out = out
		c.pause(unit{})
		if c.silent {
			c.refuse()
		}
		in := c.take()
		c.floor.Unlock()
		return in
	})
	c.floor.Lock()
	c.out = out
}

// take empties in, so that nothing is kept alive that the function has let go.
func (c *Coroutine[In, Out]) take() In {
	var none In
	in := c.in
	c.in = none
	return in
}
