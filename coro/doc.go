// Package coro gives Go coroutines and generators: functions that can pause in
// the middle, hand a value out, and go on later with a value that was handed in.
//
// A coroutine adds concurrency without parallelism. It runs only while somebody
// waits for it, so the two never run at the same time, and what they share needs
// no lock. It is the runtime's own coroutine switch, reached through iter.Pull,
// that passes control; no channel and no scheduler is involved, and nothing is
// allocated (BenchmarkResume, beside BenchmarkIterPull). Nothing here depends on
// a loop: the package works in any goroutine, inside a Rondo task, and alone.
//
// # Which one
//
// If a for loop can consume the values, write an iterator, an [iter.Seq]: it
// needs no coroutine and costs no more than a call. This package is for the rest:
//
//   - Values from an iterator are wanted one by one, or from two iterators in
//     step: [Pull].
//   - Two sides take turns and each has its own flow of control: a parser that
//     is fed byte by byte, a chain of filters, a game's characters: [New]. Its
//     cancel unwinds the other side by a panic, so that the code there need not
//     check anything. [Make] is New with a handle, that has a status and the
//     stack of a panic.
//   - Values go out, values and errors come in, there is a result in the end,
//     and part of the work may be another's: [Generator] and [YieldFrom]. A
//     generator is told of its end by an error that Yield returns.
//
// # Ends
//
// Each coroutine has a goroutine from its first resume to its end, and Go does
// not collect a goroutine that nobody will ever run. So who makes a coroutine
// ends it: runs it until it returns, or cancels, stops or closes it, which
// runs its deferred calls before it returns. With defer that is one line. Before
// the first resume there is nothing to end.
//
// A panic in a coroutine goes on, with the same value, in whoever waits for it,
// as if it were a call. So it passes along a chain of coroutines, and the
// deferred cancel of each frame on the way cleans up the others.
//
// # Goroutines
//
// All functions and methods may be called from any goroutine. Those that run a
// coroutine take turns, in the order of asking. From inside the coroutine that
// is to be run, or inside one that it waits for, they would wait for ever; they
// panic instead, or return an error, which is [ErrRunning]. A circle that leads
// through something else that is waited for, a channel or the coroutine of a
// bare iter.Pull, is not seen, and hangs as it would with a mutex.
//
// Whoever waits for a turn holds up its goroutine, and so a Rondo task that does
// holds up its loop. Tasks of one loop should not share a coroutine whose
// function suspends its task.
//
// The runtime wants a coroutine to be resumed under the same thread locking
// under which it was begun: either no resumer of it, the first included, has
// called runtime.LockOSThread, or it is always one and the same goroutine.
package coro
