package main

import (
	"context"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rondo-go/rondo"
)

// terminalText is what a terminal shows that is so wide and was written text: it knows
// carriage return and line feed, and goes on in the next line when one is full.
func terminalText(text string, width int) []string {
	lines, at := [][]rune{nil}, 0
	for _, r := range text {
		switch {
		case r == '\r':
			at = 0
			continue
		case r == '\n' || at == width:
			lines, at = append(lines, nil), 0
			if r == '\n' {
				continue
			}
		}
		last := &lines[len(lines)-1]
		if at == len(*last) {
			*last = append(*last, r)
		} else {
			(*last)[at] = r
		}
		at++
	}
	shown := make([]string, len(lines))
	for i, l := range lines {
		shown[i] = strings.TrimRight(string(l), " ")
	}
	return shown
}

func TestProgressOnTerminal(t *testing.T) {
	const width = 20
	var out strings.Builder
	p := &progress{out: &out, columns: func() int { return width }}
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		for _, line := range []string{"a long line", "short", "short", "━━━━ much too long for this terminal", "end"} {
			before := out.Len()
			if err := p.show(ctx, line); err != nil {
				return err
			}
			if got, want := terminalText(out.String(), width), clip(line, width-3); len(got) != 1 || got[0] != want {
				t.Errorf("the terminal shows %q, want %q", got, want)
			}
			if line == "short" && p.shown == line && out.Len() > before && strings.Count(out.String(), line) > 1 {
				t.Error("the same line was written twice")
			}
		}
		// What the terminal says about Ctrl-C goes with the line.
		out.WriteString("^C")
		return p.end(ctx)
	})
	if err != nil {
		t.Fatal(err)
	}
	out.WriteString("what follows")
	if got := terminalText(out.String(), width); len(got) != 1 || got[0] != "what follows" {
		t.Errorf("the terminal shows %q", got)
	}
}

func TestProgressElsewhere(t *testing.T) {
	var out strings.Builder
	p := &progress{out: &out, columns: func() int { return 0 }}
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		for _, line := range []string{"one", "one  ", strings.Repeat("long", 50)} {
			if err := p.show(ctx, line); err != nil {
				return err
			}
		}
		return p.end(ctx)
	})
	if want := "one\none\n" + strings.Repeat("long", 50) + "\n\n"; err != nil || out.String() != want {
		t.Errorf("error %v, output %q", err, out.String())
	}
}

// A line is shown to its end though its task is cancelled, so that nothing
// follows in the middle of it.
func TestProgressIsNotCutOff(t *testing.T) {
	started, goOn := make(chan bool), make(chan bool)
	var out strings.Builder
	p := &progress{columns: func() int { return 0 }, out: writerFunc(func(b []byte) (int, error) {
		close(started)
		<-goOn
		return out.Write(b)
	})}
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		show := rondo.Go(ctx, func(ctx context.Context) error { return p.show(ctx, "whole") })
		if _, _, err := rondo.Receive(ctx, started); err != nil {
			return err
		}
		show.Cancel(nil)
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
		if show.Done() {
			t.Error("the task has ended and its line is not written")
		}
		close(goOn)
		return show.Wait(ctx)
	})
	if err != nil || out.String() != "whole\n" {
		t.Errorf("error %v, output %q", err, out.String())
	}
}

type writerFunc func(b []byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func TestBar(t *testing.T) {
	for _, test := range []struct {
		done float64
		room int
		want string
	}{
		{0, 10, "──────────"},
		{0.04, 10, "──────────"},
		{0.05, 10, "╸─────────"},
		{0.5, 10, "━━━━━─────"},
		{0.55, 10, "━━━━━╸────"},
		{1, 10, "━━━━━━━━━━"},
		{1.5, 10, "━━━━━━━━━━"},
		{-1, 10, "──────────"},
		{0.5, 9, ""},
		{0.5, -5, ""},
	} {
		if got := bar(test.done, test.room); got != test.want {
			t.Errorf("bar(%v, %d) is %q, want %q", test.done, test.room, got, test.want)
		}
	}
	if got := utf8.RuneCountInString(bar(0.3, 500)); got != barMost {
		t.Errorf("a bar in a wide terminal is %d wide, want %d", got, barMost)
	}
}

// While the clients talk, the line keeps its width, whatever is in it, and has a
// bar wherever there are 80 columns.
func TestLineIsCalm(t *testing.T) {
	for _, columns := range []int{60, 80, 81, 100, 200} {
		d := &demo{conns: 1000, length: 5 * time.Second, size: 64, dialled: 1000, begun: time.Unix(1000, 0)}
		var speed pace
		width := 0
		for i := range 50 {
			d.trips.n += uint64(i * 1000)
			d.trips.record(time.Duration(i*i*i) * time.Microsecond)
			line := d.line(d.begun.Add(time.Duration(i)*time.Second/10), &speed, columns)
			got := utf8.RuneCountInString(line)
			if width == 0 {
				width = got
			}
			if got != width {
				t.Errorf("%d columns: the line is %d wide after %d: %q", columns, got, width, line)
			}
			if columns < 80 {
				continue
			}
			if got > columns-3 || !strings.ContainsAny(line, "━╸─") {
				t.Errorf("%d columns: the line is %q", columns, line)
			}
		}
	}
}

func TestPace(t *testing.T) {
	var p pace
	at := func(ms int, n uint64) float64 { return p.mark(time.Unix(1000, int64(ms)*1e6), n) }
	for _, test := range []struct {
		ms   int
		n    uint64
		want float64
	}{
		{0, 0, 0},
		{0, 7, 0}, // no time has passed
		{500, 100, 200},
		{1000, 300, 300},
		{1500, 300, 200}, // over the last second
		{2000, 300, 0},
		{4000, 400, 50}, // over a longer time, if nothing is known of a second ago
	} {
		if got := at(test.ms, test.n); got != test.want {
			t.Errorf("at %d ms: %v a second, want %v", test.ms, got, test.want)
		}
	}
}
