// Package shard runs a program on several loops, one for each processor. A shard is one of
// these loops, together with the state that belongs to it.
//
//	shard.Run(ctx, func(ctx context.Context, s *shard.Shard) error {
//		if s.Index() != 0 {
//			return nil // serves the calls and connections that come to it
//		}
//		return shard.Serve(ctx, "tcp", ":7000", &socket.Server{Handler: handle})
//	})
//
// An httptask.Server in its place runs handlers of net/http on all loops.
//
// # The laws
//
// A task never leaves its loop. Only the tasks of a shard touch what the shard owns,
// and one of them runs at a time, so it needs no lock. A task that needs something of
// another shard uses Call, which runs a function on that shard and returns its result,
// or sends a value through a Chan.
//
// The loops begin together and end together: no main runs before all loops do, and
// a shard serves until main has returned on each of them. The first error cancels
// all shards, with itself as the cause.
//
// # When to use it
//
// One loop is enough until it is busy most of the time: rondo top shows that. Then
// ask what it does. A few long computations belong to Offload. Many short ones, for
// many connections, belong to shards, if the state can be divided: by room, by user,
// by key. State that every request changes stays on one loop, and shards only add
// the cost of going there.
//
// Tasks of one shard never run in parallel. Tasks of different shards do: a variable
// that two shards use must be atomic or have a lock, as between goroutines. Hold a
// sync.Mutex only for a moment, and never while a task waits, because a task that
// waits for one stops its whole loop.
package shard
