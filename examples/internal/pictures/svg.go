//go:build linux

package main

// A screen, or lines of text, as SVG.

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf8"
)

// The size of a character, in pixels.
const wide, high, margin = 7.8, 17.0, 14.0

// A run is text that looks the same.
type run struct {
	text string
	look cell
}

// lines returns what the screen shows, without empty lines at the end.
func (s *screen) lines() (list [][]run) {
	for r := range s.cells {
		var line []run
		for _, c := range s.cells[r] {
			char := c.char
			if char == 0 {
				char = ' '
			}
			c.char = 0
			if n := len(line); n > 0 && line[n-1].look == c {
				line[n-1].text += string(char)
			} else {
				line = append(line, run{string(char), c})
			}
		}
		list = append(list, line)
	}
	return list
}

// plain returns lines of a text.
func plain(text string) (list [][]run) {
	for _, l := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		list = append(list, []run{{text: l}})
	}
	return list
}

// draw returns the lines as SVG.
func draw(title string, lines [][]run) string {
	var b strings.Builder
	w := begin(&b, title, [][][]run{lines})
	drawLines(&b, lines, w)
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}

// begin begins a picture that has room for each of some screens, and returns its width.
func begin(b *strings.Builder, title string, screens [][][]run) (w float64) {
	width, height := 0, 0
	for _, lines := range screens {
		height = max(height, len(lines))
		for _, l := range lines {
			n := 0
			for _, r := range l {
				n += utf8.RuneCountInString(strings.TrimRight(r.text, " "))
			}
			width = max(width, n)
		}
	}
	w = float64(width)*wide + 2*margin
	h := float64(height)*high + 2*margin
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img">`+"\n", w, h, w, h)
	fmt.Fprintf(b, "<title>%s</title>\n", html.EscapeString(title))
	fmt.Fprintf(b, `<rect width="100%%" height="100%%" rx="6" fill="#16191d"/>`+"\n")
	fmt.Fprintf(b, `<g font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="13" fill="#dfe3e8">`+"\n")
	return w
}

// drawLines draws lines below each other.
func drawLines(b *strings.Builder, lines [][]run, w float64) {
	for i, l := range lines {
		x, y := margin, margin+float64(i)*high
		for _, r := range l {
			length := float64(utf8.RuneCountInString(r.text)) * wide
			fill := ""
			switch {
			case r.look.inverse:
				fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="#dfe3e8"/>`+"\n", x, y, min(length, w-margin-x), high)
				fill = ` fill="#16191d"`
			case r.look.red:
				fill = ` fill="#ff7b72"`
			case r.look.faint:
				fill = ` fill="#8b949e"`
			}
			if r.look.bold {
				fill += ` font-weight="bold"`
			}
			if text := strings.TrimRight(r.text, " "); text != "" {
				fmt.Fprintf(b, `<text x="%.1f" y="%.1f" textLength="%.1f"%s>%s</text>`+"\n",
					x, y+high-4.5, float64(utf8.RuneCountInString(text))*wide, fill, html.EscapeString(strings.ReplaceAll(text, " ", "\u00a0"))) // as wide as it is
			}
			x += length
		}
	}
}
