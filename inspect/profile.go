package inspect

// A profile has stacks and how much the tasks at each count: those of one snapshot, or where tasks
// spent their time between several. It is written as folded stacks or as a flame graph, alone or
// beside an earlier one.
//
// The law: the time of a task between two snapshots counts once: as running, ready or waiting.

import (
	"bufio"
	"cmp"
	"fmt"
	"html"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-go/rondo/internal/goinspect"
)

// A Profile is a set of stacks of tasks, each with the sum of the weights of the tasks that had
// it.
type Profile struct {
	weight Weight
	title  string
	sums   map[string]int64 // by stack, with semicolons between its calls
	// until is the end of the last step of each loop that AddBetween has counted.
	until map[uint64]time.Duration
}

// NewWallProfile returns an empty profile of time, for AddBetween.
func NewWallProfile() *Profile { return &Profile{weight: byWall, sums: make(map[string]int64)} }

func (r *Profile) add(stack string, n int64) {
	if n > 0 {
		r.sums[stack] += n
	}
}

// AddBetween adds, in microseconds, where the tasks of a program spent the time between two
// snapshots with stacks, of which f is the flight for that time; f may be nil. The time in which
// a task ran is the time that the loop charged it with. The time in which it was ready is from
// the flight. A task that ran, or was ready, all the time counts as that. For the rest it counts as
// waiting, where it waits in the second snapshot. Of a task that ran meanwhile, what it waits for
// is not known. Of a task that has ended, only the steps in f count. A step that is also in the
// flight of an earlier call counts only from the end of that flight.
func (r *Profile) AddBetween(before, after *Program, f *Flight) {
	r.title = after.Go + ", until " + after.Taken.Format("2006-01-02 15:04:05")
	shapes := make(map[*Frame]string)
	for _, l := range after.Loops {
		i := slices.IndexFunc(before.Loops, func(b *Loop) bool { return b.ID == l.ID })
		if i < 0 {
			continue // The next snapshot has its time.
		}
		earlier := before.Loops[i]
		ready := r.addEnded(l, f.loop(l.ID), l.Uptime-earlier.Uptime)
		for _, t := range l.Tasks {
			left, ran := min(l.Uptime-earlier.Uptime, t.Age), t.Busy
			b := earlier.taskOf(t.ID)
			if b != nil {
				ran -= b.Busy
			}
			part := func(what string, long time.Duration) {
				long = max(0, min(long, left))
				left -= long
				r.add(t.Func+";"+what, long.Microseconds())
			}
			if state := lasted(b, t); state != "" {
				part("["+state+"]", left)
			}
			part("[running]", ran)
			part("[ready]", ready[t.ID])
			part(t.wallStack(shapes, ready != nil), left)
		}
	}
}

// lasted returns running or ready if a task was that all the time between two snapshots, of which
// neither its account nor the flight knows before it waits, or runs; else "".
func lasted(before, after *Task) string {
	if before == nil || before.Moved || after.Moved || before.Switches != after.Switches || before.State != after.State {
		return ""
	}
	switch {
	case after.State == "new" && after.What == "":
		return "ready"
	case after.State == "running", after.State == "ready":
		return after.State
	}
	return ""
}

// addEnded returns for how long each task was ready, and adds the steps of those that have ended,
// both in so long a time up to the last step, and after what was counted before.
func (r *Profile) addEnded(l *Loop, f *FlightLoop, long time.Duration) map[uint64]time.Duration {
	if f == nil || f.Lost != "" {
		return nil
	}
	ready, ran := make(map[uint64]time.Duration), make(map[string]time.Duration)
	begin, end := r.window(l.ID, f.Steps, long)
	r.until[l.ID] = end
	for _, s := range f.Steps {
		waited := max(0, s.From-max(s.From-s.Ready, begin))
		if ready[s.Task] += waited; l.taskOf(s.Task) == nil {
			ran[s.Kind+";[running]"] += max(0, s.To-max(s.From, begin))
			ran[s.Kind+";[ready]"] += waited
		}
	}
	for stack, long := range ran {
		r.add(stack, long.Microseconds())
	}
	return ready
}

// window returns from when to when steps count: so long up to the last of them, but nothing that
// was counted before.
func (r *Profile) window(loop uint64, steps []FlightStep, long time.Duration) (begin, end time.Duration) {
	if r.until == nil {
		r.until = make(map[uint64]time.Duration)
	}
	before, counted := r.until[loop]
	end = before
	for i, s := range steps {
		if i == 0 && !counted || s.To > end {
			end = s.To
		}
	}
	if begin = end - long; counted {
		begin = max(begin, before)
	}
	return begin, end
}

// wallStack returns where a task waits, without its function below that. If its time as ready is
// counted apart, a task that is ready now has waited for something that is not known any more.
func (t *Task) wallStack(shapes map[*Frame]string, apart bool) string {
	if t.Moved {
		return "(waited and ran)"
	}
	what := t.kindOfWait()
	if t.State != "waiting" && t.What == "" && apart {
		what = "waited"
	}
	stack := folded(t.Stack, shapes) + ";" + inBrackets(what)
	return strings.TrimPrefix(stack, t.Func+";")
}

// WriteFolded writes a line for each stack: its calls, the outermost first, with semicolons
// between them, and then the weight of the stack. The heaviest come first. Errors are those of w.
func (r *Profile) WriteFolded(w io.Writer) error {
	out := bufio.NewWriter(w)
	stacks := make([]string, 0, len(r.sums))
	for stack := range r.sums {
		stacks = append(stacks, stack)
	}
	slices.SortFunc(stacks, func(a, b string) int {
		return cmp.Or(cmp.Compare(r.sums[b], r.sums[a]), cmp.Compare(a, b))
	})
	for _, stack := range stacks {
		fmt.Fprintln(out, stack, r.sums[stack])
	}
	return out.Flush()
}

