package inspect

// Numbers, times, tasks and loops have the same words in every form of a snapshot.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// count writes a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// were writes a number with its noun and the verb.
func were(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " was"
	}
	return count(n, noun) + " were"
}

func share(part, whole time.Duration) string {
	if whole <= 0 {
		return "0 %"
	}
	return fmt.Sprintf("%.0f %%", 100*min(1, float64(part)/float64(whole)))
}

// short writes a duration in three digits or so.
func short(d time.Duration) string { return rounded(d).String() }

// rounded returns a duration that is written in three digits or so.
func rounded(d time.Duration) time.Duration {
	switch a := d.Abs(); {
	case a < time.Microsecond:
		return d
	case a < time.Millisecond:
		return d.Round(time.Microsecond)
	case a < 10*time.Millisecond:
		return d.Round(100 * time.Microsecond)
	case a < time.Second:
		return d.Round(time.Millisecond)
	case a < time.Minute:
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Second)
}

// label names a task; its name is left out if t is nil.
func label(id uint64, t *Task) string {
	if t == nil {
		return "#" + digits(id)
	}
	return "#" + digits(id) + " " + t.Name
}

// Doing says in words what a task does: what it waits for and since when, or its state.
func (t *Task) Doing() string {
	switch {
	case t.Moved:
		return "ran meanwhile"
	case t.State == "waiting":
		return "waits " + short(t.Since) + " for " + t.Waiting
	}
	return "is " + t.State
}

// limited is the word for what a task waits for that has not begun because as many tasks of its
// scope run as may.
const limited = "limit"

// waits reports whether t has begun and waits for something.
func (t *Task) waits() bool { return t.What != "" && t.What != limited }

// ofDescriptor are the words for waits for a descriptor.
var ofDescriptor = []string{"read", "write", "accept", "connect"}

// mostText is how many characters of a text a table shows, and bytes a filter has.
const mostText = 80

// clip shortens a text to the characters that a table shows of it.
func clip(text string) string {
	if len(text) <= mostText {
		return text
	}
	if r := []rune(text); len(r) > mostText {
		return string(r[:mostText-1]) + "…"
	}
	return text
}

func digits(n uint64) string { return strconv.FormatUint(n, 10) }

// toContinue says how a stopped process goes on.
func toContinue(pid int) string {
	return fmt.Sprintf("its process is stopped; continue it in its debugger, or with: kill -CONT %d", pid)
}

// connected writes how many connections a loop has; a dash if that is not known.
func connected(l *Loop) string {
	if l.Conns == nil {
		return "-"
	}
	return strconv.Itoa(*l.Conns)
}

// connections is connected with the noun.
func connections(l *Loop) string {
	if l.Conns == nil {
		return "- connections"
	}
	return count(*l.Conns, "connection")
}

// changes says how many tasks came and went while the snapshot was taken.
func changes(l *Loop) string {
	if l.Missed == 0 {
		return "no tasks started or ended"
	}
	return count(l.Missed, "task") + " started or ended"
}

// cycleText says in words that n tasks wait for each other, each for the next and the last
// for the first. It names so many of them at most; 0 for all.
func cycleText(n, most int, name func(i int) string) string {
	if n == 0 {
		return ""
	}
	named := n
	if most > 0 {
		named = min(n, most)
	}
	var b strings.Builder
	for i := range named {
		b.WriteString(name(i))
		if i > 0 {
			b.WriteString(", which")
		}
		b.WriteString(" waits for ")
	}
	if more := n - named; more == 1 {
		b.WriteString("1 more task, which waits for ")
	} else if more > 1 {
		fmt.Fprintf(&b, "%d more tasks, the last of which waits for ", more)
	}
	b.WriteString(name(0))
	return b.String()
}

// namesIn returns a function that names tasks, for many of them.
func namesIn(l *Loop) func(id uint64) string {
	find := sync.OnceValue(l.byID)
	return func(id uint64) string {
		if i, ok := find()(id); ok {
			return label(id, l.Tasks[i])
		}
		return label(id, nil)
	}
}

// labelIn names a task.
func labelIn(l *Loop, id uint64) string {
	for _, t := range l.Tasks {
		if t.ID == id {
			return fmt.Sprintf("#%d %s", id, t.Name)
		}
	}
	return fmt.Sprintf("#%d", id)
}

// namesAcross returns a function that names tasks with their loops, for many of them.
func namesAcross(p *Program) func(id TaskID) string {
	known := make(map[string]func(id uint64) string)
	return func(id TaskID) string {
		name, ok := known[id.Loop]
		if !ok {
			name = func(id uint64) string { return label(id, nil) }
			if i := slices.IndexFunc(p.Loops, func(l *Loop) bool { return l.Name == id.Loop }); i >= 0 {
				name = namesIn(p.Loops[i])
			}
			known[id.Loop] = name
		}
		return id.Loop + " " + name(id.ID)
	}
}

// unnamed is what a task without a name is called.
func unnamed(id uint64) string { return string(appendUnnamed(nil, id)) }

func appendUnnamed(b []byte, id uint64) []byte {
	return strconv.AppendUint(append(b, "task-"...), id, 10)
}
