package main

import (
	"os"
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

func TestEcho(t *testing.T) {
	_, address := talk.Start(t)
	ann, bob := talk.Dial(t, address), talk.Dial(t, address)
	ann.Says("one", "two")
	ann.Hears("you said: one", "you said: two")
	bob.Says("three")
	bob.Hears("you said: three")
	ann.Leaves()
	ann.Ends()
}
