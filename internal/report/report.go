// Package report writes Rondo's log lines.
//
// The law: the handler of package slog is the program's, and so are the values in a line. No task
// has called them, so a panic of theirs ends nobody: what they did not write goes to standard
// error, where Go itself writes.
package report

import (
	"context"
	"fmt"
	"log/slog"
	"os"
)

// Log writes a line by the handler of package slog.
func Log(level slog.Level, msg string, args ...any) {
	defer func() {
		if v := recover(); v != nil {
			line := msg
			for _, arg := range args {
				line += " " + Text(arg)
			}
			fmt.Fprintln(os.Stderr, line)
			fmt.Fprintln(os.Stderr, "rondo: the handler of package slog panicked:", Text(v))
		}
	}()
	slog.Log(context.Background(), level, msg, args...)
}

// Text is fmt.Sprint of a value of the program's. Package fmt prints the panic of a method in
// place of the text; where printing that panics as well, as with an error that panics with
// itself, Text returns the type.
func Text(v any) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("(a %T that cannot be printed: its methods panic)", v)
		}
	}()
	return fmt.Sprint(v)
}

// Args returns the arguments of a log line, keys and values in turns, without the
// pairs of which the value is an empty string.
func Args(pairs ...any) (args []any) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			args = append(args, pairs[i], pairs[i+1])
		}
	}
	return args
}
