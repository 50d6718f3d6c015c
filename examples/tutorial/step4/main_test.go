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

func TestNames(t *testing.T) {
	_, address := talk.Start(t)
	ann, bob := talk.Dial(t, address), talk.Dial(t, address)
	ann.Hears("your name?")
	ann.Says("ann")
	ann.Hears("welcome, ann")
	bob.Hears("your name?")
	bob.Says(" ann", "", "bob")
	bob.Hears("that name is taken", "your name?", "that name is taken", "your name?", "welcome, bob")
	ann.Hears("bob came in")
	ann.Says("hello")
	bob.Hears("ann: hello")
	bob.Leaves()
	ann.Hears("bob left")
	bob.Ends()
}
