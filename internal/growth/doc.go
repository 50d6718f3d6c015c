// Package growth has the test that no cost grows with anything but the work asked for: each
// exported operation of the root, broadcast, shard and coro, and of a socket.Server, is done
// beside few and beside many tasks, scopes, timers, waiters, values, readers or connections.
package growth
