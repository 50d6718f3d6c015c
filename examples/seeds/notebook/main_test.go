package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	child "github.com/rondo-go/rondo/examples/internal/program"
	"github.com/rondo-go/rondo/examples/seeds/internal/golden"
)

func TestMain(m *testing.M) { child.Main(m, main) }

func TestPrograms(t *testing.T) { golden.Test(t, programs) }

// TestPairs wants the loop that is made by hand to do what Rondo does. They were
// asked different questions about policy.
func TestPairs(t *testing.T) {
	pairs := 0
	for _, p := range programs {
		name, ok := strings.CutSuffix(p.Name, "-by-hand")
		if !ok || name == "policy" {
			continue
		}
		pairs++
		byHand, err := os.ReadFile("testdata/" + p.Name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		onRondo, err := os.ReadFile("testdata/" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(byHand, onRondo) {
			t.Errorf("%s by hand:\n%s\non Rondo:\n%s", name, byHand, onRondo)
		}
	}
	if pairs != 7 {
		t.Errorf("there are %d pairs, not 7", pairs)
	}
}

// TestCommand runs programs as a user would.
func TestCommand(t *testing.T) {
	output, errors, code := child.Start(t, "coroutines", "futures").Wait()
	if !strings.HasPrefix(output, "-- coroutines: ") || !strings.Contains(output, "\n\n-- futures: ") || errors != "" || code != 0 {
		t.Errorf("exit code %d, errors %q, output\n%s", code, errors, output)
	}
	output, errors, code = child.Start(t, "nothing").Wait()
	if output != "" || !strings.Contains(errors, `no program "nothing"`) || code != 2 {
		t.Errorf("exit code %d, errors %q, output %q", code, errors, output)
	}
	_, errors, code = child.Start(t, "-help").Wait()
	if !strings.Contains(errors, "iterators") || code != 0 {
		t.Errorf("exit code %d, errors %q", code, errors)
	}
}
