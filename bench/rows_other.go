//go:build !linux

package main

// This file stands for the rows that need what only Linux has.

import "errors"

const hidden = "-child"

func child([]string) error { return errors.New("there are no children on this system") }

func systemDuels() []duel { return nil }

func processRows() []row {
	return []row{{"echo", func(options) ([]finding, error) {
		return nil, &leftOut{"The rows for servers were left out: they are measured on Linux only."}
	}}}
}
