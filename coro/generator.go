package coro

// Generators are those of Python (PEP 255 and PEP 342), with errors in place of
// exceptions. A generator is a coroutine whose yields return a value or an error.

import (
	"errors"
	"fmt"
	"iter"
)

var (
	// ErrNotStarted is the error of sending a value to a generator that has not
	// reached a Yield.
	ErrNotStarted = errors.New("coro: value sent to a generator that has not started")

	// ErrNotFinished is the error of Result while the generator has no result.
	ErrNotFinished = errors.New("coro: generator has not finished")

	// ErrClosed is what a pending Yield returns when its generator is closed.
	ErrClosed = errors.New("coro: generator closed")

	// ErrIgnoredClose is the error of closing a generator that yields again after
	// its Yield has returned ErrClosed.
	ErrIgnoredClose = errors.New("coro: generator ignored ErrClosed and yielded again")

	errExited = errors.New("coro: generator called runtime.Goexit")
)

// A Generator is a function that yields values of type Y one at a time, may receive
// a value of type S at each, and at the end returns an R and an error.
//
// It runs only while a caller waits in Next, Send, Throw or Close. It has finished
// when its function has ended in any way, or when it was closed or thrown at before
// it started. A generator that has started and is neither run to its end nor closed
// keeps its goroutine for ever. So the code that makes a generator must end it, with
// a range over All or with defer g.Close().
//
// If the function panics, the call that waits for it panics with the same value; if
// it calls runtime.Goexit, so does that call. The generator has then finished, and
// Result returns an error that says how.
//
// Its methods may be called from any goroutine, and take turns in the order of the
// calls. From inside the generator, or inside one that it waits for, they return
// ErrRunning; Next returns no error and panics with it.
type Generator[Y, S, R any] struct {
	co      Coroutine[message[S], Y]
	body    func(y *Yielder[Y, S]) (R, error)
	decided bool // result and err are set
	ignored bool // the function yielded again after ErrClosed
	result  R
	err     error
}

// A message is what a yield returns.
type message[S any] struct {
	value S
	err   error
}

// A Yielder is what the function of a generator yields with.
type Yielder[Y, S any] struct {
	yield func(Y) message[S]
}

// NewGenerator makes a generator that runs body. The first Next calls body.
// NewGenerator panics if body is nil.
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

// Yield pauses the generator and makes the call that waits for it return v. Yield
// returns when the generator runs again: the zero S for Next, s for Send(s), an
// error for Throw, ErrClosed for Close.
//
// After ErrClosed the function should clean up and return. If it yields again instead, Yield
// panics with an error that wraps ErrCanceled. Yield may be called from any function that the
// generator calls, and from other goroutines that it waits for. After the generator's end it
// panics.
func (y *Yielder[Y, S]) Yield(v Y) (S, error) {
	m := y.yield(v)
	return m.value, m.err
}

// Next runs the generator to its next Yield and returns the yielded value and true.
// It returns false when the generator has finished; Result says how.
func (g *Generator[Y, S, R]) Next() (Y, bool) {
	v, ok, _ := g.co.exchange(message[S]{}, &byNext)
	return v, ok
}

// Send makes the pending Yield return s, runs the generator to its next Yield, and
// returns the yielded value and true. It returns false when the generator has
// finished. If the generator finished in this call, the error is the function's.
//
// A generator that has not started has no pending Yield: Send does nothing and
// returns ErrNotStarted.
func (g *Generator[Y, S, R]) Send(s S) (Y, bool, error) {
	v, ok, err := g.co.exchange(message[S]{value: s}, &bySend)
	if !ok {
		err = g.outcome(err)
	}
	return v, ok, err
}

// outcome returns the error for the caller of an exchange that yielded nothing. err
// is the error of the exchange. The result is the function's error if err is nil,
// nil if the generator had ended before, and err otherwise.
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

// Throw makes the pending Yield return err, runs the generator to its next Yield,
// and returns the yielded value and true. It returns false when the generator has
// finished. If the generator finished in this call, the error is the function's.
//
// A generator that has not started finishes with err without having run. One that
// has finished does not change. In both cases Throw returns err. It panics if err is
// nil.
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

// Close ends the generator. It makes the pending Yield return ErrClosed and waits
// until the function has returned, so that its clean-up has run.
//
// It returns nil if the function returns no error or one that is ErrClosed, and the
// function's error otherwise. If the function yields again instead of returning,
// Close ends it as [Coroutine.Cancel] does, by a panic in the function, and returns
// ErrIgnoredClose.
//
// A generator that has not started finishes without having run. Closing one that
// has finished does nothing and returns nil.
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

// Result returns what the function returned. While the generator has not finished,
// the error is ErrNotFinished. If it was closed before it started, the error is
// ErrClosed. If an error was thrown at it before it started, it is that error. If it
// ignored a Close, it is ErrIgnoredClose. If the function panicked, the error says so
// and wraps the panic's value if that is an error; PanicStack says where.
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

// PanicStack returns the generator's stack at the panic of its function, or nil if
// it did not panic.
func (g *Generator[Y, S, R]) PanicStack() []byte { return g.co.PanicStack() }

// All returns an iterator over the values that are still to come, for use with
// range. It calls Next until the generator has finished. Leaving the loop early, by
// break, return or a panic, closes the generator. Result has the error with which
// the generator finishes.
func (g *Generator[Y, S, R]) All() iter.Seq[Y] {
	return func(yield func(Y) bool) {
		// The error is not lost: Result has it.
		defer func() { _ = g.Close() }()
		for {
			v, ok := g.Next()
			if !ok || !yield(v) {
				return
			}
		}
	}
}
