package interop_test

// What clients of simulated clusters saw, judged by porcupine: the tests of two examples
// write it down, with what their own checker says.

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// A record is a history as examples/internal/linear writes it.
type record struct {
	Test       string
	Operations []struct {
		In               struct{ Do, Write, Value string }
		Out              string
		Called, Returned int64
	}
	OK bool
}

// operations returns the operations as porcupine wants them. The output of one that has no
// answer is nil.
func (r *record) operations() (all []porcupine.Operation) {
	for i, o := range r.Operations {
		in := o.In
		if in.Write != "" { // in the register there is no other command
			in.Do, in.Value = "set", in.Write
		}
		one := porcupine.Operation{ClientId: i, Input: in, Call: o.Called, Return: o.Returned}
		if o.Returned != math.MaxInt64 {
			one.Output = o.Out
		}
		all = append(all, one)
	}
	return all
}

// oneKey is a store with one key: what the register and the key-value service are.
var oneKey = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		in, after := input.(struct{ Do, Write, Value string }), state.(string)
		switch {
		case in.Do == "set":
			after = in.Value
		case in.Do == "append":
			after += in.Value
		}
		out, known := output.(string)
		if in.Write != "" { // the register answers nothing to a write
			known = false
		}
		return !known || out == after, after
	},
}

// TestHistories has the tests of examples/register and examples/raft run, with one of the mistakes
// that they plant and without it, and porcupine judge each history as they do.
func TestHistories(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it builds and runs other tests")
	}
	for _, c := range []struct{ example, tests string }{
		{"register", "TestRegister|TestMistakes/a_read_does_not_write_back"},
		{"raft", "TestCluster|TestMistakes/a_leader_reads_alone"},
	} {
		t.Run(c.example, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "histories")
			run := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-count=1", "-run", c.tests, "../examples/"+c.example)
			run.Env = append(os.Environ(), "RONDO_HISTORIES="+file, "RONDO_SEED=1-10", "RONDO_TRIALS=")
			if said, err := run.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			count := map[bool]int{}
			for line := range bytes.Lines(text) {
				var r record
				if err := json.Unmarshal(line, &r); err != nil {
					t.Fatal(err)
				}
				want := porcupine.Illegal
				if r.OK {
					want = porcupine.Ok
				}
				if got := porcupine.CheckOperationsTimeout(oneKey, r.operations(), time.Minute); got != want {
					t.Errorf("porcupine says %s, not %s, of a history of %s:\n%s", got, want, r.Test, line)
				}
				count[r.OK]++
			}
			t.Logf("%d histories are right and %d wrong", count[true], count[false])
			if count[true] < 20 || count[false] < 1 {
				t.Error("that is too few")
			}
		})
	}
}
