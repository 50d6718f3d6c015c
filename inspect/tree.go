package inspect

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
)

// TreeOptions say how a tree is written.
type TreeOptions struct {
	// Full shows all calls of a stack, those of Rondo and the runtime included, and the number of
	// the goroutine, by which a debugger knows it.
	Full bool
	// All writes each task by itself. Otherwise tasks that look alike are written once, with
	// their number.
	All bool
	// MaxLines is how many lines are written at most, or a few more; 0 for all.
	MaxLines int
}

// alike is how many tasks of one scope that look alike are written one by one.
const alike = 4

// WriteTree writes the tasks as a tree, and then the goroutines as WriteGoroutines does. The
// branches of a task are the scopes that it is in, and the branches of a scope are the tasks
// that it owns. Below a task is its stack, the innermost call first, and below that the
// goroutine of its Offload. Errors are those of w.
func (p *Program) WriteTree(w io.Writer, o TreeOptions) error {
	lines := &counter{w: w, left: o.MaxLines}
	out := bufio.NewWriterSize(lines, 1<<10)
	writeProgram(p, out)
	if len(p.Loops) > 1 {
		fmt.Fprintln(out)
		_ = p.WriteLoops(out)
	}
	for _, l := range p.Loops {
		t := tree{out: out, lines: lines, loop: l, options: o, shapes: make(map[*Frame]string)}
		fmt.Fprintln(out)
		_ = l.WriteHead(out, o.Full)
		t.tasks(t.own(l), "", true)
		_ = l.WriteCycles(out)
	}
	_ = p.WriteRings(out)
	if p.goroutinesHead() != "" {
		fmt.Fprintln(out)
		_ = p.WriteGoroutines(out, o.Full)
	}
	err := out.Flush()
	if lines.cut && err == nil {
		_, err = fmt.Fprintf(w, "... more than %s\n", count(o.MaxLines, "line"))
	}
	return err
}

// A counter counts the lines that are written to w.
type counter struct {
	w    io.Writer
	left int
	cut  bool // tasks were left out, because there were more lines than may be
}

func (c *counter) Write(b []byte) (int, error) {
	c.left -= bytes.Count(b, []byte("\n"))
	return c.w.Write(b)
}

// unseen is the depth of a scope whose host ran meanwhile. The host's scopes are
// not known then, and what they own is written below the host itself.
const unseen = 0

type tree struct {
	out     *bufio.Writer
	lines   *counter
	loop    *Loop
	options TreeOptions
	owned   map[ScopeID][]*Task
	shapes  map[*Frame]string
}

// own finds out which tasks each scope of a loop owns. It returns those that no scope
// of the snapshot does.
func (t *tree) own(l *Loop) (roots []*Task) {
	find := l.byID()
	t.owned = make(map[ScopeID][]*Task)
	var last ScopeID // whose tasks are in some, and not yet in owned
	var some []*Task
	for _, task := range l.Tasks {
		host, ok := 0, false
		if task.Owner != nil {
			host, ok = find(task.Owner.Host)
		}
		if !ok {
			roots = append(roots, task)
			continue
		}
		owner := *task.Owner
		if owner.Depth > len(l.Tasks[host].Scopes) {
			owner.Depth = unseen
		}
		if owner != last {
			t.owned[last] = some
			last, some = owner, t.owned[owner]
		}
		some = append(some, task)
	}
	t.owned[last] = some
	return roots
}

// tasks writes tasks of one scope; last says that nothing follows them. Those that
// look alike and own no tasks are counted.
func (t *tree) tasks(tasks []*Task, indent string, last bool) {
	type line struct {
		task  *Task
		count int
	}
	var lines []line
	// How many there are of each kind, and in lines those that are to be written.
	counts := []int{0}
	kinds := map[kind]int{{}: 0}
	of := make([]int32, len(tasks))
	for i, task := range tasks {
		k := t.kind(task)
		n, known := kinds[k]
		if !known {
			n = len(counts)
			kinds[k], counts = n, append(counts, 0)
		}
		counts[n]++
		of[i] = int32(n)
	}
	written := make([]bool, len(counts))
	for i, task := range tasks {
		switch n := of[i]; {
		case n == 0 || counts[n] <= alike:
			lines = append(lines, line{task, 1})
		case !written[n]:
			written[n] = true
			lines = append(lines, line{task, counts[n]})
		}
	}
	for i, l := range lines {
		if t.options.MaxLines > 0 && t.lines.left <= 0 {
			t.lines.cut = true
			return
		}
		branch, below := "├─ ", "│  "
		if last && i == len(lines)-1 {
			branch, below = "└─ ", "   "
		}
		if l.count > 1 {
			fmt.Fprintf(t.out, "%s%s%d × like %s\n", indent, branch, l.count, taskLine(l.task, l.count))
		} else {
			fmt.Fprintf(t.out, "%s%s%s\n", indent, branch, taskLine(l.task, 1))
		}
		t.below(l.task, indent+below)
	}
}

