//go:build linux

package main

// screen is a terminal that understands the control sequences of rondo top.

import (
	"fmt"
	"strings"
)

const columns, rows = 104, 14

// A cell is a character of the screen and how it looks.
type cell struct {
	char                      rune
	bold, faint, inverse, red bool
}

// A screen is what a terminal shows.
type screen struct {
	cells    [rows][columns]cell
	row, col int
	look     cell
}

// write takes the output of a program and returns how much of it it has used: an escape
// sequence at the end may lack its rest.
func (s *screen) write(text []rune) (used int) {
	for used < len(text) {
		c := text[used]
		if c == '\x1b' {
			n := s.escape(text[used:])
			if n == 0 {
				return used
			}
			used += n
			continue
		}
		used++
		switch {
		case c == '\r':
			s.col = 0
		case c == '\n':
			s.row = min(s.row+1, rows-1)
		case c >= ' ' && s.col < columns:
			s.look.char = c
			s.cells[s.row][s.col] = s.look
			s.col++
		}
	}
	return used
}

// escape does what an escape sequence says, and returns its length: 0 if its end is missing.
func (s *screen) escape(text []rune) int {
	if len(text) < 2 {
		return 0
	}
	if text[1] != '[' {
		return 2
	}
	end := 2
	for end < len(text) && (text[end] < '@' || text[end] > '~') {
		end++
	}
	if end == len(text) {
		return 0
	}
	var n, m int
	given, _ := fmt.Sscanf(string(text[2:end]), "%d;%d", &n, &m)
	if strings.ContainsAny(string(text[2:end]), "?>$") {
		return end + 1 // modes
	}
	switch text[end] {
	case 'H':
		s.row, s.col = clamp(n, rows), clamp(m, columns)
	case 'A':
		s.row = max(0, s.row-max(n, 1))
	case 'B':
		s.row = min(rows-1, s.row+max(n, 1))
	case 'C':
		s.col = min(columns-1, s.col+max(n, 1))
	case 'D':
		s.col = max(0, s.col-max(n, 1))
	case 'G':
		s.col = clamp(n, columns)
	case 'd':
		s.row = clamp(n, rows)
	case 'X':
		s.blank(s.row, s.col, s.col+max(n, 1))
	case 'K':
		s.blank(s.row, s.col, columns)
	case 'J':
		if n == 0 {
			s.blank(s.row, s.col, columns)
		}
		for r := range rows {
			if n == 2 || r > s.row {
				s.blank(r, 0, columns)
			}
		}
	case 'b': // the last character again
		for range max(n, 1) {
			if s.col < columns {
				s.cells[s.row][s.col] = s.look
				s.col++
			}
		}
	case 'm':
		s.style(n, given)
	}
	return end + 1
}

// clamp makes an index of a position that counts from 1.
func clamp(n, limit int) int { return min(max(n, 1), limit) - 1 }

func (s *screen) blank(row, from, to int) {
	for c := from; c < min(to, columns); c++ {
		s.cells[row][c] = cell{}
		s.cells[row][c].inverse = s.look.inverse
	}
}

func (s *screen) style(n, given int) {
	switch {
	case given == 0 || n == 0:
		s.look = cell{}
	case n == 1:
		s.look.bold = true
	case n == 2:
		s.look.faint = true
	case n == 7:
		s.look.inverse = true
	case n == 31 || n == 91:
		s.look.red = true
	}
}
