package coro

// This file is generators, as in Python (PEP 255 and PEP 342), with errors for
// exceptions. A generator is a coroutine whose yields give a value or an error.

import (
	"errors"
	"fmt"
	"iter"
)

var (
	// ErrNotStarted says that a value was sent to a generator that is not at a
	// yield to receive it.
	ErrNotStarted = errors.New("coro: value sent to a generator that has not started")

	// ErrNotFinished says that a generator has no result yet.
	ErrNotFinished = errors.New("coro: generator has not finished")

	// ErrClosed is what a pending Yield returns when its generator is closed.
	ErrClosed = errors.New("coro: generator closed")

	// ErrIgnoredClose says that a generator yielded again after it was told
	// ErrClosed.
	ErrIgnoredClose = errors.New("coro: generator ignored ErrClosed and yielded again")

	errExited = errors.New("coro: generator called runtime.Goexit")
)

// A Generator is a function that yields values of type Y one at a time, may be
// sent a value of type S at each, and at last returns an R and an error.
//
// It runs only while somebody waits in Next, Send, Throw or Close. It has
// finished when its function has ended in whatever way, or when it was closed
// or thrown at before it started. One that has started and is neither run to
// its end nor closed keeps its goroutine for ever: whoever makes a generator
// must see to its end, with a range over All, or with defer g.Close().
//
// If the function panics, the call that waits for it panics with the same
// value; if it calls runtime.Goexit, so does that call. The generator has
// finished then, and Result says so.
//
// Its methods may be called from any goroutine, and take turns in the order of
// asking. From inside the generator, or inside one that it waits for, they
// return ErrRunning; Next, which returns no error, panics with it.
type Generator[Y, S, R any] struct {
	co      Coroutine[message[S], Y]
	body    func(y *Yielder[Y, S]) (R, error)
	decided bool // result and err hold
	ignored bool // the function yielded again after ErrClosed
	result  R
	err     error
}

// A message is what a yield returns.
type message[S any] struct {
	value S
	err   error
}

// A Yielder is a generator's own side of it: that which yields.
type Yielder[Y, S any] struct {
	yield func(Y) message[S]
}

// NewGenerator makes a generator of body, which is called by the first Next.
// It panics if body is nil.
func NewGenerator[Y, S, R any](body func(y *Yielder[Y, S]) (R, error)) *Generator[Y, S, R] {
	if body == nil {
		panic("coro: NewGenerator of a nil function")
	}
	g := &Generator[Y, S, R]{body: body}
	g.co.f = g.run
	g.co.self = &g.co
	return g
}

func (g *Generator[Y, S, R]) run(_ message[S], yield func(Y) message[S]) (none Y) {
	result, err := g.body(&Yielder[Y, S]{yield})
	g.result, g.err, g.decided = result, err, true
	return none
}

// Yield pauses the generator: it makes the call that waits for it return v. It
// returns when the generator is run again, and then what it was sent: the zero
// S by Next, s by Send(s), an error by Throw, ErrClosed by Close.
//
// After ErrClosed the function should clean up and return; if it yields again
// instead, Close gives up on it and Yield panics with an error that is
// ErrCanceled. Yield may be called from any function that the generator calls
// and from other goroutines that it waits for; after the generator's end it
// panics.
func (y *Yielder[Y, S]) Yield(v Y) (S, error) {
	m := y.yield(v)
	return m.value, m.err
}

// Next runs the generator to its next Yield and gives the value yielded and
// true. It gives false when the generator has finished; Result tells how.
func (g *Generator[Y, S, R]) Next() (Y, bool) {
	v, ok, _ := g.co.exchange(message[S]{}, &byNext)
	return v, ok
}

// Send makes the pending Yield return s, runs the generator to its next Yield,
// and gives the value yielded and true. It gives false when the generator has
// finished, together with the function's error if it finished by this call and
// with one.
//
// A generator that has not started has no pending Yield: Send returns
// ErrNotStarted and has done nothing.
func (g *Generator[Y, S, R]) Send(s S) (Y, bool, error) {
	v, ok, err := g.co.exchange(message[S]{value: s}, &bySend)
	if !ok {
		err = g.outcome(err)
	}
	return v, ok, err
}