// ReadFolded reads what WriteFolded has written, or another tool in the same form. It fails if a
// line is of another form. What no text may have on a terminal is replaced.
func ReadFolded(in io.Reader) (*Profile, error) {
	r := &Profile{weight: byFile, title: "read from a file", sums: make(map[string]int64)}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		at := strings.LastIndexByte(text, ' ')
		weight, err := strconv.ParseInt(text[at+1:], 10, 64)
		if text == "" {
			continue
		}
		if at < 1 || err != nil || weight < 0 || weight > 1<<50 {
			return nil, fmt.Errorf("line %d has no stack and number: %s", n, clip(goinspect.Printable(text)))
		}
		r.add(goinspect.Printable(text[:at]), weight)
	}
	return r, lines.Err()
}

// WriteFlame writes a flame graph as SVG: the outermost calls below, those that they made above,
// as wide as the tasks there count, and on top what the tasks do or wait for. If the profile is
// compared with an earlier one, the width of a call is the mean of its shares in both; the call
// is red if its share has grown, and blue if it has shrunk. Errors are those of w.
func (r *Profile) WriteFlame(w io.Writer, before *Profile) error {
	root := &flame{name: "all tasks"}
	for stack, n := range r.sums {
		root.stand(stack, func(f *flame) { f.weight += n })
	}
	d := drawing{out: bufio.NewWriter(w), weight: r.weight, title: r.title + ": " + r.weight.total(root.weight)}
	if before != nil {
		for stack, n := range before.sums {
			root.stand(stack, func(f *flame) { f.was += n })
		}
		d.was, d.title = max(root.was, 1), r.title+": red is more than before, blue less, of the whole"
	}
	d.whole = max(root.weight, 1)
	d.draw(root)
	return d.out.Flush()
}

// stand calls f for a call at the bottom and all calls of a stack above it.
func (f *flame) stand(stack string, each func(f *flame)) {
	each(f)
	for i, call := range strings.Split(stack, ";") {
		if i == flameMost {
			break
		}
		f = f.child(call)
		each(f)
	}
}

// A drawing is a flame graph that is written.
type drawing struct {
	out        *bufio.Writer
	weight     Weight
	title      string
	whole, was int64 // of all calls, now and before; was is 0 if nothing is compared
}

func (d *drawing) draw(root *flame) {
	height := (root.depth() + 2) * flameRow
	fmt.Fprintf(d.out, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" viewBox="0 0 %.0f %d" font-family="monospace" font-size="11">`+"\n", flameWidth, height, flameWidth, height)
	fmt.Fprintf(d.out, `<rect width="100%%" height="100%%" fill="#fff"/><text x="4" y="12">%s</text>`+"\n", html.EscapeString(d.title))
	if root.weight+root.was > 0 {
		d.call(root, 0, height-flameRow)
	}
	fmt.Fprintln(d.out, "</svg>")
}

// shares returns the shares that a call has of the whole, now and before.
func (d *drawing) shares(f *flame) (now, before float64) {
	if d.was == 0 {
		return float64(f.weight) / float64(d.whole), 0
	}
	return float64(f.weight) / float64(d.whole), float64(f.was) / float64(d.was)
}

// width returns how wide a call is, of 1.
func (d *drawing) width(f *flame) float64 {
	now, before := d.shares(f)
	if d.was == 0 {
		return now
	}
	return (now + before) / 2
}

// look returns the color of a call and what is said of it.
func (d *drawing) look(f *flame) (fill, title string) {
	now, before := d.shares(f)
	if d.was == 0 {
		// The color is that of the name.
		hue := 0
		for _, c := range f.name {
			hue = (hue*31 + int(c)) % 50
		}
		return fmt.Sprintf("hsl(%d,80%%,68%%)", 10+hue), fmt.Sprintf("%s: %s, %.1f %%", f.name, d.weight.total(f.weight), 100*now)
	}
	hue, change := 0, (now-before)/max(now+before, 1e-9)
	if change < 0 {
		hue, change = 220, -change
	}
	fill = fmt.Sprintf("hsl(%d,90%%,%.0f%%)", hue, 96-36*change)
	if change < 0.005 {
		fill = "hsl(0,0%,94%)"
	}
	return fill, fmt.Sprintf("%s: %.1f %%, before %.1f %%", f.name, 100*now, 100*before)
}

// call draws a call with its left side at x, and those above it.
func (d *drawing) call(f *flame, x float64, y int) {
	width := flameWidth * d.width(f)
	if width < flameLeast {
		return
	}
	fill, title := d.look(f)
	fmt.Fprintf(d.out, `<g><title>%s</title><rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s" stroke="#fff" stroke-width="0.5"/>`,
		html.EscapeString(title), x, y, width, flameRow-1, fill)
	if room := int((width - 6) / flameChar); room >= 3 {
		name := []rune(f.name[strings.LastIndexByte(f.name, '/')+1:])
		if len(name) > room {
			name = append(name[:room-1], '…')
		}
		fmt.Fprintf(d.out, `<text x="%.1f" y="%d">%s</text>`, x+3, y+12, html.EscapeString(string(name)))
	}
	fmt.Fprintln(d.out, "</g>")
	for _, c := range f.above {
		d.call(c, x, y-flameRow)
		x += flameWidth * d.width(c)
	}
}
