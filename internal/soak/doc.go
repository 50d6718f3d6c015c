// Package soak runs random programs made from a seed, and checks what must hold
// in every program: scopes end in order, locks exclude, queues keep count, and
// nothing is left behind. It uses only what Rondo exports.
package soak
