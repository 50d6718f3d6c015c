// Package coro has coroutines and generators: functions that can pause in the
// middle, hand a value out, and continue later with a value that was handed in.
//
// A coroutine adds concurrency without parallelism. It runs only while its caller
// waits for it. The two never run at the same time, so what they share needs no
// lock. The package uses the runtime's own coroutine switch, through iter.Pull. A
// switch uses no channel and no scheduler, and allocates nothing. The package needs
// no loop: it works in any goroutine and inside a Rondo task.
//
// # Which one
//
// If a for loop can consume the values, write an iterator, an [iter.Seq]: it needs
// no coroutine and costs no more than a call. This package is for the rest:
//
//   - [Pull], if you need the values of an iterator one by one, or the values of
//     two iterators in step.
//   - [New] or [Make], if two sides take turns and each has its own flow of control: a parser
//     that receives byte by byte, a chain of filters, the characters of a game. New returns two
//     functions, resume and cancel; Make returns a [Coroutine] that has them as methods, and
//     also has a status and the stack of a panic. Cancel unwinds the function by a panic, so
//     the code there need not check anything.
//   - [Generator] and [YieldFrom], if values go out, values and errors come in,
//     there is a result at the end, and another generator may do part of the work.
//     A generator learns of its end by an error that Yield returns.
//
// # Ends
//
// Each coroutine has a goroutine from its first resume to its end, and Go does not
// collect a goroutine that nobody will ever run. So the code that makes a coroutine
// must end it: run it until it returns, or cancel, stop or close it, usually with
// defer. That runs the coroutine's deferred calls and waits for them. Before the
// first resume there is nothing to end.
//
// A panic in a coroutine continues in the caller that waits for it, with the same
// value, as in a function call. So it passes along a chain of coroutines, and the
// deferred cancel of each frame on the way cleans up the others.
//
// # Goroutines
//
// All functions and methods may be called from any goroutine. Those that run a coroutine take
// turns, in the order of the calls. A coroutine cannot run itself, nor a coroutine that waits
// for it: the call would wait for ever. Instead it returns [ErrRunning], or panics with an
// error that wraps it. A circle that leads through something else, such as a channel or the
// coroutine of a bare iter.Pull, is not detected, and hangs as it would with a mutex.
//
// Waiting for a turn blocks the goroutine. In a Rondo task it blocks the whole loop.
// Tasks of one loop should not share a coroutine whose function suspends its task.
//
// The runtime requires that a coroutine is resumed under the same thread locking
// under which it began: either no goroutine that resumes it, the first included,
// has called runtime.LockOSThread, or it is always the same goroutine.
package coro
