package goinspect

import (
	"strings"
	"unicode"
)

// Printable replaces what would disturb a terminal: every text that comes from the
// other program goes through it, names of functions and files too.
func Printable(s string) string {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return strings.Map(func(c rune) rune {
				if unicode.IsPrint(c) && c != unicode.ReplacementChar {
					return c
				}
				return '?'
			}, s)
		}
	}
	return s
}
