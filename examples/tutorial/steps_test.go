package tutorial_test

// The programs of the steps, each run as a process.

import (
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/examples/internal/program"
	"github.com/rondo-go/rondo/examples/internal/talk"
)

// start starts the program of a step.
func start(t *testing.T, step string) *program.Process {
	t.Helper()
	file := filepath.Join(t.TempDir(), step)
	flags := "-w -X main.address=localhost:0 -X main.pageAddress=localhost:0"
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags", flags, "-o", file, "./"+step).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return program.StartFile(t, file)
}

func TestEcho(t *testing.T) {
	t.Parallel()
	address := talk.Address(t, start(t, "step1"))
	ann, bob := talk.Dial(t, address), talk.Dial(t, address)
	ann.Says("one", "two")
	ann.Hears("you said: one", "you said: two")
	bob.Says("three")
	bob.Hears("you said: three")
	ann.Leaves()
	ann.Ends()
}

func TestShared(t *testing.T) {
	t.Parallel()
	address := talk.Address(t, start(t, "step2"))
	ann, bob := talk.Dial(t, address), talk.Dial(t, address)
	bob.Says("hello")
	ann.Hears("hello")
	ann.Says("hello, bob")
	bob.Hears("hello, bob")
}

// TestSlow has two members talk. Then comes one that does not read: it has to go, and nobody waits.
func TestSlow(t *testing.T) {
	t.Parallel()
	address := talk.Address(t, start(t, "step3"))
	ann, bob := talk.Dial(t, address), talk.Dial(t, address)
	bob.Says("hello")
	ann.Hears("hello")
	ann.Says("one", "two")
	bob.Hears("one", "two")
	bob.Leaves()
	bob.Ends()
	deaf := talk.Dial(t, address)
	deaf.Says("I am here")
	ann.Hears("I am here")
	const lines = 1000
	long := strings.Repeat("la ", 10_000) // so that all is far more than a connection holds
	for range lines {
		ann.Says(long)
	}
	other := talk.Dial(t, address)
	other.Says("hello again")
	ann.Hears("hello again")
	if n, err := io.Copy(io.Discard, deaf); n >= int64(lines*len(long)) || err == nil && n == 0 {
		t.Errorf("the member that did not read was sent %d bytes, %v", n, err)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	address := talk.Address(t, start(t, "step6"))
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

// TestPage wants the names of the members on the page.
func TestPage(t *testing.T) {
	t.Parallel()
	p := start(t, "step7")
	at := strings.TrimPrefix(p.Line(), "tasks at ")
	ann := talk.Dial(t, strings.TrimPrefix(p.Line(), "listening on "))
	ann.Hears("your name?")
	ann.Says("ann")
	ann.Hears("welcome, ann")
	defer http.DefaultClient.CloseIdleConnections()
	a, err := http.Get(at)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	page, err := io.ReadAll(a.Body)
	if err != nil || !strings.Contains(string(page), "ann reads") {
		t.Errorf("%v: no task on the page\n%s", err, page)
	}
}

// TestGoodbye ends the program while one member listens, one does not read, and one has
// given no name.
func TestGoodbye(t *testing.T) {
	t.Parallel()
	p := start(t, "step8")
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
