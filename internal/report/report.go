// Package report has the form of Rondo's log lines.
package report

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
