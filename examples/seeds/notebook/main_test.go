package main

import (
	"strings"
	"testing"

	child "github.com/rondo-go/rondo/examples/internal/program"
	"github.com/rondo-go/rondo/examples/seeds/internal/golden"
)

func TestMain(m *testing.M) { child.Main(m, main) }

func TestPrograms(t *testing.T) { golden.Test(t, programs) }

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
