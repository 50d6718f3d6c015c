//go:build !linux

package main

// This file replaces the rows that need Linux.

import "errors"

const hidden = "-child"

func child([]string) error { return errors.New("this system has no rows that start processes") }

func systemRows() []comparison { return nil }

func processRows() []row {
	return []row{{"echo", func(options) ([]result, error) {
		return nil, &skipped{"The rows for servers are missing: they run on Linux only."}
	}}}
}
