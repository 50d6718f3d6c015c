package soak

import (
	"testing"

	"github.com/rondo-go/rondo/internal/leak"
)

// TestMain counts goroutines and descriptors. A coroutine is a goroutine too, so
// what a loop or a test leaves behind shows here.
func TestMain(m *testing.M) { leak.Main(m) }
