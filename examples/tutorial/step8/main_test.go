package main

import (
	"os"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/examples/internal/program"
	"github.com/rondo-go/rondo/examples/internal/talk"
)

// TestMain passes the child the address at which it listens.
func TestMain(m *testing.M) {
	program.Main(m, func() {
		address, pageAddress = os.Args[1], "localhost:0"
		main()
	})
}

// TestGoodbye ends the program while one member listens, one does not read, and one has
// given no name.
func TestGoodbye(t *testing.T) {
	p := program.Start(t, "localhost:0")
	p.Line() // where the page is
	address := strings.TrimPrefix(p.Line(), "listening on ")
	ann, bob, deaf := talk.Dial(t, address), talk.Dial(t, address), talk.Dial(t, address)
	ann.Hears("your name?")
	ann.Says("ann")
	ann.Hears("welcome, ann")
	deaf.Says("deaf")
	ann.Hears("deaf came in")
	bob.Hears("your name?")
	p.Interrupt()
	ann.Hears("the room is closed, goodbye")
	ann.Ends()
	bob.Ends()
	_, log, code := p.Wait()
	for _, want := range []string{"msg=\"came in\" members=2 loop=chat task=deaf", "msg=closing signal=interrupt members=2", "msg=left loop=chat task=ann"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q", want)
		}
	}
	if code != 0 || t.Failed() {
		t.Errorf("status %d, log:\n%s", code, log)
	}
}
