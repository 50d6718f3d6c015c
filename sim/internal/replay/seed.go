// Package replay parses and formats the values of RONDO_SEED, and writes the command that
// runs a failed test again.
package replay

import (
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/rondo-go/rondo/sim/internal/choice"
)

// Variable is the environment variable that says what to run.
const Variable = "RONDO_SEED"

// A Plan is a parsed RONDO_SEED: seeds for Test, or one seed with the choices to
// repeat, or one order for Explore, or nothing.
type Plan struct {
	Seeds       bool
	First, Last uint64
	Changes     []byte          // of the choices of a seed, by a fuzzer
	List        []choice.Choice // nil: the seeds decide
	Order       []int           // nil: none was given
}

// Planned returns the plan of this process.
func Planned() (Plan, error) { return Parse(os.Getenv(Variable)) }

// Parse reads "7", "1-2000", "7+00a1", "7:o1.2=3" or "x:0,1,0".
func Parse(s string) (Plan, error) {
	if s == "" {
		return Plan{}, nil
	}
	bad := fmt.Errorf("sim: %s=%q: want a seed as 7, a range of seeds as 1-2000, a seed with changes as 7+00a1, "+
		"a seed with its choices as 7:o1.2=3, or an order as x:0,1", Variable, s)
	if list, ok := strings.CutPrefix(s, "x:"); ok {
		order := []int{}
		for list != "" {
			var field string
			field, list, ok = strings.Cut(list, ",")
			n, err := strconv.ParseUint(field, 10, 31)
			if err != nil || ok && list == "" {
				return Plan{}, bad
			}
			order = append(order, int(n))
		}
		return Plan{Order: order}, nil
	}
	if seed, list, ok := strings.Cut(s, ":"); ok {
		number, err := strconv.ParseUint(seed, 10, 64)
		choices, err2 := choice.Parse(list)
		if err != nil || err2 != nil {
			return Plan{}, bad
		}
		return Plan{First: number, Last: number, Seeds: true, List: choices}, nil
	}
	if seed, text, ok := strings.Cut(s, "+"); ok {
		number, err := strconv.ParseUint(seed, 10, 64)
		changes, err2 := hex.DecodeString(text)
		if err != nil || err2 != nil {
			return Plan{}, bad
		}
		return Plan{First: number, Last: number, Seeds: true, Changes: changes}, nil
	}
	from, to, ok := strings.Cut(s, "-")
	if !ok {
		to = from
	}
	first, err := strconv.ParseUint(from, 10, 64)
	if err != nil {
		return Plan{}, bad
	}
	last, err := strconv.ParseUint(to, 10, 64)
	if err != nil || last < first {
		return Plan{}, bad
	}
	return Plan{Seeds: true, First: first, Last: last}, nil
}

// FormatList writes the value of RONDO_SEED for the choices in a list.
func FormatList(seed uint64, list []choice.Choice) string {
	return FormatSeed(seed) + ":" + choice.Format(list)
}

// FormatSeed writes the value of RONDO_SEED for a seed.
func FormatSeed(seed uint64) string { return strconv.FormatUint(seed, 10) }

// FormatChanged writes the value of RONDO_SEED for a seed with changes.
func FormatChanged(seed uint64, changes []byte) string {
	if len(changes) == 0 {
		return FormatSeed(seed)
	}
	return FormatSeed(seed) + "+" + hex.EncodeToString(changes)
}

// FormatOrder writes an order without the zeros at its end. The order in which the
// first is always chosen is "x:0".
func FormatOrder(order []int) string {
	order = Significant(order)
	if len(order) == 0 {
		return "x:0"
	}
	b := []byte("x:")
	for i, n := range order {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return string(b)
}

// Significant returns order without the zeros at its end: after the last choice of
// a list the first is always chosen.
func Significant(order []int) []int {
	for len(order) > 0 && order[len(order)-1] == 0 {
		order = order[:len(order)-1]
	}
	return order
}
