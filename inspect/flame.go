package inspect

// Drawings of where tasks are: as folded stacks, which other tools read, and as
// a flame graph.

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Weight says how much a task counts in a flame graph.
type Weight string

const (
	ByCount Weight = "count" // each task the same
	ByTime  Weight = "time"  // a task as long as it has waited, in microseconds
	byWall  Weight = "wall"  // as long as it ran, was ready or waited between snapshots
	byFile  Weight = "file"  // of a file, which does not say it
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
// meanwhile)". Errors are those of w.
func (p *Program) WriteFolded(w io.Writer, weight Weight) error {
	return p.Profile(weight).WriteFolded(w)
}

// Profile returns the stacks of the snapshot's tasks, and how much the tasks count.
func (p *Program) Profile(weight Weight) *Profile {
	r := &Profile{weight: weight, title: p.Go + ", " + p.Taken.Format("2006-01-02 15:04:05"), sums: make(map[string]int64)}
	shapes := make(map[*Frame]string)
	for _, l := range p.Loops {
		for _, t := range l.Tasks {
			stack := "(ran meanwhile)"
			if !t.Moved {
				stack = folded(t.Stack, shapes) + ";" + inBrackets(t.kindOfWait())
			}
			r.add(stack, weight.of(t))
		}
	}
	return r
}

// inBrackets is what stands above the calls of a stack.
func inBrackets(what string) string { return "[" + strings.ReplaceAll(what, ";", ",") + "]" }

// A flame is a call in a flame graph, with the calls above it.
type flame struct {
	name   string
	weight int64
	was    int64    // in the profile with which it is compared
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

// WriteFlame writes a flame graph as SVG: the outermost calls at the bottom, and above each call
// those that it made. The width of a call is the sum of the weights of the tasks that are in it.
// What the tasks wait for is on top. Errors are those of w.
func (p *Program) WriteFlame(w io.Writer, weight Weight) error {
	return p.Profile(weight).WriteFlame(w, nil)
}

// total says how much tasks count together.
func (w Weight) total(n int64) string {
	switch long := short(time.Duration(n) * time.Microsecond); w {
	case ByTime:
		return "waited " + long + " in all"
	case byWall:
		return long + " of tasks' time"
	case byFile:
		return strconv.FormatInt(n, 10)
	}
	return count(int(n), "task")
}
