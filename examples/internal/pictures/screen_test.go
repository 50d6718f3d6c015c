//go:build linux

package main

import (
	"strings"
	"testing"
)

// TestScreen wants the terminal to do what rondo top asks of one, also if the text comes
// in pieces.
func TestScreen(t *testing.T) {
	s := new(screen)
	text := []rune("\x1b[?1049h\x1b[H\x1b[2J\x1b[1mab\x1b[mcd\r\nefgh\x1b[2;2HX\x1b[1X\x1b[4G!\x1b[1;4H\x1b[K\x1b[7mZ\x1b[m\r\x1b[2Blast")
	var rest []rune
	for i := range text {
		rest = append(rest, text[i])
		rest = rest[s.write(rest):]
	}
	var lines []string
	for _, l := range s.lines() {
		line := ""
		for _, r := range l {
			line += r.text
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	if got := strings.TrimRight(strings.Join(lines, "\n"), "\n"); got != "abcZ\neX !\nlast" || len(rest) != 0 {
		t.Errorf("it shows %q, and %q is left", got, rest)
	}
	if !s.cells[0][0].bold || s.cells[0][2].bold || !s.cells[0][3].inverse {
		t.Errorf("the looks are %+v", s.cells[0][:4])
	}
	if svg := draw("a <b>", s.lines()); !strings.Contains(svg, "<title>a &lt;b&gt;</title>") || strings.Count(svg, "<text") != 5 {
		t.Errorf("%s", svg)
	}
}
