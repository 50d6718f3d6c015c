package inspect

// This file draws where tasks are: as folded stacks, which other tools read, and as
// a flame graph.

import (
	"bufio"
	"cmp"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
	"time"
)

// A Weight says how much a task counts in a flame graph.
type Weight string

const (
	ByCount Weight = "count" // each task the same
	ByTime  Weight = "time"  // a task as long as it has waited, in microseconds
)

// of returns how much a task counts.
func (w Weight) of(t *Task) int64 {
	if w == ByTime {
		return int64(t.Since / time.Microsecond)
	}
	return 1
}

// WriteFolded writes a line for each stack that tasks have: the program's calls, the
// outermost first, with semicolons between them, then what the task waits for, and
// how much those tasks count. The heaviest stacks come first. Tools that draw flame
// graphs read this. Tasks that ran while the snapshot was taken are "(ran
// meanwhile)". An error is that of w.
func (p *Program) WriteFolded(w io.Writer, weight Weight) error {
	out := bufio.NewWriter(w)
	for _, f := range foldAll(p, weight) {
		fmt.Fprintln(out, f.stack, f.weight)
	}
	return out.Flush()
}

// A fold is the tasks with the same stack.
type fold struct {
	stack  string
	weight int64
}

func foldAll(p *Program, weight Weight) []fold {
	sums := make(map[string]int64)
	shapes := make(map[*Frame]string)
	for _, l := range p.Loops {
		for _, t := range l.Tasks {
			stack := "(ran meanwhile)"
			if !t.Moved {
				stack = folded(t.Stack, shapes) + ";[" + strings.ReplaceAll(t.kindOfWait(), ";", ",") + "]"
			}
			if n := weight.of(t); n > 0 {
				sums[stack] += n
			}
		}
	}
	out := make([]fold, 0, len(sums))
	for stack, n := range sums {
		out = append(out, fold{stack, n})
	}
	slices.SortFunc(out, func(a, b fold) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.stack, b.stack))
	})
	return out
}

// A flame is a call in a flame graph, with the calls above it.
type flame struct {
	name   string
	weight int64
	above  []*flame // in the order of their names
}

func (f *flame) child(name string) *flame {
	i, ok := slices.BinarySearchFunc(f.above, name, func(c *flame, name string) int { return strings.Compare(c.name, name) })
	if !ok {
		f.above = slices.Insert(f.above, i, &flame{name: name})
	}
	return f.above[i]
}

// depth returns how many calls are above each other.
func (f *flame) depth() int {
	most := 0
	for _, c := range f.above {
		most = max(most, c.depth())
	}
	return 1 + most
}

// Sizes of a flame graph, in pixels. A call that is narrower than flameLeast is not
// drawn, nor one above flameMost others.
const (
	flameWidth = 1200.0
	flameRow   = 17
	flameChar  = 6.6
	flameLeast = 0.3
	flameMost  = 200
)

// WriteFlame writes a flame graph as SVG: the outermost calls below, those that
// they made above, as wide as the tasks that stand there count. What the tasks wait
// for is on top. An error is that of w.
func (p *Program) WriteFlame(w io.Writer, weight Weight) error {
	root := &flame{name: "all tasks"}
	for _, f := range foldAll(p, weight) {
		root.weight += f.weight
		at := root
		for i, call := range strings.Split(f.stack, ";") {
			if i == flameMost {
				break
			}
			at = at.child(call)
			at.weight += f.weight
		}
	}
	out := bufio.NewWriter(w)
	rows := root.depth()
	height := (rows + 2) * flameRow
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" viewBox="0 0 %.0f %d" font-family="monospace" font-size="11">`+"\n", flameWidth, height, flameWidth, height)
	fmt.Fprintf(out, `<rect width="100%%" height="100%%" fill="#fff"/><text x="4" y="12">%s, %s: %s</text>`+"\n",
		html.EscapeString(p.Go), p.Taken.Format("2006-01-02 15:04:05"), html.EscapeString(weight.total(root.weight)))
	if root.weight > 0 {
		root.draw(out, weight, root.weight, 0, height-flameRow)
	}
	fmt.Fprintln(out, "</svg>")
	return out.Flush()
}

// total says how much tasks count together.
func (w Weight) total(n int64) string {
	if w == ByTime {
		return "waited " + short(time.Duration(n)*time.Microsecond) + " in all"
	}
	return count(int(n), "task")
}

// draw draws a call with its left side at x of the whole, and those above it.
func (f *flame) draw(out io.Writer, weight Weight, whole int64, x float64, y int) {
	width := flameWidth * float64(f.weight) / float64(whole)
	if width < flameLeast {
		return
	}
	// The color is that of the name.
	hue := 0
	for _, c := range f.name {
		hue = (hue*31 + int(c)) % 50
	}
	fmt.Fprintf(out, `<g><title>%s: %s, %.1f %%</title><rect x="%.1f" y="%d" width="%.1f" height="%d" fill="hsl(%d,80%%,68%%)" stroke="#fff" stroke-width="0.5"/>`,
		html.EscapeString(f.name), weight.total(f.weight), 100*float64(f.weight)/float64(whole), x, y, width, flameRow-1, 10+hue)
	if room := int((width - 6) / flameChar); room >= 3 {
		name := []rune(f.name[strings.LastIndexByte(f.name, '/')+1:])
		if len(name) > room {
			name = append(name[:room-1], '…')
		}
		fmt.Fprintf(out, `<text x="%.1f" y="%d">%s</text>`, x+3, y+12, html.EscapeString(string(name)))
	}
	fmt.Fprintln(out, "</g>")
	for _, c := range f.above {
		c.draw(out, weight, whole, x, y-flameRow)
		x += flameWidth * float64(c.weight) / float64(whole)
	}
}
