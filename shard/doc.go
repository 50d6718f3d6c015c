// Package shard runs a program on several loops, one for each processor. Each
// loop with what it owns is a shard.
//
//	shard.Run(ctx, func(ctx context.Context, s *shard.Shard) error {
//		if s.Index() != 0 {
//			return nil // serves the calls and connections that come to it
//		}
//		return shard.Serve(ctx, "tcp", ":7000", &socket.Server{Handler: handle})
//	})
//
// # The laws
//
// A task never leaves its loop, and nobody steals work. So what a shard owns, only
// its own tasks touch, one at a time, and it needs no lock. Who needs something of
// another shard goes there: with Call, which runs a function on that shard and
// returns its result, or with a value through a Chan.
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
// Parallel is what runs on different shards, and nothing else. A lock is not needed
// for what one shard owns; a variable that two shards use needs one, as between
// goroutines, and a task must not wait for a sync.Mutex.
package shard
