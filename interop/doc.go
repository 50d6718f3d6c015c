// Package interop holds tests only: libraries and suites of others, run on
// Rondo's sockets as they are.
package interop