// A kind is equal for tasks that look alike; it is zero for one that looks like no
// other.
type kind struct {
	fn, state, what, stack, offload, scopes string
	on                                      uint64
	moved, partial, cancelled               bool
}

func (t *tree) kind(task *Task) kind {
	scopes, empty := t.emptyScopes(task)
	if t.options.All || !empty || task.State == "running" {
		return kind{}
	}
	does := ""
	if g := task.Offload; g != nil {
		does = g.doing() + t.shape(g.Stack)
	}
	return kind{
		fn: task.Func, state: task.State, what: task.What, stack: t.shape(task.Stack), offload: does, scopes: scopes,
		on: task.On, moved: task.Moved, partial: task.Partial, cancelled: task.Cancelled,
	}
}

// emptyScopes returns a text that is equal for tasks whose scopes look alike but for the time that
// is left; ok is false if a scope of the task owns tasks, be they in the snapshot or not.
func (t *tree) emptyScopes(task *Task) (alike string, ok bool) {
	if t.owned[ScopeID{task.ID, unseen}] != nil {
		return "", false
	}
	var b strings.Builder
	for i, s := range task.Scopes {
		if s.Tasks != 0 || t.owned[ScopeID{task.ID, i + 1}] != nil {
			return "", false
		}
		fmt.Fprintln(&b, s.Kind, s.Left != 0, s.Cancelled)
	}
	return b.String(), true
}

// shape returns a text that is equal for stacks whose shown calls are equal: the
// calls that switch between coroutines differ from task to task. Tasks with the
// same stack share it within a snapshot.
func (t *tree) shape(stack []Frame) string {
	if len(stack) == 0 {
		return ""
	}
	if kept, ok := t.shapes[&stack[0]]; ok {
		return kept
	}
	var b strings.Builder
	for _, f := range stack {
		if t.options.Full || f.Own() {
			fmt.Fprintln(&b, f.Func, f.Line)
		}
	}
	t.shapes[&stack[0]] = b.String()
	return b.String()
}

// below writes a task's stack and its scopes.
func (t *tree) below(task *Task, indent string) {
	rail := indent + "   "
	loose := t.owned[ScopeID{task.ID, unseen}]
	if len(task.Scopes) > 0 || len(loose) > 0 {
		rail = indent + "│  "
	}
	if task.Partial {
		fmt.Fprintf(t.out, "%s... the innermost calls, in a coroutine, could not be read\n", rail)
	}
	if t.options.Full && task.Goroutine != 0 {
		fmt.Fprintf(t.out, "%sgoroutine %d\n", rail, task.Goroutine)
	}
	writeStack(t.out, rail, task.Stack, t.options.Full)
	if task.Cut {
		fmt.Fprintf(t.out, "%s... the outermost calls could not be read\n", rail)
	}
	if g := task.Offload; g != nil {
		fmt.Fprintf(t.out, "%sgoroutine %d %s\n", rail, g.ID, g.doing())
		writeStack(t.out, rail+"   ", g.Stack, t.options.Full)
	}
	t.tasks(loose, indent, len(task.Scopes) == 0)
	for i, s := range task.Scopes {
		fmt.Fprintf(t.out, "%s└─ %s\n", indent, scopeLine(s))
		indent += "   "
		t.tasks(t.owned[ScopeID{task.ID, i + 1}], indent, i == len(task.Scopes)-1)
	}
}

// taskLine describes a task, or the first of n that look alike.
func taskLine(t *Task, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#%d %s", t.ID, t.Name)
	switch {
	case t.Moved:
		b.WriteString("  ran while the snapshot was taken")
	case t.State == "waiting":
		fmt.Fprintf(&b, "  waiting %s for %s", short(t.Since), t.Waiting)
	default:
		fmt.Fprintf(&b, "  %s", t.State)
	}
	if t.Cancelled {
		b.WriteString(", cancelled")
	}
	if t.Func != "" {
		fmt.Fprintf(&b, "  (%s)", t.Func)
	}
	return b.String()
}

func scopeLine(s Scope) string {
	line := fmt.Sprintf("%s, %s", s.Kind, count(s.Tasks, "task"))
	if s.Left != 0 {
		line += fmt.Sprintf(", %s left", short(s.Left))
	}
	if s.Cancelled {
		line += ", cancelled"
	}
	return line
}
