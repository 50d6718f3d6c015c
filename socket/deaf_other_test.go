//go:build !linux

package socket_test

import "testing"

// deaf gives an address at which nobody answers: one set aside for documents
// (RFC 5737).
func deaf(testing.TB) string { return "192.0.2.1:9" }