// outcome gives the error for the caller of an exchange after which nothing was
// yielded: err if there was none, nil if the generator had ended before, and
// the function's own if it has ended.
func (g *Generator[Y, S, R]) outcome(err error) error {
	switch {
	case err == nil:
		_, err = g.Result()
		return err
	case err == errDead:
		return nil
	case errors.Is(err, ErrRunning):
		return ErrRunning
	}
	return err
}

// Throw makes the pending Yield return err, runs the generator to its next
// Yield, and gives the value yielded and true. It gives false when the generator
// has finished, together with the function's error if it finished by this call
// and with one.
//
// A generator that has not started finishes with err and without having run;
// one that has finished stays as it is. In both cases Throw returns err. It
// panics if err is nil.
func (g *Generator[Y, S, R]) Throw(err error) (v Y, ok bool, _ error) {
	if err == nil {
		panic("coro: Throw of a nil error")
	}
	switch misuse := g.co.enter("Throw"); {
	case misuse == errDead:
		return v, false, err
	case misuse != nil:
		return v, false, ErrRunning
	}
	if !g.co.begun() {
		g.err, g.decided = err, true
		g.co.end()
		return v, false, err
	}
	if v, ok = g.co.run(message[S]{err: err}); !ok {
		return v, false, g.outcome(nil)
	}
	g.co.leave()
	return v, true, nil
}

// Close ends the generator. It makes the pending Yield return ErrClosed and
// waits until the function has returned, so that its clean-up has run.
//
// It returns nil if the function returns no error or one that is ErrClosed, and
// the function's error otherwise. If the function yields again instead of
// returning, Close returns ErrIgnoredClose; it has then ended the function by a
// panic that only the function itself can see (see Coroutine.Cancel).
//
// A generator that has not started is finished without having run. Closing one
// that has finished does nothing and returns nil.
func (g *Generator[Y, S, R]) Close() error {
	if err := g.co.enter("Close"); err != nil {
		return g.outcome(err)
	}
	if !g.co.begun() {
		g.err, g.decided = ErrClosed, true
		g.co.end()
		return nil
	}
	if _, alive := g.co.run(message[S]{err: ErrClosed}); alive {
		g.ignored = true
		g.co.cancel()
		return ErrIgnoredClose
	}
	if err := g.outcome(nil); !errors.Is(err, ErrClosed) {
		return err
	}
	return nil
}

// Result gives what the function returned. While the generator has not finished
// the error is ErrNotFinished. If it was closed before it started, the error is
// ErrClosed; if an error was thrown at it before it started, that one; if it
// ignored a Close, ErrIgnoredClose. If the function panicked, the error says so
// and wraps the panic's value if that is an error; PanicStack tells where.
func (g *Generator[Y, S, R]) Result() (R, error) {
	var none R
	switch {
	case g.co.state.Load() != dead:
		return none, ErrNotFinished
	case g.co.panicked:
		if err, ok := g.co.value.(error); ok {
			return none, fmt.Errorf("coro: generator panicked: %w", err)
		}
		return none, fmt.Errorf("coro: generator panicked: %v", g.co.value)
	case g.ignored:
		return none, ErrIgnoredClose
	case !g.decided:
		return none, errExited
	}
	return g.result, g.err
}

// PanicStack gives the text of the generator's stack where its function
// panicked; nil if it did not.
func (g *Generator[Y, S, R]) PanicStack() []byte { return g.co.PanicStack() }

// All gives an iterator over the values that are still to come, made for range:
// it calls Next until the generator has finished. Leaving the loop early, by
// break, return or a panic, closes the generator. An error with which the
// generator finishes, in either way, is in Result.
func (g *Generator[Y, S, R]) All() iter.Seq[Y] {
	return func(yield func(Y) bool) {
		// Nothing is lost with the error: Result has it.
		defer func() { _ = g.Close() }()
		for {
			v, ok := g.Next()
			if !ok || !yield(v) {
				return
			}
		}
	}
}
