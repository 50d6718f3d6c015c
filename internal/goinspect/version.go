package goinspect

// The release of Go that built the program.

import (
	"bytes"
	"strconv"
	"strings"
)

// version returns the version of Go that the program was built with, such as
// "go1.26.8", from the record that every Go program carries for go version; ""
// if there is none.
func version(mem Memory) string {
	magic := []byte("\xff Go buildinf:")
	found := ""
	look := func(_ uint64, b []byte) {
		for i := bytes.Index(b, magic); i >= 0 && found == ""; {
			// At 32 stands the version, after its length.
			rest := b[i:]
			if len(rest) > 34 && rest[15]&2 != 0 {
				if n := int(rest[32]); n < 64 && len(rest) >= 33+n && strings.HasPrefix(string(rest[33:33+n]), "go") {
					found = string(rest[33 : 33+n])
				}
			}
			next := bytes.Index(b[i+1:], magic)
			if next < 0 {
				return
			}
			i += 1 + next
		}
	}
	scan(mem, func(r Region) bool { return r.Writable }, look)
	if found == "" {
		scan(mem, func(r Region) bool { return !r.Writable && !r.Executable }, look)
	}
	return Printable(found)
}

// minor returns the second number of a version such as "go1.26.8", or -1.
func minor(version string) int {
	rest, ok := strings.CutPrefix(version, "go1.")
	if !ok {
		return -1
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end >= 0 {
		rest = rest[:end]
	}
	n, err := strconv.Atoi(rest)
	if err != nil {
		return -1
	}
	return n
}
