package inspect_test

import (
	"os"
	"os/signal"
	"testing"

	"github.com/rondo-go/rondo/internal/leak"
)

func TestMain(m *testing.M) {
	// The first Notify starts a goroutine of package os/signal that never ends.
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt)
	signal.Stop(c)
	leak.Main(m)
}
