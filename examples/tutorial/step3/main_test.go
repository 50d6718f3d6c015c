package main

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/examples/internal/program"
	"github.com/rondo-go/rondo/examples/internal/talk"
)

// TestMain passes the child the address at which it listens.
func TestMain(m *testing.M) {
	program.Main(m, func() {
		address = os.Args[1]
		main()
	})
}

func TestRoom(t *testing.T) {
	_, address := talk.Start(t)
	ann, bob := talk.Dial(t, address), talk.Dial(t, address)
	bob.Says("hello")
	ann.Hears("hello")
	ann.Says("one", "two")
	bob.Hears("one", "two")
	bob.Leaves()
	bob.Ends()
}

// TestSlow has a member that does not read. It has to go, and nobody waits for it.
func TestSlow(t *testing.T) {
	_, address := talk.Start(t)
	ann, deaf := talk.Dial(t, address), talk.Dial(t, address)
	deaf.Says("I am here")
	ann.Hears("I am here")
	const lines = 1000
	long := strings.Repeat("la ", 10_000) // so that all is far more than a connection holds
	for range lines {
		ann.Says(long)
	}
	bob := talk.Dial(t, address)
	bob.Says("hello")
	ann.Hears("hello")
	if n, err := io.Copy(io.Discard, deaf); n >= int64(lines*len(long)) || err == nil && n == 0 {
		t.Errorf("the member that did not read was sent %d bytes, %v", n, err)
	}
}
