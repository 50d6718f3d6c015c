package main

// Progress shows how far something is: on a terminal in one line that is
// written over, else in a line of its own each time.
//
// Writing is offloaded: a terminal that Ctrl-S has stopped stops what it shows, not
// the loop. A write that has begun is always finished, so nothing that is written
// later gets in between.

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/rondo-go/rondo"
)

// columns returns the width of the terminal that w is, or 0 if it is none that
// could be written over.
func columns(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		return width
	}
	return 80
}

// A progress is a place where a line is shown that changes.
type progress struct {
	out     io.Writer
	columns func() int // the width of the terminal, 0 if there is none
	shown   string     // the last line; empty if it is gone
	extent  int        // how many columns were written to
}

// live reports whether lines are written over.
func (p *progress) live() bool { return p.columns() > 0 }

// show puts line in the place of the one before, or below it.
func (p *progress) show(ctx context.Context, line string) error {
	width := p.columns()
	if width == 0 {
		p.shown = line
		return p.write(ctx, strings.TrimRight(line, " ")+"\n")
	}
	// The last columns stay free: a terminal may break a line that reaches them,
	// and shows ^C there.
	if line = clip(line, width-1-len("^C")); line == p.shown {
		return nil
	}
	// What stood there is written over and not cleared first, so nothing flickers.
	used := utf8.RuneCountInString(line)
	p.shown, p.extent = line, max(used, min(p.extent, width-1-len("^C")))
	return p.write(ctx, "\r"+line+strings.Repeat(" ", p.extent-used))
}

// end takes the line off the terminal; elsewhere it leaves a gap below the last.
func (p *progress) end(ctx context.Context) error {
	if p.shown == "" {
		return nil
	}
	text := "\n"
	if p.live() {
		text = "\r" + strings.Repeat(" ", p.extent+len("^C")) + "\r"
	}
	p.shown, p.extent = "", 0
	return p.write(ctx, text)
}

func (p *progress) write(ctx context.Context, text string) error {
	return rondo.Shield(ctx, func(ctx context.Context) error {
		_, err := rondo.Offload(ctx, func(context.Context) (int, error) { return io.WriteString(p.out, text) })
		if err != nil {
			return fmt.Errorf("cannot write the output; look at where it goes: %w", err)
		}
		return nil
	})
}

// clip cuts line to width characters.
func clip(line string, width int) string {
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	return string([]rune(line)[:max(width, 0)])
}

const (
	barLeast = 10
	barMost  = 40
)

// bar draws the part that is done of a whole, in as many characters as room
// leaves, and nothing if that is too few.
func bar(done float64, room int) string {
	if room < barLeast {
		return ""
	}
	width := min(room, barMost)
	halves := int(min(max(done, 0), 1) * float64(2*width))
	b := strings.Repeat("━", halves/2)
	if halves%2 == 1 {
		b += "╸"
	}
	return b + strings.Repeat("─", width-(halves+1)/2)
}
