//go:build !linux

package main

// The rows that need Linux are missing elsewhere.

import "errors"

const hidden = "-child"

func child([]string) error { return errors.New("this system has no rows that start processes") }

func systemRows() []comparison { return nil }

func processRows() []row {
	return []row{{name: "echo", section: servers, run: func(options) ([]result, error) {
		return nil, missing("The rows with processes are missing: they run on Linux only.")
	}}}
}
