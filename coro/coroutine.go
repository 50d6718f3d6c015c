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
// was given, and returns what the next Resume is given. Yield may be called
// from any function that f calls and be passed to other goroutines; calls by
// several take turns, and while one of them waits for the next Resume so do
// the others, and so does the end of f. After the end yield panics.
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
	if !c.mustEnter("Resume") {
		var none Out
		return none, false
	}
	return c.exchange(in)
}

// exchange is Resume for who has the turn; it gives the turn back.
func (c *Coroutine[In, Out]) exchange(in In) (Out, bool) {
	var none Out
	c.in = in
	c.step()
	out := c.out
	c.out = none
	if c.state.Load() == dead {
		return out, false
	}
	c.leave()
	return out, true
}

// Cancel ends the coroutine and returns when it is dead. On a dead coroutine it
// does nothing.
//
// If the coroutine has not begun, its function is never called. Otherwise the
// pending yield panics with an error that is ErrCanceled, another one at each
// Cancel, so that the function unwinds and its deferred calls run. The function
// may recover the panic and return. Every further yield panics in the same way
// and nothing is paused any more; a function that goes on yielding all the same
// is ended as if by runtime.Goexit.
//
// Cancel is silent about its own panic. If the function panics with anything
// else, Cancel panics with the same value; if it calls runtime.Goexit, so does
// Cancel.
func (c *Coroutine[In, Out]) Cancel() {
	if c.mustEnter("Cancel") {
		c.cancel()
	}
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

// perform runs the function on the coroutine's goroutine.
func (c *Coroutine[In, Out]) perform() {
	out := c.f(c.take(), c.yield)
	c.floor.Lock()
	c.out = out
}

// yield pauses the coroutine.
func (c *Coroutine[In, Out]) yield(out Out) In {
	c.speak()
	c.out = out
	c.pause(unit{})
	in := c.take()
	if c.canceled != nil {
		c.refuse()
	}
	c.floor.Unlock()
	return in
}

// take empties in, so that nothing is kept alive that the function has let go.
func (c *Coroutine[In, Out]) take() In {
	var none In
	in := c.in
	c.in = none
	return in
}
