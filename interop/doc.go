// Package interop has only tests: they run other people's libraries and test
// suites, unchanged, on Rondo's sockets.
package interop
