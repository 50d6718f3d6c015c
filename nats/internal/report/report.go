// Package report writes the log lines of package nats, and the texts of the values in them.
//
// The law: the handler of package slog is the program's, and so are errors and the values of
// panics. Whatever their methods do, the function that reports them returns. What a handler that
// panics did not write goes to standard error.
package report

import (
	"context"
	"fmt"
	"log/slog"
	"os"
)

// Log writes a line by the handler of package slog.
func Log(ctx context.Context, level slog.Level, msg string, args ...any) {
	defer func() {
		if v := recover(); v != nil {
			line := msg
			for _, arg := range args {
				line += " " + Text("%v", arg)
			}
			fmt.Fprintf(os.Stderr, "%s\nnats: the handler of package slog panicked: %s\n", line, Text("%v", v))
		}
	}()
	slog.Log(ctx, level, msg, args...)
}

// Text is fmt.Sprintf of one value. Package fmt prints the panic of a method in place of the
// text; where printing that panics as well, as with an error that panics with itself, Text names
// the type.
func Text(format string, v any) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("(a %T that cannot be printed: its methods panic)", v)
		}
	}()
	return fmt.Sprintf(format, v)
}
