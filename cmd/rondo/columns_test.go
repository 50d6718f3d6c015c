package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestCut(t *testing.T) {
	for _, test := range []struct {
		text                   string
		width                  int
		cut, tail, left, right string
	}{
		{"abc", 3, "abc", "abc", "abc", "abc"},
		{"abc", 5, "abc", "abc", "abc  ", "  abc"},
		{"abcdef", 3, "ab…", "…ef", "ab…", "ab…"},
		{"abc", 1, "…", "…", "…", "…"},
		{"abc", 0, "", "", "", ""},
		{"abc", -1, "", "", "", ""},
		{"部屋", 4, "部屋", "部屋", "部屋", "部屋"},
		{"部屋", 5, "部屋", "部屋", "部屋 ", " 部屋"},
		{"部屋の", 5, "部屋…", "…屋の", "部屋…", "部屋…"},
		{"部屋の", 4, "部…", "…の", "部… ", " 部…"}, // half a character does not fit
		{"e\u0301e\u0301", 2, "e\u0301e\u0301", "e\u0301e\u0301", "e\u0301e\u0301", "e\u0301e\u0301"},
	} {
		got := []string{cut(test.text, test.width), tail(test.text, test.width), pad(test.text, test.width, false), pad(test.text, test.width, true)}
		if want := []string{test.cut, test.tail, test.left, test.right}; fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("%q in %d: %q, want %q", test.text, test.width, got, want)
		}
	}
}

func TestFit(t *testing.T) {
	cs := []column{{width: 4}, {}, {}, {width: 6, from: 30}}
	for _, test := range []struct {
		width int
		need  []int
		want  string
	}{
		{40, []int{0, 5, 5, 0}, "[4 5 5 6]"},     // all that they need
		{40, []int{0, 50, 5, 0}, "[4 22 5 6]"},   // the rest goes to who needs more
		{40, []int{0, 50, 50, 0}, "[4 13 14 6]"}, // or in halves
		{29, []int{0, 50, 50, 0}, "[4 11 12 0]"}, // the last has no room
		{6, []int{0, 50, 50, 0}, "[4 0 0 0]"},
		{7, []int{0, 50, 50, 0}, "[4 0 1 0]"},
		{1, []int{0, 50, 50, 0}, "[4 0 0 0]"}, // lay cuts them
	} {
		if got := fmt.Sprint(fit(cs, test.need, test.width)); got != test.want {
			t.Errorf("on %d for %v: %s, want %s", test.width, test.need, got, test.want)
		}
	}
}

// TestAlignWide: one very wide cell does not widen its column for all rows.
func TestAlignWide(t *testing.T) {
	wide := strings.Repeat("w", 512)
	got := align([][]string{{"a", "1"}, {wide, "2"}, {"bcd", "3"}})
	blanks := strings.Repeat(" ", widest)
	if got[0] != "a"+blanks[1:]+"   1" || got[1] != wide+"   2" || got[2] != "bcd"+blanks[3:]+"   3" {
		t.Errorf("%q", got)
	}
}
