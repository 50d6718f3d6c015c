//go:build !linux

package socket_test

import "testing"

// blackhole returns an address at which nobody answers: one set aside for documents
// (RFC 5737).
func blackhole(testing.TB) string { return "192.0.2.1:9" }
