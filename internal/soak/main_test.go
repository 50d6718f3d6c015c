package soak

import (
	"os"
	"os/signal"
	"testing"

	"github.com/rondo-go/rondo/internal/leak"
)

// TestMain counts goroutines and descriptors. A coroutine is a goroutine too, so
// what a loop or a test leaves behind shows here. The goroutine of os/signal, which
// never ends, is there before.
func TestMain(m *testing.M) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt)
	signal.Stop(c)
	leak.Main(m)
}
