//go:build linux

package main

import (
	"strings"
	"testing"
	"time"
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

// TestFilm: what stands long enough is a shot, once, and the film has each for as long as it stood.
func TestFilm(t *testing.T) {
	c, at := new(camera), time.Unix(1000, 0)
	for _, s := range []struct {
		text  string
		after time.Duration
	}{{"one", 0}, {"half", time.Second}, {"two", settled / 2}, {"two", time.Second}, {"three", time.Second}} {
		at = at.Add(s.after)
		c.see(plain(s.text), at)
	}
	shots := c.end(at.Add(time.Second))
	var got string
	for _, s := range shots {
		got += s.lines[0][0].text + " " + s.length.String() + ", "
	}
	if want := "one 1.025s, two 2s, three 1s, "; got != want {
		t.Errorf("the shots are %s; want %s", got, want)
	}
	svg := project("a film", shots)
	if strings.Count(svg, "<set ") != 3 || !strings.Contains(svg, `begin="film.begin+3.02s" dur="1.00s"`) && !strings.Contains(svg, `begin="film.begin+3.03s" dur="1.00s"`) {
		t.Errorf("%s", svg)
	}
}
