package inspect_test

import (
	"fmt"
	"os"
	"os/signal"
	"testing"

	"github.com/rondo-go/rondo/internal/leak"
)

// underRace says that the race detector watches the tests.
var underRace bool

// workshop is the folder for what the tests build.
var workshop string

func TestMain(m *testing.M) {
	// The first Notify starts a goroutine of package os/signal that never ends.
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt)
	signal.Stop(c)
	dir, err := os.MkdirTemp("", "rondo-inspect-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	workshop = dir
	code := leak.Run(m)
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
