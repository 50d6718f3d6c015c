package interop_test

// What simulations are judged and looked at with: porcupine checks a sim.History, and
// Chromium opens the picture of a failure.

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/interop/internal/peer"
	"github.com/rondo-go/rondo/sim"
)

// A request writes a value to a register, or reads it.
type request struct {
	write bool
	value int
}

// register is the model of one. A read of which nobody knows the answer may have read
// anything.
var register = porcupine.Model{
	Init: func() any { return 0 },
	Step: func(state, input, output any) (bool, any) {
		in := input.(request)
		if in.write {
			return true, in.value
		}
		out, known := output.(int)
		return !known || out == state.(int), state
	},
}

// linearizable reports whether the history could be that of one register.
func linearizable(h *sim.History[request, int]) bool {
	var ops []porcupine.Operation
	for op := range h.All() {
		one := porcupine.Operation{ClientId: int(op.Client), Input: op.In, Call: op.Called, Return: op.Returned}
		if op.Returned != sim.Pending {
			one.Output = op.Out
		}
		ops = append(ops, one)
	}
	return porcupine.CheckOperations(register, ops)
}

// clients run three clients on a register with two copies, of which a write changes one
// after the other. A read of any copy is not linearizable; of the second one it is.
func clients(ctx context.Context, stale bool) *sim.History[request, int] {
	h, copies := new(sim.History[request, int]), [2]int{}
	_ = rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(func(ctx context.Context) error {
			for v := range 3 {
				op := h.Begin(ctx, request{true, v + 1})
				copies[0] = v + 1
				_ = rondo.Sleep(ctx, time.Millisecond)
				copies[1] = v + 1
				op.End(0)
			}
			h.Begin(ctx, request{true, 4}).Unknown()
			copies[1] = 4
			return nil
		})
		for range 2 {
			g.Go(func(ctx context.Context) error {
				for range 4 {
					op := h.Begin(ctx, request{})
					from := 1
					if stale {
						from = sim.Choose(ctx, 2)
					}
					op.End(copies[from])
					_ = rondo.Sleep(ctx, time.Duration(sim.Choose(ctx, 1000))*time.Microsecond)
				}
				return nil
			})
		}
		return nil
	})
	return h
}

func TestPorcupine(t *testing.T) {
	sim.Config{Seeds: 200, SeedsShort: 200}.Test(t, func(ctx context.Context) {
		if !linearizable(clients(ctx, false)) {
			t.Error("a register with one copy is not linearizable")
		}
	})
	found := 0
	sim.Config{Seeds: 200, SeedsShort: 200}.Test(t, func(ctx context.Context) {
		if !linearizable(clients(ctx, true)) {
			found++
		}
	})
	if found < 20 {
		t.Error("stale reads were found", found, "times")
	}
}

// failsOnPurpose is the environment variable that makes TestFailsOnPurpose fail.
const failsOnPurpose = "RONDO_INTEROP_FAILS"

func TestFailsOnPurpose(t *testing.T) {
	if os.Getenv(failsOnPurpose) == "" {
		return // it runs in a process of TestPicture
	}
	sim.Config{Seeds: 1000}.Test(t, func(ctx context.Context) {
		if !linearizable(clients(ctx, true)) {
			t.Error("</script><b>not linearizable</b>")
		}
	})
}

// TestPicture opens the picture of a failure in Chromium.
func TestPicture(t *testing.T) {
	t.Parallel()
	chromium := peer.Need(t, "chromium")
	dir := t.TempDir()
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFailsOnPurpose$")
	c.Env = append(os.Environ(), failsOnPurpose+"=1", "RONDO_SEED=", "RONDO_SHRINK=1m", "RONDO_SIM_STORE="+dir)
	text, err := c.CombinedOutput()
	name := regexp.MustCompile(`picture: (\S+\.html);`).FindSubmatch(text)
	if err == nil || name == nil {
		t.Fatalf("no picture: %v\n%s", err, text)
	}
	file := string(name[1])
	if !filepath.IsAbs(file) || !strings.HasPrefix(file, dir) {
		t.Error(file)
	}
	document, complaints := browse(t, chromium, "file://"+file+"#row-1")
	if complaints != "" {
		t.Error(complaints)
	}
	if n := strings.Count(document, `class="row `); n < 10 {
		t.Error(n, "rows are drawn")
	}
	for _, want := range []string{"TestFailsOnPurpose, seed ", "The choices that matter", "Choose returned 1 to task-", "waits for sleep",
		`data-drawn=`, "class=\"arrow\"", "FAILS: the test failed", `<pre id="detail">0s  `} {
		if !strings.Contains(document, want) {
			t.Errorf("no %q in the picture", want)
		}
	}
	if strings.Contains(document, "http:") && strings.Contains(document, `src="http`) {
		t.Error("the page needs other files")
	}
	trace, err := os.ReadFile(strings.TrimSuffix(file, ".html") + ".trace.json")
	if err != nil || !strings.Contains(string(trace), `"traceEvents":[`) {
		t.Error(err)
	}
}
