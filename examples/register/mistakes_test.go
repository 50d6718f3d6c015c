package main

import (
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/sim"
)

// trial takes the place of the T of a test that is to fail.
type trial struct {
	testing.TB // nil: what is not below is not called
	failed     bool
	text       strings.Builder
}

func (t *trial) Helper()       {}
func (t *trial) Name() string  { return "TestTrial" }
func (t *trial) Failed() bool  { return t.failed }
func (t *trial) Skipped() bool { return false }

func (t *trial) Log(args ...any)                 { fmt.Fprintln(&t.text, args...) }
func (t *trial) Logf(format string, args ...any) { fmt.Fprintf(&t.text, format+"\n", args...) }

func (t *trial) Errorf(format string, args ...any) {
	t.Logf(format, args...)
	t.failed = true
}

func (t *trial) Fatal(args ...any) {
	t.Log(args...)
	t.failed = true
	runtime.Goexit()
}

func (t *trial) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	runtime.Goexit()
}

// TestMistakes plants one mistake after the other, and wants each found within 200
// seeds.
func TestMistakes(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs some hundred seeds")
	}
	t.Setenv("RONDO_SIM_STORE", t.TempDir())
	for _, m := range []struct {
		name string
		on   *bool
	}{
		{"a read does not write back", &mistakes.noWriteBack},
		{"two of five are a majority", &mistakes.minority},
		{"a replica does not sync", &mistakes.noSync},
		{"the time is the tag", &mistakes.ownClock},
	} {
		*m.on = true
		var tried trial
		done := make(chan bool)
		go func() {
			defer close(done)
			c := sim.Config{Seeds: 200, Faults: faults}
			c.Cluster(&tried, story(&tried))
		}()
		<-done
		*m.on = false
		if !tried.failed {
			t.Errorf("%s: not found in 200 seeds", m.name)
			continue
		}
		t.Logf("%s: %s", m.name, regexp.MustCompile(`seed \d+`).FindString(tried.text.String()))
	}
}
