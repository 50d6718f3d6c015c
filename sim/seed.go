package sim

// This file parses and formats the values of RONDO_SEED.

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

const variable = "RONDO_SEED"

// A plan is a parsed RONDO_SEED: seeds for Test, or one seed with the choices to
// repeat, or one order for Explore, or nothing.
type plan struct {
	seeds       bool
	first, last uint64
	list        []choice // nil: the seeds decide
	order       []int    // nil: none was given
}

func planned() (plan, error) { return parsePlan(os.Getenv(variable)) }

// parsePlan reads "7", "1-2000", "7:o1.2=3" or "x:0,1,0".
func parsePlan(s string) (plan, error) {
	if s == "" {
		return plan{}, nil
	}
	bad := fmt.Errorf("sim: %s=%q: want a seed as 7, a range of seeds as 1-2000, or an order as x:0,1", variable, s)
	if list, ok := strings.CutPrefix(s, "x:"); ok {
		order := []int{}
		for list != "" {
			var field string
			field, list, ok = strings.Cut(list, ",")
			n, err := strconv.ParseUint(field, 10, 31)
			if err != nil || ok && list == "" {
				return plan{}, bad
			}
			order = append(order, int(n))
		}
		return plan{order: order}, nil
	}
	if seed, list, ok := strings.Cut(s, ":"); ok {
		number, err := strconv.ParseUint(seed, 10, 64)
		choices, err2 := parseChoices(list)
		if err != nil || err2 != nil {
			return plan{}, bad
		}
		return plan{first: number, last: number, seeds: true, list: choices}, nil
	}
	from, to, ok := strings.Cut(s, "-")
	if !ok {
		to = from
	}
	first, err := strconv.ParseUint(from, 10, 64)
	if err != nil {
		return plan{}, bad
	}
	last, err := strconv.ParseUint(to, 10, 64)
	if err != nil || last < first {
		return plan{}, bad
	}
	return plan{seeds: true, first: first, last: last}, nil
}

// formatList writes the value of RONDO_SEED for the choices in a list.
func formatList(seed uint64, list []choice) string {
	return formatSeed(seed) + ":" + formatChoices(list)
}

func formatSeed(seed uint64) string { return strconv.FormatUint(seed, 10) }

// formatOrder writes an order without the zeros at its end. The order in which the
// first is always chosen is "x:0".
func formatOrder(order []int) string {
	order = significant(order)
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

// significant returns order without the zeros at its end: after the last choice of
// a list the first is always chosen.
func significant(order []int) []int {
	for len(order) > 0 && order[len(order)-1] == 0 {
		order = order[:len(order)-1]
	}
	return order
}
